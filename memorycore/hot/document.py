"""The bytes of a hot file ↔ its entries.

Written form, the only one that Hermes takes edits on: entries joined by ``DELIMITER``, each stripped, no empty entry,
no byte-order mark, no CR, no newline at the end, and no line inside an entry that is only the section sign.
Reading is tolerant. Whatever ``parse`` returns, ``render`` takes, and reads back as the same entries.
"""

import re
import tomllib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from memorycore.errors import InvalidInput, Undecodable

SECTION_SIGN = "§"
DELIMITER = f"\n{SECTION_SIGN}\n"
MAX_ENTRY_SHARE = 0.25

_BYTE_ORDER_MARK = "\ufeff"
# What belongs to no entry at its ends: the mark, and all that ``str.strip`` removes (U+3000 is the last of those).
_OUTER = _BYTE_ORDER_MARK + "".join(char for char in map(chr, range(0x3001)) if char.isspace())
_MARKDOWN_LINE = re.compile(r"^(?:#{1,6}|[-*+]|\d+[.)])[ \t]+\S", re.MULTILINE)
_MARKDOWN_LINES_OF_A_NOTE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A hot file as read.

    ``entries``: stripped, line ends LF, none empty, of exact duplicates the first. ``clean``: Hermes' rule holds for
    the bytes as they are (duplicates allowed), so it would take an edit. ``flags``: what a person may want to know,
    of ``bom``, ``crlf``, ``delimiter_blanks``, ``empty_entry``, ``duplicates``, ``headings_without_delimiter``.
    """

    entries: tuple[str, ...]
    clean: bool
    flags: tuple[str, ...] = ()


@lru_cache(maxsize=4)  # as ``parse_sidecar``
def parse(data: bytes, *, path: str) -> Document:
    """Read entries as a person would: blanks, line ends, marks and stray delimiters are nobody's text.

    A line that holds the section sign and blanks only separates; every other sign is text. All but outer blanks and
    the kind of line end is kept, NUL included.

    Raises:
        Undecodable: A byte that is not UTF-8, with its offset. It is never read as "no entries".
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Undecodable(path=path, offset=error.start) from error
    pieces = _split(text.replace("\r\n", "\n").replace("\r", "\n"))
    stripped = [_strip(piece) for piece in pieces]
    kept = [entry for entry in stripped if entry]
    entries = tuple(dict.fromkeys(kept))
    flags = {
        "bom": text.startswith(_BYTE_ORDER_MARK),
        "crlf": "\r" in text,
        "delimiter_blanks": _has_blanks_round_delimiter(pieces, stripped),
        "empty_entry": len(pieces) > 1 and len(kept) < len(pieces),
        "duplicates": len(entries) < len(kept),
        "headings_without_delimiter": len(pieces) == 1
        and len(_MARKDOWN_LINE.findall(pieces[0])) >= _MARKDOWN_LINES_OF_A_NOTE,
    }
    return Document(
        entries=entries,
        clean=text.strip() == DELIMITER.join(kept),
        flags=tuple(name for name, is_set in flags.items() if is_set),
    )


def render(entries: Sequence[str]) -> bytes:
    """Write entries in the canonical form.

    Raises:
        InvalidInput: An entry would not read back as itself, with its ``index`` and ``why``: a reason code of
            ``why_not_hot``, ``outer_blanks``, ``duplicate`` or ``lone_surrogate``.
    """
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        why = _why_not_readable(entry) or ("duplicate" if entry in seen else None)
        if why:
            raise InvalidInput(field="entries", why=why, index=index)
        seen.add(entry)
    return DELIMITER.join(entries).encode("utf-8")


def size(entries: Sequence[str]) -> int:
    """Code points of the joined text, delimiters included: what a limit is compared with."""
    return len(DELIMITER.join(entries))


def host_takes_edits(document: Document, *, limit: int) -> bool:
    """Whether Hermes with this limit would replace or remove an entry: its rule holds, and no entry is too long."""
    return document.clean and all(len(entry) <= limit for entry in document.entries)


