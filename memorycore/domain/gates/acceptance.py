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
_IS = re.compile(r"(?:[:=]|\b(?:with|avec|mit|con|is)|\bist|\best|\bes|\blautet|是|为|為|は|は「|는|은)\s*[\"'“「]?$")
_SCRIPT_WITHOUT_BLANKS = re.compile("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
# "The password for `db-01` is in the vault": what a password is for.
_NAMES_WHAT = re.compile(
    r"(?:\b(?:for|of|on|at|by|from|user|host|für|von|auf|bei|de|du|pour|sur|del|para|server)|的|用户|の|주소)\s*$"
)
_SENT_CODE = re.compile(r"[A-Z0-9]{3,5}-[A-Z0-9]{3,5}")
_YEAR = re.compile(r"(?:19|20)\d\d")
_PIN_LENGTHS = range(3, 11)
_TYPED_BESIDE, _TYPED_NEAR, _TYPED_SHORTEST, _QUOTE_LONGEST = 6, 8, 4, 64
_KEY_BESIDE, _KEY_BESIDE_ONE_CASE = 12, 16
_KEY_ASSIGNED, _KEY_SAID, _KEY_WORDLIKE, _HEX_BESIDE, _HEX_SAID, _HEX_SHORT = 8, 10, 12, 20, 16, 7
_LONGEST = 160
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
    if len(text) > _LONGEST:
        return tie != "near" and values.machine_made(text) and not values.is_placeholder(text)
    if values.is_placeholder(text) or values.is_ordinary(text) or (values.is_reference(text) and not value.quoted):
        return False
    if tie == "before":
        return _accepts_before(label, text)
    if label.kind in {"pin", "one_time", "opening"}:
        return _accepts_digits(plain, label, tie, value)
    short = label.word in {"pass", "psw"} and tie in {"assigned", "said"} and _has_digit_and_letter(text)
    if label.kind == "password" or short:
        return _accepts_password(plain, tie, value)
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
    if values.is_plain_fact(text) or "=" in text:
        return False
    if label.kind == "key":
        return values.machine_made(text)
    return len(text) >= _TYPED_BESIDE and _has_digit_and_letter(text)


def _accepts_digits(plain: Plain, label: Label, tie: Tie, value: Value) -> bool:
    digits = re.sub(r"[ *#-]", "", value.text)
    if not digits.isdigit():
        sent = label.kind == "one_time" and tie != "near" and bool(_SENT_CODE.fullmatch(value.text))
        return sent or (label.kind != "opening" and _accepts_typed_code(label, tie, value.text))
    dated = _YEAR.match(value.text) and "-" in value.text
    if len(digits) not in _PIN_LENGTHS or is_amount(plain, value.end) or _is_year(plain, value) or dated:
        return False
    if label.word == "pin" and not plain.text.startswith("PIN", label.start):
        # "pin numpy to 2026" speaks of something else.
        said = plain.text[max(0, value.start - _LOOK_BACK) : value.start].rstrip(" \"'").endswith(("is", "was"))
        return tie == "assigned" or (tie == "said" and said)
    return tie != "near" or (label.kind == "pin" and len(digits) >= _TYPED_SHORTEST and _closes(plain, value.end))


def _accepts_typed_code(label: Label, tie: Tie, text: str) -> bool:
    """A code of letters and digits: "提取码 8k3d"."""
    tied = tie in {"assigned", "said"} or (tie == "beside" and not label.word.isascii())
    long = len(text) >= _TYPED_SHORTEST and " " not in text
    return tied and long and _has_digit_and_letter(text) and not values.is_plain_fact(text)


def _accepts_password(plain: Plain, tie: Tie, value: Value) -> bool:
    text = value.text
    counted = values.is_digits(text.strip("#*").replace(" ", ""))
    if counted:
        tied = tie in ({"assigned", "said"} if " " in text else {"assigned", "said", "beside"})
        return tied and not is_amount(plain, value.end) and not _is_year(plain, value)
    sentence = " " in text and not (value.quoted and tie != "near" and len(text) <= _QUOTE_LONGEST)
    fact = values.is_plain_fact(text) and not (value.quoted and tie == "assigned")
    if sentence or fact or len(text) < _TYPED_SHORTEST:
        return False
    looks = values.is_mixed(text) or values.is_chained(text)
    named = value.quoted and values.is_term(text)
    match tie:
        case "assigned":
            return looks or named or _closes(plain, value.end)
        case "said":
            return looks or named or _is_foreign_word(plain, value)
        case "beside":
            called = named and plain.text[value.start - 2].isspace()
            return (len(text) >= _TYPED_BESIDE and _has_digit_and_letter(text)) or called
        case _:
            quoted = value.quoted and len(text) >= _TYPED_NEAR and _has_digit_and_letter(text)
            return quoted and not _NAMES_WHAT.search(plain.text, max(0, value.start - _LOOK_BACK), value.start - 1)


def _accepts_key(plain: Plain, label: Label, tie: Tie, value: Value) -> bool:
    text = value.text
    named = label.kind == "cookie" and "=" in text
    if named or " " in text or (values.is_plain_fact(text) and not values.is_hex(text, _HEX_SAID)):
        return False
    if tie == "near" or label.kind == "weak":
        near = label.kind == "key" and values.is_random(text)
        made = near if tie == "near" else values.machine_made(text) or values.is_grouped(text)
        return made and not names_public(plain, value, label.end)
    if tie == "beside":
        least = _KEY_BESIDE if any(map(str.isupper, text)) and any(map(str.islower, text)) else _KEY_BESIDE_ONE_CASE
        return values.machine_made(text, least) or values.is_hex(text, _HEX_BESIDE) or values.is_grouped(text)
    if tie == "said" and values.is_hex(text, _HEX_SHORT) and names_public(plain, value, label.end):
        return False
    if len(text) >= (_KEY_ASSIGNED if tie == "assigned" else _KEY_SAID) and _has_digit_and_letter(text):
        return True
    return values.is_grouped(text) or (len(text) >= _KEY_WORDLIKE and _accepts_wordlike(plain, tie, value))


def _accepts_wordlike(plain: Plain, tie: Tie, value: Value) -> bool:
    """A long value of letters alone: assigned in code, or Latin in a sentence of another script."""
    assigned = tie == "assigned" and (value.quoted or plain.text[value.start - 1] == "=")
    return (assigned and not value.text.isdigit()) or _is_foreign_word(plain, value)


def _has_digit_and_letter(text: str) -> bool:
    return any(map(str.isdigit, text)) and any(map(str.isalpha, text))


def _is_year(plain: Plain, value: Value) -> bool:
    """Whether it is a year, as in "changed in 2019"; a verb may say that it is the value all the same."""
    return bool(_YEAR.fullmatch(value.text)) and not _IS.search(
        plain.text[max(0, value.start - _LOOK_BACK) : value.start]
    )


def _closes(plain: Plain, end: int) -> bool:
    return bool(_CLAUSE_END.match(plain.text, end))


def _is_foreign_word(plain: Plain, value: Value) -> bool:
    """A plain Latin word said to be the password in a sentence of another script: what else would it do there?"""
    before = plain.text[max(0, value.start - _LOOK_BACK) : value.start]
    return bool(_SCRIPT_WITHOUT_BLANKS.search(before)) and _closes(plain, value.end) and value.text.islower()
