"""Whether a shorter text may stand for a longer one: nothing that can be checked got lost in it, and nothing came in.

Wary on purpose. A text that is refused stays as long as it was; one that is wrongly taken says something else.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from memorycore.domain.assertion import CONTENT, Assertion, assertion_of
from memorycore.domain.cues import Reading, read
from memorycore.domain.gates import MARKER, instructions, noise, personal, secrets, vocabulary
from memorycore.domain.judge import judge
from memorycore.domain.memory import Target
from memorycore.domain.pointer import is_fold, is_pointer
from memorycore.domain.routing import route
from memorycore.domain.text import script_class

LEAST_CHARS = 30
MOST_SHARE = 0.8
"""Of the length of the longer text; one that is hardly shorter is not worth a change."""
KEPT_SHARE = 0.7
"""Of the different content words: what is filler may go, and no more."""
KEPT_OF_CLAUSE = 0.5
NEW_SHARE = 0.1
NEW_OF_CLAUSE = 0.34
KNOWN_SHARE = 0.3
"""Of the words of a Latin text, those that the judge knows; of a language that it cannot read nothing is shortened."""

_EXACT = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]+`"  # code
    r"|\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|„[^“”\n]{1,400}[“”]|«[^»\n]{1,400}»|「[^」\n]{1,400}」|『[^』\n]{1,400}』|《[^》\n]{1,80}》"
    r"|(?<![\w-])--?[A-Za-z][\w-]*"  # an option
    r"|[$%@#]\w[\w.-]*"
    # fooBar, API, H2, snake_case; tried at the beginning of a word only, else a long one takes seconds
    r"|(?<![A-Za-z0-9_])(?=[A-Za-z0-9_]*(?:[a-z0-9_][A-Z]|[A-Z]{2}|[A-Za-z]\d|\d[A-Za-z]|_))\w+"
    r"|(?<!\w)\w+(?:[./\\:@+-]+\w+)+",  # a path, an address, a version, a compound
    re.DOTALL,
)
_DIGITS = re.compile(r"\d+")
_KATAKANA = re.compile(r"[\u30a1-\u30fa\u30fc]{2,}")
_LATIN_IN_CJK = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_AMOUNTS = frozenset({"num", "date", "time"})
_COUNTED = frozenset({
    ("modal", "neednot"), ("cue", "condition"), ("cue", "exception"), ("cue", "limited"), ("cue", "yet"),
    ("contrast", "before"), ("contrast", "after"), ("contrast", "until"),
})  # fmt: skip
_MENTIONED = frozenset({"quantifier", "contrast"})
_BAN = ("modal", "mustnot")  # at the head of a clause a "never" is read as one, else as a negation
_FILLER = frozenset({_BAN, ("quantifier", "many")})
_DUTIES = ("prohibit", "refrain", "must", "ought", "ask_first", "absolute")
_CLAUSE_END = re.compile(r"(?<=[。！？!?；;，、：\n])|(?<=[.,:])(?=\s)")


def is_readable(text: str) -> bool:
    """Whether a text is in a language in which its negations and duties can be found."""
    script = script_class(text)
    if script != "latin":
        return script in {"han", "kana", "hangul"}
    tokens = [
        token for token in assertion_of(text).tokens if token.kind not in {"punct", "code", "num", "date", "time"}
    ]
    known = sum(token.kind not in {"word", "name", "name?", "char"} for token in tokens)
    return known >= KNOWN_SHARE * len(tokens)


def fault_of(text: str, shorter: str, *, target: Target) -> str:
    """Why ``shorter`` cannot stand for ``text``, as a code; empty when it can. ``target``: the file it stands in."""
    for code, is_wrong in _CHECKS:
        if is_wrong(text, shorter):
            return code
    return "routing" if _place(text, target) != _place(shorter, target) else ""


def _place(text: str, target: Target) -> tuple[object, ...]:
    routing = route(text, target=target)
    return routing.route, routing.type, frozenset(routing.protected), routing.policy


def _has_wrong_length(text: str, shorter: str) -> bool:
    return not LEAST_CHARS <= len(shorter) < MOST_SHARE * len(text)


def _is_no_text(_: str, shorter: str) -> bool:
    return is_pointer(shorter) or is_fold(shorter) or noise.find(shorter) is not None


def _is_held_back(_: str, shorter: str) -> bool:
    return bool(
        MARKER.search(shorter)
        or secrets.find(shorter)
        or personal.find(shorter)
        or instructions.find(shorter, source=True)
    )


def _is_other_language(text: str, shorter: str) -> bool:
    return script_class(text) != script_class(shorter) or assertion_of(text).language != assertion_of(shorter).language


def _differs_in_numbers(text: str, shorter: str) -> bool:
    """Amounts with their units, dates, times, and every figure as it is written; none less and none more."""
    return _of(text, _AMOUNTS) != _of(shorter, _AMOUNTS) or set(_DIGITS.findall(text)) != set(_DIGITS.findall(shorter))


def _differs_in_names(text: str, shorter: str) -> bool:
    """Code, paths, quotations and abbreviations to the letter; names whatever their case."""
    return _has_other_names(text, shorter) or _has_other_names(shorter, text)


def _has_other_names(text: str, other: str) -> bool:
    if any(exact not in other for exact in _EXACT.findall(text) + _KATAKANA.findall(text)):
        return True
    folded = assertion_of(other).text.casefold()
    if script_class(text) != "latin":
        return any(name not in folded for name in _names_in_cjk(text))
    return any(not re.search(rf"(?<!\w){re.escape(name)}", folded) for name in _names(text))


def _names(text: str) -> Iterator[str]:
    yield from (token.word for token in read(text).names)
    for term in assertion_of(text).terms:
        if term.kind == "name" and len(term.text) > 1:
            yield term.text.casefold()


def _names_in_cjk(text: str) -> Iterator[str]:
    """Words in Latin letters, and the first two characters of what begins like somebody's name."""
    found = assertion_of(text)
    yield from (word.casefold() for word in _LATIN_IN_CJK.findall(found.text))
    first = frozenset(vocabulary("shortening")["surnames"][script_class(text)])
    for token in found.tokens:
        name = found.text[token.start : token.start + 2]
        if token.kind == "char" and name[0] in first and name.isalpha():
            yield name.casefold()