def why_not_hot(text: str, *, limit: int) -> str | None:
    """The reason that keeps a text out of a hot file with ``limit`` code points, or None.

    One of ``empty``, ``byte_order_mark``, ``carriage_return``, ``delimiter_line``, ``lone_surrogate``, ``over_quarter``
    (longer than 25 % of the limit), ``invisible_character``, or ``scanner_<rule>`` for a rule of
    ``prompt_scanner.toml``. Outer blanks do not count, since an entry is stored without them.
    """
    entry = text.strip()
    if _BYTE_ORDER_MARK in entry:
        return "byte_order_mark"
    unreadable = _why_not_readable(entry)
    if unreadable:
        return unreadable
    if len(entry) > limit * MAX_ENTRY_SHARE:
        return "over_quarter"
    scanner = _scanner()
    if not scanner.invisible.isdisjoint(entry):
        return "invisible_character"
    folded = unicodedata.normalize("NFKC", entry)
    return next((f"scanner_{name}" for name, pattern in scanner.rules if pattern.search(folded)), None)


def scanner_rules() -> tuple[str, ...]:
    """Names of all scanner rules, for documentation and messages."""
    return tuple(name for name, _ in _scanner().rules)


def _split(text: str) -> list[str]:
    """Cut at delimiter lines. A blank is all that ``_strip`` removes, else stripping could bare a delimiter."""
    pieces: list[list[str]] = [[]]
    for line in text.split("\n"):
        if _strip(line) == SECTION_SIGN:
            pieces.append([])
        else:
            pieces[-1].append(line)
    return ["\n".join(lines) for lines in pieces]


def _strip(text: str) -> str:
    return text.strip(_OUTER)


def _has_blanks_round_delimiter(pieces: Sequence[str], stripped: Sequence[str]) -> bool:
    """Whether a strict split would leave blanks in an entry; the outer ends of the file do not count."""
    last = len(pieces) - 1
    return any(
        entry
        and ((index > 0 and not piece.startswith(entry)) or (index < last and not piece.endswith(entry)))
        for index, (piece, entry) in enumerate(zip(pieces, stripped, strict=True))
    )  # fmt: skip


def _why_not_readable(entry: str) -> str | None:
    """Why an entry in a file would come back as something else, or None."""
    stripped = _strip(entry)
    if not stripped:
        return "empty"
    if "\r" in entry:
        return "carriage_return"
    if stripped != entry:
        return "outer_blanks"
    if any(_strip(line) == SECTION_SIGN for line in entry.split("\n")):
        return "delimiter_line"
    try:
        entry.encode("utf-8")
    except UnicodeEncodeError:
        return "lone_surrogate"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scanner:
    invisible: frozenset[str]
    rules: tuple[tuple[str, re.Pattern[str]], ...]


@cache
def _scanner() -> _Scanner:
    table = tomllib.loads(
        (files("memorycore.domain") / "vocabulary" / "prompt_scanner.toml").read_text(encoding="utf-8")
    )
    return _Scanner(
        invisible=frozenset(table["invisible"]),
        rules=tuple((rule["name"], re.compile(_expression(rule), re.IGNORECASE)) for rule in table["rule"]),
    )


def _expression(rule: dict[str, Any]) -> str:
    """One rule of the table as a regular expression; the shapes are explained in the table."""
    if "pattern" in rule:
        return rule["pattern"]
    if "contains" in rule:
        return "|".join(re.escape(piece) for piece in rule["contains"])
    # The number of words between is bounded: an open one would backtrack for minutes on a hostile text.
    between = rf"\s+(?:\w+\s+){{0,{rule.get('gaps', 0)}}}"
    steps = between.join("(?:" + "|".join(_phrase(words) for words in step) + ")" for step in rule["steps"])
    before = r"\b" if rule.get("whole") else ""
    after = r"\b" if rule.get("whole") or rule.get("end") else ""
    return before + steps + after


def _phrase(words: str) -> str:
    """A phrase with any blanks between its words; a blank at its end is asked for as well."""
    return r"\s+".join(re.escape(word) for word in words.split()) + (r"\s" if words.endswith(" ") else "")
