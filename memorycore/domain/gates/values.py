"""Whether a piece of text could be the value of a secret, by its shape alone: typed by a person or made by a machine.

What says no: placeholders, masked values, names of variables, places where a secret is kept, dates, versions, units,
and the sample keys that vendors' manuals print for everybody.
"""

import hashlib
import re
from functools import cache
from typing import Any

from memorycore.domain.gates import vocabulary

_MASKED = re.compile(
    r"\ufffc|[*•●·∙…]{3,}|[xX]{5,}|\.{3,}|_{4,}|-{4,}|#{4,}|(?:^|[-_])[xX]{4}(?:[-_]|$)|^(?:[xX]{3,}[-_ ]?)+$"
)
_BRACKETED = re.compile(
    r"<.*>?|\[.*\]?|\{.*\}?|\$\{{0,2}\s?[A-Za-z_].*|\$\(.*|%\w+%?|@\w+@|__\w+__|~+|!\w+(?:\.\w+)*|&\w+;"
)
_REFERENCE = re.compile(
    r"(?:process\.env|import\.meta\.env|os\.environ|os\.getenv|getenv|env|ENV|secrets?|vars?|config|settings|self|this|args|params|options|ctx|context|props|request|req|vault|op|ssm|keyring|arn|file|gcp|aws|azure|k8s|sops)[.:(\[/].*"
    r"|[A-Za-z_][\w.]*+[)\]]*\[.*"
    r"|[A-Za-z_]\w*+(?:\.[A-Za-z_]\w*+)*+\(.*|[A-Z][A-Z0-9]*+(?:_[A-Z0-9]++)++|[a-z]++(?:_[a-z]++)++|[a-z][a-z_]*+(?:\.[a-z][a-z_]*+)++"
)
_PLAIN_FACT = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}.*|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}:\d\d.*|v?\d++(?:\.\d++){1,3}(?:[-+.]?[a-z]\w*+)*+|\d+(?:\.\d+)?%"
    r"|[$€£¥]\s?\d.*|\d+(?:st|nd|rd|th|x|k|m|g|gb|mb|tb|kb|ghz|mhz|hz|h|d|w|y|min|s|ms|px|em|pt|cm|mm|km|kg)\b.*"
    r"|\d+-?(?:char|digit|letter|bit|byte|day|week|month|minute|hour|year|word|time|fold|step|factor|stellig|zeichen).*"
    r"|\w+://.*|[~.]{0,2}/.*|[\w.+-]++@[\w-]++(?:\.[\w-]++)++|(?:[A-Za-z][\w-]*+\.)++[A-Za-z]{2,}(?:[:/].*)?|[A-Za-z_-]++(?:/[A-Za-z_-]++)++"
    r"|\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?|--?\w.*",
    re.IGNORECASE,
)
_SENTENCE_SIGN = re.compile("[。，；、！？,;]")
_HAN_OR_KANA = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_LONGEST_PLAIN, _LONGEST_HAN = 32, 10
_STRONG_SIGN = re.compile(r"[!@#$%^&*+=?~|\\]")
_KEY_CHARS = re.compile(r"[A-Za-z0-9+/=_.~:%$!@#*-]+")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_GROUPED = re.compile(
    r"(?=.*\d)(?:[A-Z0-9]{4,7}(?:-[A-Z0-9]{4,7}){3,}|(?=(?:.*\d){4})[a-z0-9]{4,6}(?:-[a-z0-9]{4,6}){3,})"
)
_HEX = re.compile(r"[0-9a-fA-F]+")
_PARTS = re.compile(r"[^-_./:]{8,}")
_MIXED_PART = re.compile(r"\d.*[A-Za-z]|[A-Za-z].*\d")
_FEWEST_CAPITALS = 0.3
_TWO_DIGITS = re.compile(r"\d[^\d]*+\d")
_TURN = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[a-z0-9])|(?<=[0-9])(?=[A-Za-z])")
_SHORTEST_DIGITS, _LONGEST_DIGITS = 4, 12
# Longer values are neither words nor dates; a very long address is one all the same.
_LONGEST_WORDS, _LONGEST_FACT = 100, 512
_MACHINE_MADE, _RANDOM, _RANDOM_ONE_CASE, _RANDOM_DIGITS, _WORDS = 16, 20, 32, 3, 4


def label_words() -> dict[str, Any]:
    """The vocabulary of labels and of what stands around them, as it is in the file."""
    return vocabulary("secret_labels")


@cache
def _fill_ins() -> re.Pattern[str]:
    """``your-key``, ``change-me``: a verb or possessive and then nothing but names of what to fill in."""
    words = label_words()["placeholder"]
    starts, things = "|".join(words["starts"]), "|".join(words["things"])
    return re.compile(rf"(?:{starts})(?:[-_ ]?(?:{things}))++|{'|'.join(words['shapes'])}", re.IGNORECASE)


