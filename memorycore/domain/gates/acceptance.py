"""How much a candidate has to look like a secret: less behind an assignment, more the looser its tie to the label."""

import re
from functools import cache

from memorycore.domain.gates import values
from memorycore.domain.gates.announced import Tie, Value
from memorycore.domain.gates.disguise import Plain
from memorycore.domain.gates.labels import Label

_CLAUSE_END = re.compile(
    r"[\"'`”’»」』)\]*]*\s*(?:$|[.,;:!?，。；、！？\n)\]}】」』]|(?:and|und|et|y|user|username|für|for|pour|para)\b)"
)
_UNIT = re.compile(r"[- ]?([^\W\d_]+|%)")
_IS = re.compile(r"(?:[:=]|\bis|\bist|\best|\bes|\blautet|是|为|為|は|は「|는|은)\s*[\"'“「]?$")
_SCRIPT_WITHOUT_BLANKS = re.compile("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_YEAR = re.compile(r"(?:19|20)\d\d")
_PIN_LENGTHS = range(3, 11)
_TYPED_BESIDE, _TYPED_NEAR, _TYPED_SHORTEST, _QUOTE_LONGEST = 6, 8, 4, 64
_KEY_ASSIGNED, _KEY_SAID, _KEY_WORDLIKE, _HEX_BESIDE, _HEX_SAID = 8, 10, 12, 20, 16
_LOOK_BACK = 12
_PUBLIC_LOOK_BACK = 40


@cache
def _public() -> re.Pattern[str]:
    words = "|".join(re.escape(word) for word in values.label_words()["around"]["public_before"])
    return re.compile(rf"(?<![a-z])(?:{words})(?![a-z])[^。！？\n]{{0,24}}$", re.IGNORECASE)


@cache
def _units() -> tuple[frozenset[str], tuple[str, ...]]:
    words: list[str] = values.label_words()["around"]["units"]
    return frozenset(words), tuple(word for word in words if word >= "\u2e80")


def accepts(plain: Plain, label: Label, tie: Tie, value: Value) -> bool:
    """Whether a candidate is enough of a secret for its label and its tie."""
    text = value.text
    if values.is_placeholder(text) or values.is_ordinary(text) or (values.is_reference(text) and not value.quoted):
        return False
    if tie == "before":
        return _accepts_before(label, text)
    if label.kind in {"pin", "one_time", "opening"}:
        return _accepts_digits(plain, label, tie, value)
    if label.kind == "password":
        return _accepts_password(plain, tie, value)
    if label.word in {"pass", "psw"} and tie in {"assigned", "said"}:
        return _accepts_password(plain, tie, value) and not values.is_digits(text)
    return _accepts_key(plain, label, tie, value)


def names_public(plain: Plain, value: Value, label_end: int = 0) -> bool:
    """Whether a value is called a sum, an id or a public key by the words before it."""
    before = max(label_end, value.start - _PUBLIC_LOOK_BACK)
    return bool(_public().search(plain.text[before : value.start]))


def is_amount(plain: Plain, end: int) -> bool:
    """Whether a unit follows: 14 characters, 8 位."""
    unit = _UNIT.match(plain.text, end)
    words, starts = _units()
    return bool(unit) and (unit.group(1).lower() in words or unit.group(1).startswith(starts))


def _accepts_before(label: Label, text: str) -> bool:
    if values.is_plain_fact(text):
        return False
    if label.kind == "key":
        return values.machine_made(text)
    return len(text) >= _TYPED_BESIDE and _has_digit_and_letter(text)


def _accepts_digits(plain: Plain, label: Label, tie: Tie, value: Value) -> bool:
    digits = re.sub(r"[ *#-]", "", value.text)
    if not digits.isdigit():
        typed = _TYPED_SHORTEST <= len(value.text) and _has_digit_and_letter(value.text)
        tied = tie in {"assigned", "said"} or (tie == "beside" and not label.word.isascii())
        return label.kind != "opening" and typed and tied and not values.is_plain_fact(value.text) and " " not in value.text
    if len(digits) not in _PIN_LENGTHS or is_amount(plain, value.end) or _is_year(plain, value):
        return False
    if label.word == "pin" and not plain.text.startswith("PIN", label.start):
        # "pin numpy to 2026" speaks of something else.
        said = plain.text[: value.start].rstrip(" \"'").endswith(("is", "was"))
        return tie == "assigned" or (tie == "said" and said)
    return tie != "near"


def _accepts_password(plain: Plain, tie: Tie, value: Value) -> bool:
    text = value.text
    if " " in text and not (value.quoted and tie != "near" and len(text) <= _QUOTE_LONGEST):
        return (
            values.is_digits(text.replace(" ", "")) and tie in {"assigned", "said"} and not is_amount(plain, value.end)
        )
    if values.is_digits(text.strip("#*")):
        return tie != "near" and not is_amount(plain, value.end) and not _is_year(plain, value)
    if len(text) < _TYPED_SHORTEST or (values.is_plain_fact(text) and not (value.quoted and tie == "assigned")):
        return False
    looks = values.is_mixed(text) or values.is_chained(text)
    match tie:
        case "assigned":
            return looks or value.quoted or _closes(plain, value.end)
        case "said":
            return looks or value.quoted or _is_foreign_word(plain, value)
        case "beside":
            called = value.quoted and plain.text[value.start - 2].isspace()
            return (len(text) >= _TYPED_BESIDE and _has_digit_and_letter(text)) or called
        case _:
            return len(text) >= _TYPED_NEAR and _has_digit_and_letter(text) and value.quoted


def _accepts_key(plain: Plain, label: Label, tie: Tie, value: Value) -> bool:
    text = value.text
    if " " in text or (values.is_plain_fact(text) and not values.is_hex(text, _HEX_SAID)):
        return False
    if tie == "near":
        return label.kind == "key" and values.is_random(text) and not names_public(plain, value, label.end)
    if label.kind == "weak":
        return values.machine_made(text) and not names_public(plain, value, label.end)
    if tie == "beside":
        return values.machine_made(text) or values.is_hex(text, _HEX_BESIDE) or values.is_grouped(text)
    if len(text) >= (_KEY_ASSIGNED if tie == "assigned" else _KEY_SAID) and _has_digit_and_letter(text):
        return True
    if values.is_grouped(text) or (len(text) >= _KEY_WORDLIKE and _is_foreign_word(plain, value)):
        return True
    wordlike = len(text) >= _KEY_WORDLIKE and not text.isdigit()
    return tie == "assigned" and wordlike and (value.quoted or plain.text[value.start - 1] == "=")


def _has_digit_and_letter(text: str) -> bool:
    return any(map(str.isdigit, text)) and any(map(str.isalpha, text))


def _is_year(plain: Plain, value: Value) -> bool:
    """ "Changed in 2019": a year, unless a verb says that it is the value."""
    return bool(_YEAR.fullmatch(value.text)) and not _IS.search(
        plain.text[max(0, value.start - _LOOK_BACK) : value.start]
    )


def _closes(plain: Plain, end: int) -> bool:
    return bool(_CLAUSE_END.match(plain.text, end))


def _is_foreign_word(plain: Plain, value: Value) -> bool:
    """A plain Latin word said to be the password in a sentence of another script: what else would it do there?"""
    before = plain.text[max(0, value.start - _LOOK_BACK) : value.start]
    return bool(_SCRIPT_WITHOUT_BLANKS.search(before)) and _closes(plain, value.end) and value.text.islower()
