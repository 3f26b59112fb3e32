"""Secrets that a text announces: "the password for X is Y", ``API_KEY=Y``, "口令是 Y", a list of recovery codes.

A label alone proves nothing, for most sentences with the word "password" are rules about passwords. How much a value
has to look like one depends on what ties it to the label.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from memorycore.domain.gates import values
from memorycore.domain.gates.acceptance import accepts, is_amount, names_public
from memorycore.domain.gates.announced import (
    REACH,
    Value,
    before,
    behind,
    beside,
    replaced,
    said_places,
    trimmed,
    whole,
    window,
)
from memorycore.domain.gates.disguise import BLOT, Plain, Span
from memorycore.domain.gates.labels import Label, find_labels, lower, names_other, value_part

# Kinds of label that make any random value in the text suspect.
_TELLING = frozenset({"password", "pin", "key", "codes", "second_factor", "phrase"})
_NEAR_KINDS = frozenset({"password", "key", "pin"})
_BEFORE_KINDS = frozenset({"password", "key", "pin"})
_ADDRESS_REACH = 200
_PUBLIC_REACH = 20
# With more labels than this a text is a list or a flood, where only what stands right behind a label is its value.
_MOST_LABELS = 500
_CLOSE = frozenset({"assigned", "beside"})
_CODES_REACH = 600
_COOKIE_REACH = 4000
_CODE_DIGITS = 6
_SEED_SIGN = re.compile(r"[2-7]")
_TYING = frozenset(":=\"'`“「«")
_ENDING = frozenset(("", "\n", ".", '"', "'", "`", "”", "」", "»", " "))
_CODE = re.compile(
    r"(?<![\w-])(?:[a-z0-9]{4}(?: (?=[a-z]*\d)[a-z0-9]{4}){5,9}|\d{4}(?: \d{4}){1,2}(?! \d)"
    r"|(?=[A-Za-z-]{0,40}\d)[A-Za-z0-9]{3,}(?:-[A-Za-z0-9]{3,}){0,8}"
    r"|[A-Za-z0-9]{4,6}(?:-[A-Za-z0-9]{4,6}){1,7})(?![\w-])"
)
_LETTER_GROUPS = re.compile(r"(?<![\w-])[a-z]{4}(?:([ -])[a-z]{4})(?:\1[a-z]{4}){2}(?![\w-])")
_BASE32 = re.compile(
    r"(?<![\w-])(?:[A-Z2-7]{4}(?:[ -]?[A-Z2-7]{4}){2,15}[A-Z2-7]{0,4}=*|[a-z2-7]{4}(?:[ -]?[a-z2-7]{4}){3,15})(?![\w-])"
)
_PHRASE_TIE = re.compile(
    r"[^.\n]{0,40}?(?:[:=\"'`“「«]|\b(?:is|are|est|ist|es|lautet)|是|为|為|は|는|은)[\s:]*[\"'`“「«]?\s?"
)
_LATIN_WORDS = re.compile(
    r"(?:\d{1,2}[.)] ?)?[a-zà-ÿ]{1,12}(?:(?:[ ,]|, |\n|\s?\d{1,2}[.)] ?){1,2}[a-zà-ÿ]{1,12}){2,24}"
)
_HAN_WORDS = re.compile(r"[\u4e00-\u9fff](?: [\u4e00-\u9fff]){11,23}(?! ?[\u4e00-\u9fff])")
_PHRASE_LENGTHS = frozenset({12, 13, 15, 18, 20, 21, 24, 25})
_PASS_PHRASE_LENGTHS = range(3, 12)
_COOKIE_PART = re.compile(r"([\w.-]+)=([^;\s\"',]+)")
_COOKIE_SHORTEST = 12
_PAIR = re.compile(
    r"[ \t:=]{0,3}[\"'`“「]?([\w.@+-]{2,40})[\"'`”」]?"
    r"(?:[ \t]*[/|:,，、][ \t]*|[ \t]+(?:(?:and|with|und|mit|et|y|和|と)[ \t]+)?)[\"'`“「]?(?=([!#-&(-_a-~]{5,64}))"
)
_PAIR_SHORTEST = 6
_PAIR_SIGN = re.compile(r"[!@#$%^&*+=?~]")
_RANDOM = re.compile(r"(?<![\w+.-])[A-Za-z0-9+_~-][A-Za-z0-9+/_.~-]{19,511}={0,2}(?![\w/+])")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Surroundings:
    words: tuple[tuple[str, str], ...]
    still: frozenset[str]
    other: frozenset[str]
    other_cjk: tuple[str, ...]
    public: tuple[str, ...]
    openers: re.Pattern[str]
    network_keys: frozenset[str]


def _word_pattern(word: str) -> str:
    """A word with its edges; ``*`` stands for the rest of a compound, and other scripts have no edges."""
    if word >= "\u2e80":
        return re.escape(word)
    return rf"{re.escape(word[1:])}\b" if word[0] == "*" else rf"\b{re.escape(word)}\b"


@cache
def _surroundings() -> _Surroundings:
    known = values.label_words()
    around = known["around"]
    return _Surroundings(
        words=tuple((word, kind) for kind, entries in known["labels"].items() for word in entries),
        still=frozenset(around["still_after"]),
        other=frozenset(around["other_after"]),
        other_cjk=tuple(word for word in around["other_after"] if word >= "\u2e80"),
        public=tuple(around["public_part"]),
        openers=re.compile("|".join(_word_pattern(word) for word in around["openers"])),
        network_keys=frozenset(around["network_keys"]),
    )


def find_labelled(plain: Plain, *, near_key: bool = False) -> Iterator[tuple[str, Span]]:
    """Kind of label and span of the value, for every value that a label ties down. Spans count in the plain text.

    ``near_key``: the text holds a key already, which makes anything random beside it suspect.
    """
    labels = _announcing(plain.text)
    stop = len(plain.text)
    reach: list[int] = []
    beyond = stop
    for label, end in reversed(labels):
        # One word may be in two lists: both look as far as the next word.
        beyond = stop if end <= stop else beyond
        reach.append(beyond)
        stop = label.start if label.kind in _TELLING else stop
    done = 0
    crowded = len(labels) > _MOST_LABELS
    for (label, end), following in zip(labels, reversed(reach), strict=True):
        if label.start < done:
            continue
        for found in _values(plain, label, end, -1 if crowded else min(following, window(plain.text, end))):
            value = whole(plain, found)
            done = max(done, value.end)
            yield label.kind, (value.start, value.end)
    if near_key or any(label.kind in _TELLING for label, _ in labels):
        yield from _random_values(plain)


def _announcing(text: str) -> list[tuple[Label, int]]:
    """The labels that may have a value, each with the end of the identifier that it is part of."""
    lowered = lower(text)
    known = _surroundings()
    labels: list[tuple[Label, int]] = []
    for label in find_labels(text, lowered, known.words):
        end = value_part(text, label, known.still)
        if end is None or names_other(text, lowered, end, known.other, known.other_cjk):
            continue
        before = lowered[max(0, label.start - _PUBLIC_REACH) : label.start].rstrip(" _-")
        if before.endswith(known.public) or _within_address(text, label, end):
            continue
        if label.kind != "opening" or known.openers.search(lowered, *_sentence(text, label)):
            labels.append((label, end))
    if any(label.kind == "network" for label, _ in labels):
        return [(_of_network(label), end) for label, end in labels]
    return labels


def _of_network(label: Label) -> Label:
    """The key of a network is a password that people type."""
    return replace(label, kind="password") if label.word in _surroundings().network_keys else label


def _within_address(text: str, label: Label, end: int) -> bool:
    """A word of an address is no label, unless it names a field of the query: ``?token=…``."""
    start = max(text.rfind(blank, max(0, label.start - _ADDRESS_REACH), label.start) for blank in " \n\t\"'<(") + 1
    return "://" in text[start : label.start] and text[end : end + 1] != "="


def _sentence(text: str, label: Label) -> Span:
    """The sentence around a label, as far as it matters."""
    start = max(text.rfind(stop, max(0, label.start - REACH), label.start) for stop in ("\n", ". ", "。", "！", "？"))
    return max(start, label.start - REACH, 0), window(text, label.end)


def _values(plain: Plain, label: Label, end: int, stop: int) -> Iterator[Value]:
    match label.kind:
        case "codes":
            yield from _codes(plain, end)
        case "app_password":
            groups = _LETTER_GROUPS.search(plain.text, end, stop)
            found = [Value(start=groups.start(), end=groups.end(), text=groups.group())] if groups else []
            yield from found or _single(plain, replace(label, kind="password"), end, stop)
        case "phrase":
            yield from _phrases(plain, end)
        case "second_factor":
            yield from _seeds(plain, end, stop)
        case "login" | "network":
            found = list(_pairs(plain, label, end, stop))
            named = label.word.endswith(("密码", "密碼", "password"))
            yield from found or (_single(plain, replace(label, kind="password"), end, stop) if named else ())
        case "cookie":
            found = list(_cookies(plain, end))
            yield from found or _single(plain, label, end, stop)
        case _:
            yield from _single(plain, label, end, stop)


def _single(plain: Plain, label: Label, end: int, stop: int) -> Iterator[Value]:
    """The one value of a label, behind it or before it. A placeholder in its place settles that there is none."""
    for tie, value in behind(plain, end, stop):
        if BLOT in value.text or (tie not in _CLOSE and stop < end):
            return
        if (label.glued and tie != "assigned") or (tie == "near" and label.kind not in _NEAR_KINDS):
            break
        if accepts(plain, label, tie, value):
            yield value
            yield from _further(plain, label, value)
            return
        if tie in {"assigned", "said"} and values.is_placeholder(value.text):
            return
    if label.kind in _BEFORE_KINDS and not label.glued and stop >= end:
        value = before(plain, label.start)
        if value and accepts(plain, label, "before", value):
            yield value
            yield from _further(plain, label, value)


def _further(plain: Plain, label: Label, value: Value) -> Iterator[Value]:
    """More values of the same label: "X or Y", "old one X, new one Y"."""
    former = replaced(plain, value.start)
    if former and accepts(plain, label, "beside", former):
        yield former
    more = beside(plain, value.end) if label.kind in _BEFORE_KINDS else None
    while more and accepts(plain, label, "beside", more) and values.is_mixed(more.text):
        yield more
        more = beside(plain, more.end)


def _codes(plain: Plain, end: int) -> Iterator[Value]:
    """A list of recovery codes: all of the shape of the first one, on this line and the following ones."""
    text = plain.text
    stop = text.find("\n\n", end, end + _CODES_REACH)
    shape = ""
    for match in _CODE.finditer(text, end, stop if stop > 0 else end + _CODES_REACH):
        code = match.group()
        if values.is_plain_fact(code) or values.is_ordinary(code) or values.is_placeholder(code):
            continue
        if (code.isdigit() and len(code) < _CODE_DIGITS) or is_amount(plain, match.end()):
            continue
        this = re.sub(r"[A-Za-z0-9]", "a", code)
        shape = shape or this
        if this == shape:
            yield Value(start=match.start(), end=match.end(), text=code)


def _phrases(plain: Plain, end: int) -> Iterator[Value]:
    """Words that restore a wallet, as many as BIP 39 knows, or a pass phrase, quoted or without small words."""
    tie = _PHRASE_TIE.match(plain.text, end)
    if not tie:
        return
    words = _LATIN_WORDS.match(plain.text, tie.end())
    if words:
        said = re.findall(r"[a-zà-ÿ]+", words.group())
        small = [values.is_ordinary(word) or word in _surroundings().other for word in said]
        tied = (
            tie.group().rstrip()[-1:] in _TYING
            and not small[0]
            and plain.text[words.end() : words.end() + 1] in _ENDING
        )
        whole_phrase = len(said) in _PASS_PHRASE_LENGTHS and (tied or not any(small))
        if len(said) in _PHRASE_LENGTHS or whole_phrase:
            yield Value(start=words.start(), end=words.end(), text=words.group())
        return
    han = _HAN_WORDS.search(plain.text, tie.end(), tie.end() + REACH)
    if han:
        yield Value(start=han.start(), end=han.end(), text=han.group())


def _seeds(plain: Plain, end: int, stop: int) -> Iterator[Value]:
    seed = _BASE32.search(plain.text, end, end + REACH)
    if not seed:
        yield from _single(plain, Label(kind="key", word="seed", start=end, end=end), end, stop)
    elif (_SEED_SIGN.search(seed.group()) or seed.group().isupper()) and not values.is_placeholder(seed.group()):
        yield Value(start=seed.start(), end=seed.end(), text=seed.group())


def _cookies(plain: Plain, end: int) -> Iterator[Value]:
    """The values of a header ``Cookie: name=value; …``, up to the end of its line or the next one."""
    text = plain.text
    stops = (text.find("\n", end), text.find("ookie", end), end + _COOKIE_REACH, len(text))
    for part in _COOKIE_PART.finditer(text, end, min(stop for stop in stops if stop >= 0)):
        value = part.group(2)
        made = values.machine_made(value, _COOKIE_SHORTEST) or values.is_hex(value, _COOKIE_SHORTEST)
        if made and not values.is_placeholder(value):
            yield Value(start=part.start(2), end=part.end(2), text=value)


def _pairs(plain: Plain, label: Label, end: int, stop: int) -> Iterator[Value]:
    """A name and a password beside each other: ``admin / Kiln-2291``."""
    behind_it = [end, *said_places(plain.text, end, stop)]
    for place in [label.start] if label.word in {"admin", "root"} else behind_it:
        pair = _PAIR.match(plain.text, place)
        value = trimmed(plain, pair.start(2), pair.end(2)) if pair else None
        if pair and value and _is_pair(plain, label, pair, value):
            yield value
            return


def _is_pair(plain: Plain, label: Label, pair: re.Match[str], value: Value) -> bool:
    """Whether the second of two words is a password: by a sign that words lack, or by how the two are written."""
    split = plain.text[pair.end(1) : value.start]
    named = label.kind == "login" and (split in {":", "/"} or "@" in pair.group(1))
    written = "/" in split and split != split.strip(" ")
    login = replace(label, kind="password")
    sure = named or written or bool(_PAIR_SIGN.search(value.text))
    return sure and len(value.text) >= _PAIR_SHORTEST and accepts(plain, login, "beside", value)


def _random_values(plain: Plain) -> Iterator[tuple[str, Span]]:
    """Values as irregular as only a machine makes them, in a text that speaks of keys."""
    for match in _RANDOM.finditer(plain.text):
        value = trimmed(plain, match.start(), match.end())
        if not value or "//" in value.text or not values.is_random(value.text):
            continue
        before_it = plain.text[max(0, value.start - _ADDRESS_REACH) : value.start]
        if "://" in before_it.rpartition(" ")[2] or values.is_placeholder(value.text) or names_public(plain, value):
            continue
        yield "random_value", (value.start, value.end)
