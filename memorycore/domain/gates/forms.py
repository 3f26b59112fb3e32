"""Read a text as a model would, whatever it is dressed up as: the plain forms that an order may hide in.

Undone are: width and case, accents, invisible signs, letters that look like Latin ones, letters set apart
("I g n o r e"), digits for letters ("1gn0re"), base64, hexadecimal and percent coding, HTML entities, tag characters.
Keys are told apart by case and width, so their gate reads another, gentler form: see ``disguise.py``.
"""

import base64
import binascii
import html
import re
import tomllib
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from urllib.parse import unquote

from memorycore.domain.text import fold

Span = tuple[int, int]

_DEPTH = 2
_PRINTABLE_SHARE = 0.95
_FEWEST_WORDS = 3
_TAGS = range(0xE0020, 0xE007F)
_TAG_OFFSET = 0xE0000

_CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
# One sign between letters that stand alone, the same all the way.
_SET_APART = re.compile(
    r"(?<![^\W_])[^\W\d_](?:([\-_.*|/])[^\W\d_](?:\1[^\W\d_])+|( )[^\W\d_](?: [^\W\d_]){2,})(?![^\W_])"
)
_SHORT_APART = re.compile(r"(?<=  )[^\W\d_](?: [^\W\d_])+(?=  |$)")
_BETWEEN_CJK = re.compile(f"(?<=[{_CJK}])[ \\t*_|~/·-]+(?=[{_CJK}])|(?<=[{_CJK}]) +(?=[a-z])|(?<=[a-z]) +(?=[{_CJK}])")
_LOOKS_LEET = re.compile(r"[^\W\d_][0134578@$]|[0134578@$][^\W\d_]")
_WORD = re.compile(r"[\w@$]+")
_LETTER = re.compile(r"[^\W\d_]")
_LEET_TABLES = (str.maketrans("0134578@$", "oieastbas"), str.maketrans("0134578@$", "oleastbas"))
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20,}={0,2}")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:[0-9A-Fa-f]{2}[ :]?){16,}|(?:\\x[0-9A-Fa-f]{2}){8,}")
_ESCAPED = re.compile(r"(?:\\u[0-9A-Fa-f]{4}){4,}")
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2}[^\s%]*){3,}")
_ENTITY = re.compile(r"&#\w{2,7};")
_NO_HEX = re.compile(r"[^0-9A-Fa-f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One plain form of a text.

    ``places`` says for each code point where it came from; None when nothing moved. ``span`` is set instead when the
    whole form was hidden in one stretch of the text.
    """

    text: str
    places: list[int] | None = None
    span: Span | None = None

    def given_span(self, start: int, end: int) -> Span:
        """Where a stretch of the form stands in the text it was made of."""
        if self.span is not None:
            return self.span
        if self.places is None or not self.places:
            return start, end
        last = len(self.places) - 1
        return self.places[min(start, last)], self.places[min(max(end - 1, start), last)] + 1


def plain_forms(text: str) -> Iterator[Form]:
    """The folded text first, then the forms in which something else comes to light. Linear in the text's length."""
    base = _base(text)
    yield base
    if _LOOKS_LEET.search(base.text):
        yield from _without_digits(base)
    for span, payload in _payloads(text, _DEPTH):
        yield Form(text=_base(payload).text, span=span)


@cache
def _looks() -> dict[str, dict[str, str]]:
    """Letters that look like Latin ones, signs with another shape, signs without any."""
    source = files("memorycore.domain") / "vocabulary" / "lookalikes.toml"
    table = tomllib.loads(source.read_text(encoding="utf-8"))
    return {
        "foreign": {char: to for to, chars in table["lookalikes"].items() for char in chars},
        "shapes": {char: to for to, chars in table["shapes"].items() for char in chars},
        "invisible": dict.fromkeys(table["invisible"]["chars"], ""),
    }


@lru_cache(maxsize=1 << 15)
def _plain(char: str) -> str:
    """One character folded; accents of Latin letters dropped, invisible signs gone."""
    looks = _looks()
    if char in looks["invisible"] or unicodedata.category(char) in {"Cf", "Mn", "Me"}:
        return ""
    folded = looks["shapes"].get(char) or fold(char)
    if folded.isascii():
        return folded
    bare = "".join(part for part in unicodedata.normalize("NFD", folded) if unicodedata.category(part) != "Mn")
    return bare if bare.isascii() else folded


def folded(text: str) -> str:
    """A text with its characters in plain form and nothing else undone: so vocabularies are written to meet it."""
    return text.lower() if text.isascii() else "".join(map(_plain, text))


def _base(text: str) -> Form:
    if text.isascii():
        return _together(text.lower(), None)
    chars: list[str] = []
    places: list[int] = []
    for place, char in enumerate(unicodedata.normalize("NFC", text)):
        letters = _plain(char)
        chars.append(letters)
        places.extend([place] * len(letters))
    return _together(_latin_again("".join(chars)), places)


def _latin_again(text: str) -> str:
    """Cyrillic and Greek letters among more Latin ones are taken for what they look like. The length stays."""
    foreign = _looks()["foreign"]
    strangers = sum(char in foreign for char in text)
    if not strangers or strangers > sum("a" <= char <= "z" for char in text):
        return text
    return "".join(foreign.get(char, char) for char in text)


def _together(text: str, places: list[int] | None) -> Form:
    """Without the signs that set letters apart."""
    gone: set[int] = set()
    for match in _SET_APART.finditer(text):
        gone.update(place for place in range(*match.span()) if text[place] == match.group(match.lastindex or 0))
    if gone and "  " in text:  # the other words are then set apart too, short as they are
        for match in _SHORT_APART.finditer(text):
            gone.update(place for place in range(*match.span()) if text[place] == " ")
    if places is not None:
        for match in _BETWEEN_CJK.finditer(text):
            gone.update(range(*match.span()))
    if not gone:
        return Form(text=text, places=places)
    kept = [place for place in range(len(text)) if place not in gone]
    origins = kept if places is None else [places[place] for place in kept]
    return Form(text="".join(text[place] for place in kept), places=origins)


def _without_digits(base: Form) -> Iterator[Form]:
    seen: set[str] = {base.text}
    for table in _LEET_TABLES:
        text = _WORD.sub(lambda match, table=table: _in_letters(match.group(), table), base.text)
        if text not in seen:
            seen.add(text)
            yield Form(text=text, places=base.places)


def _in_letters(word: str, table: dict[int, int]) -> str:
    return word.translate(table) if _LETTER.search(word) else word


def _payloads(text: str, depth: int) -> Iterator[tuple[Span, str]]:
    """What coded stretches say, with their place. Coding within coding is undone ``depth`` times."""
    for span, payload in _decoded(text):
        yield span, payload
        if depth > 1:
            for _, inner in _payloads(payload, depth - 1):
                yield span, inner


def _decoded(text: str) -> Iterator[tuple[Span, str]]:
    for match in _BASE64.finditer(text):
        yield from _if_prose(match.span(), _from_base64(match.group()))
    for match in _HEX.finditer(text):
        yield from _if_prose(match.span(), bytes.fromhex(_NO_HEX.sub("", match.group().replace("\\x", ""))))
    for match in _ESCAPED.finditer(text):
        yield from _if_prose(match.span(), bytes.fromhex(match.group().replace("\\u", "")), "utf-16-be")
    if "%" in text:
        for match in _PERCENT.finditer(text):
            yield match.span(), unquote(match.group())
    if _ENTITY.search(text):
        yield (0, len(text)), html.unescape(text)
    if not text.isascii():
        hidden = "".join(chr(ord(char) - _TAG_OFFSET) for char in text if ord(char) in _TAGS)
        if hidden:
            yield (0, len(text)), hidden


def _from_base64(run: str) -> bytes:
    bare = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except binascii.Error:  # a length that no coding gives
        return b""


def _if_prose(span: Span, raw: bytes, encoding: str = "utf-8") -> Iterator[tuple[Span, str]]:
    """Bytes that are a text of several words, not a key or a hash."""
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        return
    shown = sum(char.isprintable() or char.isspace() for char in text)
    prose = len(text.split()) >= _FEWEST_WORDS or not text.isascii() or _BASE64.fullmatch(text.strip())
    if text and prose and shown >= _PRINTABLE_SHARE * len(text):
        yield span, text
