"""A text without its disguises: invisible characters gone, wide and decorated letters plain, wrapped lines joined.

Keys get copied out of chats, tables and terminals, and an attacker writes them on purpose so that a pattern does not
match. The gates read the plain form; what they find is told in places of the text as it was given.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache

from memorycore.domain.gates import MARKER, is_name

Span = tuple[int, int]
BLOT = "\ufffc"

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]"
)
_COMBINING = re.compile("[\u0300-\u036f\u200d\ufe00-\ufe0f\u20e3]+")
# A line that was wrapped inside a word: a backslash of the shell, a mark of quotation or an indent may stand there, and
# what follows is no plain word.
_WRAP = re.compile(r"(?<=[\w+/=.~-])[ \t]*\\?\r?\n[ \t>|]*(?=[\w+/=.~-]{0,80}(?:\d|[a-z][A-Z]))")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """``text`` is what the gates read; ``places[i]`` is where its character i stands in the given text."""

    text: str
    given: str
    places: list[int] | None = None

    @property
    def is_narrow(self) -> bool:
        """Whether the text was taken as it is, so that nothing in it was wide."""
        return self.text is self.given

    def is_wide(self, place: int) -> bool:
        """Whether a character was full width as it was given."""
        return "\uff01" <= self.given[self.places[place] if self.places is not None else place] <= "\uff5e"

    def given_span(self, start: int, end: int) -> Span:
        """Places in the given text, grown to whole characters as a reader sees them."""
        if self.places is not None:
            start, end = self.places[start], self.places[end - 1] + 1
        marks = _COMBINING.match(self.given, end)
        return start, marks.end() if marks else end


@cache
def _letters() -> dict[int, str]:
    """One plain character for each that merely looks different: wide and mathematical letters, blanks, hyphens."""
    table = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    for code in range(0x1D400, 0x1D800):
        plain = unicodedata.normalize("NFKC", chr(code))
        if len(plain) == 1 and plain.isascii():
            table[code] = plain
    table |= dict.fromkeys([0x00A0, 0x2007, 0x2009, 0x202F, 0x3000], " ")
    return table | dict.fromkeys([0x2010, 0x2011, 0x2012, 0x2013, 0x2212], "-")


def undisguise(text: str) -> Plain:
    """The plain form of a text; the same text, without a copy, when there is nothing to undo.

    What was masked before is blotted out, so that the words of a marker announce nothing.
    """
    plain = text
    if "[" in text:
        plain = MARKER.sub(
            lambda marker: BLOT * len(marker.group()) if is_name(marker.group(1)) else marker.group(), plain
        )
    if plain.isascii():
        return Plain(text=plain, given=text)
    plain = plain.translate(_letters())
    if not _INVISIBLE.search(plain):
        return Plain(text=plain, given=text)
    places = [place for place, char in enumerate(plain) if not _INVISIBLE.match(char)]
    return Plain(text="".join(plain[place] for place in places), given=text, places=places)


def unwrap(plain: Plain) -> Plain | None:
    """The text with words joined that a line break cuts; None when there is no such break."""
    kept: list[int] = []
    end = 0
    for wrap in _WRAP.finditer(plain.text):
        kept.extend(range(end, wrap.start()))
        end = wrap.end()
    if not end:
        return None
    kept.extend(range(end, len(plain.text)))
    places = kept if plain.places is None else [plain.places[place] for place in kept]
    return Plain(text="".join(plain.text[place] for place in kept), given=plain.given, places=places)


def line_spans(plain: Plain, start: int, end: int) -> list[Span]:
    """A span of the plain text as one span for each line of the given text."""
    if plain.places is None:
        return [plain.given_span(start, end)]
    spans: list[Span] = []
    first = start
    for place in range(start + 1, end + 1):
        if place == end or "\n" in plain.given[plain.places[place - 1] : plain.places[place]]:
            spans.append(plain.given_span(first, place))
            first = place
    return spans
