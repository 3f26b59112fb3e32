"""What memory told a host, quoted in a text that somebody wants remembered: it is known, and so it is left out.

An agent that stores what it was shown would else put its day, its id and the host's fence into the wording, once more
with every round.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import apsw

from memorycore.domain.memory import Memory
from memorycore.domain.text import norm_hash
from memorycore.store import memories

MOST_LOOKED_UP = 20  # lines; more than a host is told in one turn
_END = re.compile(r"\[([0-9a-f]{8})\]\Z", re.IGNORECASE)
_END_CHARS = 10
_BULLET = re.compile(r"\A\s*[-*•] ")
_DAY = re.compile(r"\A\s*\d{4}-\d\d-\d\d: ")
_EMPTY_FENCE = re.compile(
    r"<\s*memory-context\s*>\s*(?:\[System note:[^\]<]{0,300}\]\s*)?<\s*/\s*memory-context\s*>", re.IGNORECASE
)
_FENCE = re.compile(r"<\s*(/?)\s*memory-context\s*>", re.IGNORECASE)
_EMPHASIS = " \t*_"  # "**Forget these:**"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unquoted:
    """A text without the lines that only repeat memories, and their ids. ``rest``: empty where it says no more."""

    rest: str
    quoted: tuple[str, ...] = ()


def may_quote(text: str) -> bool:
    """Whether a line of it has the shape of a note."""
    return any(map(_is_note, text.splitlines()))


def _is_note(line: str) -> bool:
    begins = _BULLET.match(line) or _DAY.match(line)
    return begins is not None and _END.search(line.rstrip()[-_END_CHARS:]) is not None


def unquote(c: apsw.Connection, text: str, namespaces: Sequence[str]) -> Unquoted:
    """Take the notes out of a text: lines with the end of an id, and the words that its memory has or had.

    A line that names a memory and says something else stays as it is, with whatever stands around it. So does a text
    that speaks of notes: "Forget these two:" says nothing without them.
    """
    if _speaks_of_notes(text):
        return Unquoted(rest=text)
    quoted: dict[str, None] = {}
    kept: list[str] = []
    looked_up = 0
    for line in text.splitlines():
        memory = None
        if _is_note(line) and looked_up < MOST_LOOKED_UP:
            looked_up += 1
            memory = _repeated(c, _in_one_line(line), namespaces)
        if memory is None:
            kept.append(line)
        else:
            quoted[memory.id] = None
    if not quoted:
        return Unquoted(rest=text)
    rest = _EMPTY_FENCE.sub("", "\n".join(kept)).strip()
    says_more = any(map(str.isalnum, rest))
    return Unquoted(rest=rest if says_more else "", quoted=tuple(quoted))


def _speaks_of_notes(text: str) -> bool:
    """Whether a note follows upon a colon. What the fence of a host holds was put there by the host."""
    before = ""
    fenced = False
    for line in text.splitlines():
        if not fenced and before.endswith((":", "：")) and _is_note(line):
            return True
        for fence in _FENCE.finditer(line):
            fenced = not fence[1]
        before = line.rstrip(_EMPHASIS) or before
    return False


def _repeated(c: apsw.Connection, note: str, namespaces: Sequence[str]) -> Memory | None:
    """The memory that a note repeats, whatever its state."""
    words = _BULLET.sub("", note[:-_END_CHARS])
    said = {norm_hash(words.strip()), norm_hash(_DAY.sub("", words).strip())}
    for memory_id in memories.ids_ending(c, note[-_END_CHARS + 1 : -1].lower(), namespaces):
        memory = memories.by_id(c, memory_id, namespaces)
        if memory is not None:
            earlier = (str(revision["content"]) for revision in memories.revisions(c, memory))
            if not said.isdisjoint(norm_hash(_in_one_line(one)) for one in (memory.content, *earlier)):
                return memory
    return None


def _in_one_line(text: str) -> str:
    return " ".join(text.split())