def _differs_in_negation(text: str, shorter: str) -> bool:
    old, new = assertion_of(text), assertion_of(shorter)
    if _negations(old) != _negations(new):
        return True
    (denied, stated), (denied_now, stated_now) = _polarity(old), _polarity(new)
    return bool((denied - denied_now) or (denied_now & stated) - denied or (stated_now & denied) - stated)


def _negations(found: Assertion) -> int:
    return sum(token.kind == "neg" or (token.kind, token.key) == _BAN for token in found.tokens)


def _polarity(found: Assertion) -> tuple[frozenset[str], frozenset[str]]:
    """Content words that are denied or forbidden, and those that are not."""
    bans = [token.end for token in found.tokens if (token.kind, token.key) == _BAN]
    forbidden = {next((term.token.start for term in found.content if term.token.start >= end), -1) for end in bans}
    denied = frozenset(term.key for term in found.content if term.denied or term.token.start in forbidden)
    stated = (term.key for term in found.content if not term.denied and term.token.start not in forbidden)
    return denied, frozenset(stated)


def _differs_in_duty(text: str, shorter: str) -> bool:
    """What must, may and must not be done, under which condition, with which exception, in which order."""
    old, new = assertion_of(text), assertion_of(shorter)
    if _counted(old) != _counted(new) or _mentioned(old) != _mentioned(new):
        return True
    return _duties(read(text)) != _duties(read(shorter))


def _counted(found: Assertion) -> Counter[tuple[str, str]]:
    return Counter(key for token in found.tokens if (key := (token.kind, token.key)) in _COUNTED)


def _mentioned(found: Assertion) -> frozenset[tuple[str, str]]:
    """A plea beside a duty is filler: ``modals`` knows."""
    said = {(token.kind, token.key) for token in found.tokens if token.kind in _MENTIONED}
    return frozenset(said | {("modal", key) for key in found.modals}) - _FILLER


def _duties(reading: Reading) -> dict[str, int]:
    counted = {"prohibit", "refrain"}
    return {cue: len(hits) if cue in counted else 1 for cue in _DUTIES if (hits := reading.hits.get(cue))}


def _of(text: str, kinds: frozenset[str]) -> frozenset[tuple[str, str]]:
    return frozenset((token.kind, token.key) for token in assertion_of(text).tokens if token.kind in kinds)


def _says_too_little(text: str, shorter: str) -> bool:
    """Whether the shorter text leaves out more than filler: of the whole, or of one clause."""
    kept = _keys(shorter)
    parts = [(text, KEPT_SHARE), *((part, KEPT_OF_CLAUSE) for part in _clauses(text))]
    return any(len(keys & kept) < share * len(keys) for part, share in parts if (keys := _keys(part)))


def _says_more(text: str, shorter: str) -> bool:
    """Whether anything is to be done that the text does not speak of, or more than a word here and there is new."""
    known = _keys(text)
    if any(token.kind == "verb" and token.key not in known for token in assertion_of(shorter).tokens):
        return True
    parts = [(shorter, NEW_SHARE), *((part, NEW_OF_CLAUSE) for part in _clauses(shorter))]
    return any(len((keys := _keys(part)) - known) > share * len(keys) for part, share in parts)


@lru_cache(maxsize=64)
def _keys(text: str) -> frozenset[str]:
    return frozenset(token.key for token in assertion_of(text).tokens if token.kind in CONTENT)


def _clauses(text: str) -> Sequence[str]:
    return [part for part in map(str.strip, _CLAUSE_END.split(text)) if part]


def _is_contradicted(text: str, shorter: str) -> bool:
    wrong = {"supersedes", "disputes"}
    return judge(text, shorter).relation in wrong or judge(shorter, text).relation in wrong


_CHECKS: tuple[tuple[str, Callable[[str, str], bool]], ...] = (
    ("length", _has_wrong_length),
    ("no_text", _is_no_text),
    ("gate", _is_held_back),
    ("language", _is_other_language),
    ("number", _differs_in_numbers),
    ("name", _differs_in_names),
    ("negation", _differs_in_negation),
    ("duty", _differs_in_duty),
    ("too_little", _says_too_little),
    ("more", _says_more),
    ("judge", _is_contradicted),
)