@cache
def _no_values() -> frozenset[str]:
    return frozenset(label_words()["around"]["no_values"])


@cache
def _no_shapes() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{shape})" for shape in label_words()["around"]["no_shapes"]), re.IGNORECASE)


@cache
def _samples() -> frozenset[str]:
    return frozenset(label_words()["sample"]["digests"])


def is_sample(value: str) -> bool:
    """Whether a key is one that a vendor's manual prints for everybody."""
    if value.endswith(("EXAMPLE", "EXAMPLEKEY")):
        return True
    return hashlib.sha256(value.encode("utf-8", "replace")).hexdigest() in _samples()


def is_placeholder(value: str) -> bool:
    """Whether a value is masked, to be filled in, or a sample of a manual."""
    if _MASKED.search(value[:_LONGEST_WORDS]) or is_sample(value):
        return True
    return len(value) <= _LONGEST_WORDS and bool(_BRACKETED.fullmatch(value) or _fill_ins().fullmatch(value))


def is_reference(value: str) -> bool:
    """Whether a value names the place of a secret: a variable, a field, a call, an entry in a vault."""
    return len(value) <= _LONGEST_WORDS and bool(_REFERENCE.fullmatch(value))


def is_plain_fact(value: str) -> bool:
    """A date, a version, an amount, an address: mixed signs that are no secret."""
    return len(value) <= _LONGEST_FACT and bool(_PLAIN_FACT.fullmatch(value))


def is_ordinary(value: str) -> bool:
    """A word that is never a value, or the name of a standard or product."""
    return value.lower() in _no_values() or (len(value) <= _LONGEST_WORDS and bool(_no_shapes().fullmatch(value)))


def is_uuid(value: str) -> bool:
    return bool(_UUID.fullmatch(value))


def is_digits(value: str) -> bool:
    return value.isascii() and value.isdigit() and _SHORTEST_DIGITS <= len(value) <= _LONGEST_DIGITS


def is_mixed(value: str) -> bool:
    """Letters together with digits or with a sign that words do not have."""
    if not any(char.isalpha() for char in value):
        return bool(_STRONG_SIGN.search(value)) and any(char.isdigit() for char in value)
    return any(char.isdigit() for char in value) or bool(_STRONG_SIGN.search(value[:-1]))


def is_chained(value: str) -> bool:
    """Four and more words tied together, as pass phrases are: ``correct-horse-battery-staple``; or a capital inside."""
    parts = re.split(r"[-_.]", value)
    return (len(parts) >= _WORDS and all(parts)) or bool(re.search(r"[a-z][A-Z]", value))


def is_term(value: str) -> bool:
    """Short and without the punctuation of a sentence, as what somebody puts between quotation marks to be typed."""
    longest = _LONGEST_HAN if _HAN_OR_KANA.search(value) else _LONGEST_PLAIN
    return len(value) <= longest and not _SENTENCE_SIGN.search(value)


def machine_made(value: str, least: int = _MACHINE_MADE) -> bool:
    """Long, of the signs that keys are made of, letters and digits together in one part, or letters of both cases."""
    if len(value) < least or not _KEY_CHARS.fullmatch(value):
        return False
    parts = _PARTS.findall(value)
    if _TWO_DIGITS.search(value):
        return any(_MIXED_PART.search(part) for part in parts)
    return any(len(part) >= least and _is_jumbled(part) for part in parts)


def _is_jumbled(part: str) -> bool:
    """Capitals as frequent as small letters: words and identifiers have a few."""
    capitals = sum(map(str.isupper, part))
    return (
        _FEWEST_CAPITALS <= capitals / len(part) <= 1 - _FEWEST_CAPITALS and len(_TURN.findall(part)) >= len(part) * 0.3
    )


def is_grouped(value: str) -> bool:
    """Four and more groups of capitals and digits: recovery keys, product keys."""
    return bool(_GROUPED.fullmatch(value))


def is_random(value: str) -> bool:
    """So irregular that no name, path or sentence looks like it: needs a label only somewhere near."""
    if len(value) < _RANDOM or not _KEY_CHARS.fullmatch(value) or is_uuid(value) or is_hex(value):
        return False
    digits, turns = sum(map(str.isdigit, value)), len(_TURN.findall(value))
    cased = any(map(str.isupper, value)) and any(map(str.islower, value))
    if cased:
        return digits >= _RANDOM_DIGITS and turns >= len(value) * 0.2
    return len(value) >= _RANDOM_ONE_CASE and digits * 8 >= len(value) and turns >= len(value) * 0.2


def is_hex(value: str, least: int = 32) -> bool:
    return len(value) >= least and bool(_HEX.fullmatch(value)) and not value.isdigit()
