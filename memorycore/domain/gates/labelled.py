"""Secrets that a text announces: "the password for X is Y", ``API_KEY=Y``, "口令是 Y", a list of recovery codes.

A label alone proves nothing, for most sentences with the word "password" are rules about passwords. How much a value
has to look like one depends on what ties it to the label: an assignment, a verb, mere nearness.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from memorycore.domain.gates import values
from memorycore.domain.gates.disguise import Plain, Span
from memorycore.domain.gates.labels import Label, find_labels, lower, names_other, value_part

Tie = Literal["assigned", "said", "beside", "near"]

_REACH = 100
_SAID_REACH = 70
_ASSIGNED = re.compile(
    r"[\"'`\])»”」』】*_\\]{0,4}[ \t]?(?:\([^()\n]{0,40}\)|\[[^\[\]\n]{0,40}\])?[\"'`\])»”」』】*]{0,2}[ \t]*"
    r"(?:=>|:=|={1,2}|:|→|->|>)[ \t]*(?:\r?\n[ \t]*)?"
)
_SENTENCE_END = re.compile(r"[。！？]|[.!?](?=[\s\"'”’」)]|$)|\n")
_BLANK = re.compile(r"[ \t]*")
_OPENERS = {
    '"': '"',
    "'": "'",
    "`": "`",
    "“": "”",
    "„": "“”",
    "‘": "’",
    "«": "»",
    "‹": "›",
    "「": "」",
    "『": "』",
    "《": "》",
    "【": "】",
}
_BARE = re.compile(r"[!#-&(-_a-~\u00a1-\u00aa\u00ac-\u00ba\u00bc-\u024f]+")
_CUT = re.compile(
    r"\\+[nrt\"'](?![A-Za-z])|\\+[nrt]|</|;(?=$|\s|[A-Za-z_]\w*=)|,(?=$|\s|[A-Za-z_][\w.]*[=:])|&(?=[A-Za-z_][\w.]*=)|&amp;|[)\]}>](?=[,;.)\]}]|$)"
)
_CANDIDATE = re.compile(r"[\"'`“„‘«‹「『]|[!#-&(-_a-~\u00c0-\u024f]{4,}")
_CLAUSE_END = re.compile(
    r"[\"'`”’»」』)\]*]*\s*(?:$|[.,;:!?，。；、！？\n)\]}】」』]|(?:and|und|et|y|user|username|für|for|pour|para)\b)"
)
_UNIT = re.compile(r"[- ]?([^\W\d_]+|%)")
_DIGIT_GROUPS = re.compile(r"[*#]?\d{1,10}(?:[ -]\d{1,4}){0,5}[*#]?(?![\w.])")
_CODE = re.compile(
    r"(?<![\w-])(?:(?=[A-Za-z-]{0,40}\d)[A-Za-z0-9]{3,}(?:-[A-Za-z0-9]{3,}){0,8}|[A-Za-z0-9]{4,6}(?:-[A-Za-z0-9]{4,6}){1,7}|\d{4}(?: \d{4}){1,2})(?![\w-])"
)
_BASE32 = re.compile(
    r"(?<![\w-])(?:[A-Z2-7]{4}(?:[ -]?[A-Z2-7]{4}){2,15}[A-Z2-7]{0,4}=*|[a-z2-7]{4}(?:[ -]?[a-z2-7]{4}){3,15})(?![\w-])"
)
_WORDS = re.compile(r"(?:\d{1,2}[.)] ?)?[a-zà-ÿ]{2,12}(?:(?:[ ,]|, |\n|\s?\d{1,2}[.)] ?){1,2}[a-zà-ÿ]{2,12}){2,24}")
_HAN_WORDS = re.compile(r"[\u4e00-\u9fff](?:[ 、]?[\u4e00-\u9fff]){11,23}(?![\u4e00-\u9fff])")
_PHRASE_LENGTHS = frozenset({12, 13, 15, 18, 20, 21, 24, 25})
_COOKIE_PART = re.compile(r"([\w.-]+)=([^;\s\"',]+)")
_PAIR = re.compile(
    r"[ \t:=]{0,3}[\"'`“「]?([\w.@+-]{2,40})[\"'`”」]?(?:[ \t]*[/|:,，、][ \t]*|[ \t]+)[\"'`“「]?(?=([!#-&(-_a-~]{5,64}))"
)
_BEFORE = re.compile(
    r"[\"'`”’»」』】]?(?:"
    r"\s+(?:is|was|=|as|for|be|est|comme|ist|als|es|como|será)\s+(?:[^\W\d_][\w'’-]*\s+){0,5}"
    r"|\s*(?:是|就是|作为|当作|当|为|做)[^，。,.;\n]{0,18}|\s*(?:が|を|は)[^、。\n]{0,18}|\s*(?:이|가|을|를|은|는)\s?[^,.\n]{0,18}|\s*[(（]\s*(?:[^\W\d_]+\s+){0,3})$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    start: int
    end: int
    text: str
    quoted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    words: tuple[tuple[str, str], ...]
    still: frozenset[str]
    other: frozenset[str]
    other_cjk: tuple[str, ...]
    links: re.Pattern[str]
    units: frozenset[str]
    public: re.Pattern[str]


@cache
def vocabulary() -> Vocabulary:
    """The labels and their surroundings, indexed for scanning."""
    words = values.label_words()
    around = words["around"]
    other = [word for word in around["other_after"] if not word[0].isascii()]
    latin = [
        re.escape(word) for word in around["links"] if word[0].isascii() or word[0].isalpha() and word[0] < "\u0250"
    ]
    cjk = sorted((re.escape(word) for word in around["links"] if word[0] >= "\u0250"), key=len, reverse=True)
    public = "|".join(re.escape(word) for word in around["public_before"])
    return Vocabulary(
        words=tuple((word, kind) for kind, entries in words["labels"].items() for word in entries),
        still=frozenset(around["still_after"]),
        other=frozenset(around["other_after"]),
        other_cjk=tuple(other),
        links=re.compile(
            rf"(?:(?<![\w'])(?:{'|'.join(latin)})(?!\w)|{'|'.join(cjk)}|[:=→])[ \t]*(?:[:=][ \t]*)?", re.IGNORECASE
        ),
        units=frozenset(around["units"]),
        public=re.compile(rf"(?:(?<![a-z])(?:{public})(?![a-z]))[^。！？\n]{{0,24}}$", re.IGNORECASE),
    )


def find_labelled(plain: Plain, *, near_key: bool = False) -> Iterator[tuple[str, Span]]:
    """Kind of label and span of the value, for every value that a label ties down. Spans count in the plain text.

    ``near_key``: the text holds a key already, which makes anything random beside it suspect.
    """
    text = plain.text
    lowered = lower(text)
    known = vocabulary()
    strong = near_key
    for label in find_labels(text, lowered, known.words):
        end = value_part(text, label, known.still)
        if end is None or names_other(text, lowered, end, known.other, known.other_cjk):
            continue
        strong = strong or label.kind not in {"weak", "network", "login", "cookie"}
        for value in _values(plain, label, end):
            yield label.kind, (value.start, value.end)
    if strong:
        yield from _random_values(plain)


def _values(plain: Plain, label: Label, end: int) -> Iterator[Value]:
    """The values of one label: behind it, or, failing that, before it."""
    match label.kind:
        case "codes":
            found = list(_codes(plain, end))
        case "phrase":
            found = list(_phrases(plain, end))
        case "second_factor":
            found = list(_seeds(plain, end))
        case "login" | "network":
            found = list(_pairs(plain, label, end))
        case _:
            found = list(_cookies(plain, end)) if label.kind == "cookie" else []
            found = found or list(_single(plain, label, end))
    yield from found


def _single(plain: Plain, label: Label, end: int) -> Iterator[Value]:
    for tie, value in _behind(plain, end):
        if label.glued and tie != "assigned":
            return
        if tie in {"assigned", "said"} and values.is_placeholder(value.text):
            return
        if accepts(plain, label, tie, value):
            yield value
            return
    if label.kind in {"password", "key", "pin"}:
        yield from _before(plain, label)


def _window(text: str, start: int, reach: int = _REACH) -> int:
    """The end of the sentence, or as far as a value may be from its label."""
    stop = _SENTENCE_END.search(text, start, start + reach)
    return stop.start() if stop else min(len(text), start + reach)


def _behind(plain: Plain, end: int) -> Iterator[tuple[Tie, Value]]:
    """Candidates behind a label with what ties them to it, the tightest tie first."""
    text = plain.text
    assigned = _ASSIGNED.match(text, end)
    if assigned and (value := value_at(plain, assigned.end(), digits=True)):
        yield "assigned", value
    stop = _window(text, end)
    for link in vocabulary().links.finditer(text, end, min(stop, end + _SAID_REACH)):
        if value := value_at(plain, link.end(), digits=True):
            yield "said", value
    blank = _BLANK.match(text, end)
    if blank and blank.end() < len(text) and (value := value_at(plain, blank.end(), digits=True)):
        yield "beside", value
    for candidate in _CANDIDATE.finditer(text, end, stop):
        if value := value_at(plain, candidate.start()):
            yield "near", value


def value_at(plain: Plain, start: int, *, digits: bool = False) -> Value | None:
    """What stands at a place as a value: a quoted text without its quotes, or a run without what follows it.

    ``digits`` takes groups of digits with blanks between them as one value.
    """
    text = plain.text
    while text[start : start + 2] == "**" or text[start : start + 1] in ("(", "["):
        start += 1
    closers = _OPENERS.get(text[start : start + 1], "")
    if closers:
        line_end = text.find("\n", start, start + 300)
        ends = [
            place
            for closer in closers
            if (place := text.find(closer, start + 1, line_end if line_end > 0 else start + 300)) > 0
        ]
        if ends:
            inner = text[start + 1 : min(ends)]
            first = start + 1 + len(inner) - len(inner.lstrip())
            return (
                Value(start=first, end=first + len(inner.strip()), text=inner.strip(), quoted=True)
                if inner.strip()
                else None
            )
        start += 1
    groups = _DIGIT_GROUPS.match(text, start) if digits else None
    if groups and any(sign in groups.group() for sign in " -*#"):
        return Value(start=start, end=groups.end(), text=groups.group(), quoted=False)
    run = _BARE.match(text, start, start + 400)
    return _trimmed(plain, start, run.end()) if run else None


def _trimmed(plain: Plain, start: int, end: int) -> Value | None:
    run = plain.text[start:end]
    cut = _CUT.search(run)
    if cut and cut.start():
        run = run[: cut.start()]
    wide = [place for place in range(len(run)) if plain.is_wide(start + place)]
    if wide and len(wide) * 2 < len(run):
        run = run[: wide[0]]
    while run and (run[-1] in ".,;:?>|`'\"\\" or (run[-1] in ")]}" and not any(opener in run for opener in "([{"))):
        run = run[:-1]
    if run.endswith("**"):
        run = run[:-2]
    return Value(start=start, end=start + len(run), text=run, quoted=False) if run else None


def accepts(plain: Plain, label: Label, tie: Tie, value: Value) -> bool:
    """Whether a candidate is enough of a secret for its label and its tie."""
    text = value.text
    if values.is_placeholder(text) or (values.is_reference(text) and not value.quoted) or values.is_ordinary(text):
        return False
    if label.kind in {"pin", "one_time"}:
        return _accepts_digits(plain, label, tie, value)
    if label.kind == "password" or (label.kind == "weak" and tie == "assigned" and label.word in {"pass", "psw"}):
        return _accepts_password(plain, tie, value)
    return _accepts_key(plain, label, tie, value)


def _is_amount(plain: Plain, end: int) -> bool:
    unit = _UNIT.match(plain.text, end)
    if not unit:
        return False
    word = unit.group(1).lower()
    units = vocabulary().units
    return word in units or any(word.startswith(each) for each in units if each[0] >= "\u2e80")


def _closes(plain: Plain, end: int) -> bool:
    return bool(_CLAUSE_END.match(plain.text, end))


def _accepts_digits(plain: Plain, label: Label, tie: Tie, value: Value) -> bool:
    text = value.text
    bare = re.sub(r"[ *#-]", "", text)
    if not bare.isdigit():
        return (
            tie in {"assigned", "said"}
            and len(text) >= 4
            and not values.is_plain_fact(text)
            and values.is_mixed(text)
            and any(map(str.isdigit, text))
        )  # noqa: PLR2004 - shorter ones are names of rooms
    if (
        not 3 <= len(bare) <= 10
        or _is_amount(plain, value.end)
        or plain.text[value.end : value.end + 2].strip(" ") == "."
    ):  # noqa: PLR2004 - lengths of a PIN
        pass
    if not 3 <= len(bare) <= 10 or _is_amount(plain, value.end):  # noqa: PLR2004 - lengths of a PIN
        return False
    if label.word == "pin" and plain.text[label.start : label.start + 3] != "PIN":
        return tie == "assigned" or (tie == "said" and plain.text[: value.start].rstrip().endswith(("is", "was")))
    return tie != "near"


def _accepts_password(plain: Plain, tie: Tie, value: Value) -> bool:
    text = value.text
    if " " in text and not (value.quoted and tie != "near" and len(text) <= 64):  # noqa: PLR2004 - a quoted sentence is no password
        return (
            values.is_digits(text.replace(" ", "")) and tie in {"assigned", "said"} and not _is_amount(plain, value.end)
        )
    if values.is_digits(text):
        return tie in {"assigned", "said", "beside"} and not _is_amount(plain, value.end) and _closes(plain, value.end)
    if len(text) < 4 or (values.is_plain_fact(text) and not (value.quoted and tie == "assigned")):  # noqa: PLR2004 - shorter ones are words
        return False
    if tie == "assigned":
        return values.is_mixed(text) or values.is_chained(text) or value.quoted or _closes(plain, value.end)
    if tie == "said":
        return values.is_mixed(text) or values.is_chained(text) or value.quoted or _plain_word(plain, value)
    digit = any(map(str.isdigit, text))
    if tie == "beside":
        return len(text) >= 6 and digit and values.is_mixed(text)  # noqa: PLR2004 - shorter ones are names
    return len(text) >= 8 and digit and values.is_mixed(text) and value.quoted  # noqa: PLR2004 - shorter ones are names


def _plain_word(plain: Plain, value: Value) -> bool:
    """A plain Latin word said to be the password, in a sentence of another script: nothing else would be Latin there."""
    before = plain.text[max(0, value.start - 12) : value.start]
    return (
        bool(re.search("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]", before))
        and _closes(plain, value.end)
        and value.text.islower()
    )


def _accepts_key(plain: Plain, label: Label, tie: Tie, value: Value) -> bool:
    text = value.text
    if " " in text or (values.is_plain_fact(text) and not values.is_hex(text, 16)):
        return False
    if tie == "near" or label.kind == "weak":
        public = vocabulary().public.search(plain.text, max(0, value.start - 40), value.start)
        if public and public.start() >= label.end:
            return False
        return (tie != "near" and values.machine_made(text)) or (
            tie == "near" and label.kind == "key" and values.is_random(text)
        )
    if tie == "beside":
        return values.machine_made(text) or values.is_hex(text, 20)
    least = 8 if tie == "assigned" else 10
    if len(text) >= least and values.is_mixed(text) and any(map(str.isdigit, text)) and any(map(str.isalpha, text)):
        return True
    return (
        tie == "assigned"
        and len(text) >= 12
        and not text.isdigit()
        and (value.quoted or plain.text[value.start - 1] == "=")
    )  # noqa: PLR2004 - shorter ones are words


def _before(plain: Plain, label: Label) -> Iterator[Value]:
    """A value that its label follows: "sunny-Kiln-88 is the password", "hanok77가 비밀번호"."""
    start = max(0, label.start - 110)
    head = plain.text[start : label.start]
    tie = _BEFORE.search(head)
    if not tie:
        return
    run = re.search(r"[!#-&(-_a-~]{4,64}$", head[: tie.start()])
    if not run:
        return
    value = _trimmed(plain, start + run.start(), start + run.end())
    if (
        not value
        or values.is_placeholder(value.text)
        or values.is_plain_fact(value.text)
        or values.is_ordinary(value.text)
        or values.is_reference(value.text)
    ):
        return
    digit = any(map(str.isdigit, value.text)) and any(map(str.isalpha, value.text))
    if label.kind == "key":
        digit = values.machine_made(value.text)
    if digit and len(value.text) >= 6:  # noqa: PLR2004 - shorter ones are names
        yield value


def _codes(plain: Plain, end: int) -> Iterator[Value]:
    """A list of recovery codes: all of the shape of the first one, on this line and the following ones."""
    text = plain.text
    stop = text.find("\n\n", end, end + 600)
    shape = ""
    for match in _CODE.finditer(text, end, stop if stop > 0 else end + 600):
        code = match.group()
        if (
            values.is_plain_fact(code)
            or values.is_ordinary(code)
            or (code.isdigit() and len(code) < 6)
            or _is_amount(plain, match.end())
        ):  # noqa: PLR2004 - years and counts
            continue
        this = re.sub(r"[A-Za-z0-9]", "a", code)
        shape = shape or this
        if this == shape:
            yield Value(start=match.start(), end=match.end(), text=code, quoted=False)


def _phrases(plain: Plain, end: int) -> Iterator[Value]:
    tie = re.compile(r"[^.\n]{0,40}?(?:[:=\"'`“「]|\b(?:is|are|est|ist|es|lautet)|是|为|は|는|은)\s*[\"'`“「]?").match(
        plain.text, end
    )
    words = _WORDS.match(plain.text, tie.end()) if tie else None
    if words:
        count = len(re.findall(r"[a-zà-ÿ]+", words.group()))
        small = vocabulary().other | frozenset(
            {"the", "in", "on", "is", "a", "of", "and", "at", "by", "for", "never", "not", "it"}
        )
        clean = not small.intersection(words.group().split())
        if count in _PHRASE_LENGTHS or (clean and 4 <= count <= 11):  # noqa: PLR2004 - of a pass phrase
            yield Value(start=words.start(), end=words.end(), text=words.group(), quoted=False)
        return
    han = _HAN_WORDS.search(plain.text, tie.end(), tie.end() + 60) if tie else None
    if han and han.group().count(" ") >= 11:  # noqa: PLR2004 - twelve words
        yield Value(start=han.start(), end=han.end(), text=han.group(), quoted=False)


def _seeds(plain: Plain, end: int) -> Iterator[Value]:
    seed = _BASE32.search(plain.text, end, end + _REACH)
    if seed and re.search(r"[2-7]", seed.group()) and not values.is_placeholder(seed.group()):
        yield Value(start=seed.start(), end=seed.end(), text=seed.group(), quoted=False)
    elif not seed:
        yield from _single(plain, Label(kind="key", word="seed", start=end, end=end), end)


def _cookies(plain: Plain, end: int) -> Iterator[Value]:
    """The values of a header ``Cookie: name=value; …``."""
    stop = plain.text.find("\n", end)
    for part in _COOKIE_PART.finditer(plain.text, end, stop if stop > 0 else end + 2000):
        value = part.group(2)
        if (values.machine_made(value, 12) or values.is_hex(value, 12)) and not values.is_placeholder(value):
            yield Value(start=part.start(2), end=part.end(2), text=value, quoted=False)


def _pairs(plain: Plain, label: Label, end: int) -> Iterator[Value]:
    """A name and a password beside each other: ``admin / Kiln-2291``."""
    pair = _PAIR.match(plain.text, end)
    if not pair and label.kind == "login":
        pair = next(
            (
                m
                for link in vocabulary().links.finditer(plain.text, end, min(_window(plain.text, end), end + 40))
                if (m := _PAIR.match(plain.text, link.end()))
            ),
            None,
        )
    value = _trimmed(plain, pair.start(2), pair.end(2)) if pair else None
    if (
        value
        and value.text
        and len(value.text) >= 6
        and any(map(str.isdigit, value.text))
        and any(map(str.isalpha, value.text))
    ):  # noqa: PLR2004 - shorter ones are names
        spaced = plain.text[value.start - 1] in " \t"
        sure = bool(_STRONG.search(value.text)) or (
            spaced and "/" in plain.text[pair.start() : value.start] if pair else False
        )
        if sure and not (
            values.is_placeholder(value.text) or values.is_plain_fact(value.text) or values.is_ordinary(value.text)
        ):
            yield value


_STRONG = re.compile(r"[!@#$%^&*+=?~]")


def _random_values(plain: Plain) -> Iterator[tuple[str, Span]]:
    """Values as irregular as only a machine makes them, in a text that speaks of keys."""
    for match in re.finditer(r"(?<![\w/+.-])[A-Za-z0-9+/_.~-]{20,512}={0,2}(?![\w/+])", plain.text):
        value = _trimmed(plain, match.start(), match.end())
        if not value or not values.is_random(value.text) or values.is_placeholder(value.text):
            continue
        if not vocabulary().public.search(plain.text, max(0, value.start - 40), value.start):
            yield "random_value", (value.start, value.end)
