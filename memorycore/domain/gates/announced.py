"""What stands behind or before a label, and what ties it to the label: an assignment, a verb, mere nearness."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import Literal

from memorycore.domain.gates.disguise import Plain
from memorycore.domain.gates.values import label_words

Tie = Literal["assigned", "said", "beside", "near", "before"]

REACH = 100
_SAID_REACH = 70
_BEFORE_REACH = 110
_LONGEST_QUOTE = 300
# A longer run is judged by its beginning.
_LONGEST_RUN = 200
_SAID_PLACES, _NEAR_PLACES = 5, 6
_SENTENCE_END = re.compile(r"[。！？]|[.!?](?=[\s\"'”’」)]|$)|\n")
_BLANK = re.compile(r"[ \t]*")
_ASSIGNED = re.compile(
    r"[\"'`\])»”」』】*_\\]{0,4}[ \t]?(?:\([^()\n]{0,40}\)|\[[^\[\]\n]{0,40}\])?[\"'`\])»”」』】*]{0,2}[ \t]*"
    r"(?:(?:=>|:=|={1,2}|→|->|>)[ \t]*|:[ \t]*(?:\r?\n[ \t]*)?)"
)
_CLOSERS = {
    '"': '"', "'": "'", "`": "`", "“": "”", "„": "“”", "‘": "’", "«": "»", "‹": "›",
    "「": "」", "『": "』", "《": "》", "【": "】",
}  # fmt: skip
# Printable signs of Latin scripts without blanks and quotation marks.
_SIGN = r"!#-&(-_a-~\u00a1-\u00aa\u00ac-\u00ba\u00bc-\u024f\ufffc"
_RUN = re.compile(f"[{_SIGN}]+")
_KEY_RUN = re.compile(r"[\w+/=.~%-]+", re.ASCII)
_CANDIDATE = re.compile(f"[\"'`“„‘«‹「『]|[{_SIGN}]{{4,}}")
_LAST_RUN = re.compile(f"[{_SIGN}]{{4,64}}$")
# Where a run ends before its last sign: an escape, the next field, a closing bracket before punctuation.
_CUT = re.compile(
    r"\\+[nrt](?![A-Za-z])|\\+[nrt\"']|</|;(?=$|\s|[A-Za-z_]\w*=)|,(?=$|\s|[A-Za-z_][\w.]*[=:])"
    r"|&(?=[A-Za-z_][\w.]*=)|&amp;|[)\]}>](?=[,;.)\]}]|$)"
)
_DIGIT_GROUPS = re.compile(r"[*#]?\d{1,10}(?:[ -]\d{1,4}){0,5}[*#]?(?![\w.])")
# Words of a script without blanks that end in digits: 天王盖地虎2026.
_WORDS_AND_DIGITS = re.compile("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]{2,10}[A-Za-z0-9]{2,12}(?![\\w ])")
_GROUP_SIGNS = frozenset(" -*#")
_OPEN_BRACKETS = frozenset("([{")
_NO_START = frozenset("([=:>")
_JOIN = re.compile(
    r"[\"'`”’»」』)]{0,2}\s*(?:[,;/、]|[,;]?\s*(?:and|or|und|oder|et|ou|y|o|和|或|及|と|か|나|와|과))\s*"
    r"(?:(?:the\s+)?(?:new|old|other|second|next|previous|current|neue|alte|nouveau|ancien|nueva|vieja|新|旧|新的|旧的)\s*"
    r"(?:one|password|pw|passwort|密码|密碼)?\s*(?:is|was|ist|war|est|es|era|是|为|改成)\s*)?"
)
_FROM = re.compile(
    rf"(?:\b(?:from|von|de|del)\s+|从\s*|由\s*)[\"'`“「]?([{_SIGN}]{{4,64}})[\"'`”」]?\s*(?:to|auf|zu|à|a|改成|改为|换成|换为|变成|到)\s*[\"'`“「]?$"
)
_BEFORE = re.compile(
    r"[\"'`”’»」』】]?(?:"
    r"\s+(?:is|was|=|as|for|be|est|comme|ist|als|es|como|será)\s+(?:[^\W\d_][\w'’-]*\s+){0,5}(?:[A-Za-z]{1,20}[-_])?"
    r"|\s*[,，]?\s*(?:这个?|那个?)?(?:是|就是|作为|作為|当作|當作|当|為|为|做)[^，。,.;\n]{0,18}|\s*(?:が|を|は)[^、。\n]{0,18}"
    r"|\s*(?:이|가|을|를|은|는)\s?[^,.\n]{0,18}|\s*[(（]\s*)$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A candidate: its place in the plain text, without quotation marks and without what follows it.

    ``cut``: it goes on, and only its beginning is here.
    """

    start: int
    end: int
    text: str
    quoted: bool = False
    cut: bool = False


@cache
def _links() -> re.Pattern[str]:
    words: list[str] = label_words()["around"]["links"]
    latin = [re.escape(word) for word in words if word < "\u0250"]
    cjk = sorted((re.escape(word) for word in words if word >= "\u0250"), key=len, reverse=True)
    said = rf"(?<![\w'])(?:{'|'.join(latin)})(?=[\s:=\"“«「(])|{'|'.join(cjk)}|(?<![/\d]):(?!//)|→|(?<=\s)=(?=\s)"
    return re.compile(rf"(?:{said})[ \t]*(?:[:=][ \t]*)?(?:(?:the|le|la|el|der|die|das)[ \t]+)?", re.IGNORECASE)


def window(text: str, start: int, reach: int = REACH) -> int:
    """The end of the sentence, or as far as a value may be from its label."""
    stop = _SENTENCE_END.search(text, start, start + reach)
    return stop.start() if stop else min(len(text), start + reach)


def said_places(text: str, end: int, stop: int) -> Iterator[int]:
    """Places right behind a verb or a colon, between the end of a label and the end of its reach."""
    for link in islice(_links().finditer(text, end, min(stop, end + _SAID_REACH)), _SAID_PLACES):
        yield link.end()


def behind(plain: Plain, end: int, stop: int) -> Iterator[tuple[Tie, Value]]:
    """Candidates behind a label with what ties them to it, the tightest tie first.

    ``stop``: where the next label begins, which announces what follows it, or the end of the reach.
    """
    text = plain.text
    assigned = _ASSIGNED.match(text, end)
    if assigned and (value := value_at(plain, assigned.end(), digits=True)):
        yield "assigned", value
    blank = _BLANK.match(text, end)
    if blank and (value := value_at(plain, blank.end(), digits=True)):
        yield "beside", value
    for place in said_places(text, end, stop):
        if value := value_at(plain, place, digits=True):
            yield "said", value
    for candidate in islice(_CANDIDATE.finditer(text, end, stop), _NEAR_PLACES):
        if value := value_at(plain, candidate.start()):
            yield "near", value


def beside(plain: Plain, end: int) -> Value | None:
    """A further value right behind one: "X or Y", "X, new one is Y"."""
    join = _JOIN.match(plain.text, end)
    return value_at(plain, join.end()) if join else None


def replaced(plain: Plain, start: int) -> Value | None:
    """The value that another one, which begins at ``start``, takes the place of: "from X to Y"."""
    first = max(0, start - _BEFORE_REACH)
    change = _FROM.search(plain.text, first, start)
    return trimmed(plain, change.start(1), change.end(1)) if change else None


def before(plain: Plain, start: int) -> Value | None:
    """A candidate that a label follows: "sunny-Kiln-88 is the password", "hanok77가 비밀번호"."""
    first = max(0, start - _BEFORE_REACH)
    head = plain.text[first:start]
    tie = _BEFORE.search(head)
    run = _LAST_RUN.search(head[: tie.start()]) if tie else None
    return trimmed(plain, first + run.start(), first + run.end()) if run else None


def value_at(plain: Plain, start: int, *, digits: bool = False) -> Value | None:
    """What stands at a place as a value: a quoted text without its quotes, or a run without what follows it.

    ``digits`` takes groups of digits with blanks between them as one value.
    """
    text = plain.text
    while text.startswith("**", start) or text[start : start + 1] in _NO_START:
        start += 2 if text.startswith("**", start) else 1
    if closers := _CLOSERS.get(text[start : start + 1]):
        line_end = text.find("\n", start, start + _LONGEST_QUOTE)
        stop = line_end if line_end > 0 else start + _LONGEST_QUOTE
        ends = [place for closer in closers if (place := text.find(closer, start + 1, stop)) > 0]
        if ends:
            return _quoted(text, start + 1, min(ends))
        start += 1
    groups = _DIGIT_GROUPS.match(text, start) if digits else None
    if groups and _GROUP_SIGNS.intersection(groups.group()):
        return Value(start=start, end=groups.end(), text=groups.group())
    if native := _WORDS_AND_DIGITS.match(text, start) if digits else None:
        return Value(start=start, end=native.end(), text=native.group())
    run = _RUN.match(text, start, start + _LONGEST_RUN)
    if run and run.end() == start + _LONGEST_RUN and _KEY_RUN.fullmatch(run.group()):
        return Value(start=start, end=run.end(), text=run.group(), cut=True)
    return trimmed(plain, start, run.end()) if run else None


def whole(plain: Plain, value: Value) -> Value:
    """A value to its real end, when only its beginning was judged."""
    if not value.cut:
        return value
    rest = _KEY_RUN.match(plain.text, value.end)
    end = rest.end() if rest else value.end
    return replace(value, end=end, text=plain.text[value.start : end], cut=False)


def _quoted(text: str, start: int, end: int) -> Value | None:
    inner = text[start:end]
    first = start + len(inner) - len(inner.lstrip())
    inner = inner.strip()
    return Value(start=first, end=first + len(inner), text=inner, quoted=True) if inner else None


def trimmed(plain: Plain, start: int, end: int) -> Value | None:
    """A run without the punctuation of the sentence around it. Wide signs end a run that is not wide itself."""
    run = plain.text[start:end]
    cut = _CUT.search(run)
    if cut and cut.start():
        run = run[: cut.start()]
    if not plain.is_narrow:
        wide = [place for place in range(len(run)) if plain.is_wide(start + place)]
        if wide and len(wide) * 2 < len(run):
            run = run[: wide[0]]
    bracketed = bool(_OPEN_BRACKETS.intersection(run))
    run = run.rstrip(".,;:?>|`'\"\\" if bracketed else ".,;:?>|`'\"\\)]}").removesuffix("**")
    return Value(start=start, end=start + len(run), text=run) if run else None
