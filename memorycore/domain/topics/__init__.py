"""The words that say what a text is about, without what it says: nouns, names and identifiers.

Taken are words that stand where a noun stands or are known as one. What orders, forbids, counts or limits is left out,
and so is every verb that can be told. A language that we cannot read gives identifiers only. In doubt a word is left
out: a topic too few costs a little, a verb too many makes an order.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from memorycore.domain.cues import language_of
from memorycore.domain.gates import MARKER, personal, secrets
from memorycore.domain.lexicon import Language
from memorycore.domain.text import fold
from memorycore.domain.topics import cjk, latin
from memorycore.domain.topics.units import Unit, Word, units

__all__ = ["Word", "letters_of", "read", "topic_words"]

LONGEST_WORD = 24
_READ_CHARS = 600
"""A rule that fits a prompt is shorter, and the opening of a longer text says what it is about."""
_APART = re.compile(
    r"https?://\S+|www\.\S+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|```.*?(?:```|\Z)"
    r"|[A-Za-z0-9_.@%+~:-]*[/\\][A-Za-z0-9_.@%+~-]+(?:[/\\][A-Za-z0-9_.@%+~-]*)*"  # a path, whole
    r"|(?<![A-Za-z0-9_.-])[$€£¥]?\d[\d.,:]*(?![A-Za-z0-9_-])",
    re.DOTALL,
)
_LETTERS = re.compile(r"[\W_]+")


def read(text: str) -> tuple[str, Language]:
    """The part of a text that topics are looked for in, and its language.

    Masks, secrets, addresses, numbers and blocks of code are blanked out. Composed, so that a letter and its accent
    are one.
    """
    composed = unicodedata.normalize("NFC", text)
    shown = composed[:_READ_CHARS]
    if len(composed) > _READ_CHARS:
        shown = shown[: max(shown.rfind(sign) for sign in " \n,.，。、")]  # no word is cut
    plain = MARKER.sub(_blank, shown)
    for finding in (*secrets.find(plain), *personal.find(plain)):
        plain = plain[: finding.start] + " " * (finding.end - finding.start) + plain[finding.end :]
    words = set(re.findall(r"[^\W\d_]+", fold(shown)))
    return _APART.sub(_blank, plain), language_of(fold(shown), words)


def _blank(match: re.Match[str]) -> str:
    return "\x00" * len(match.group())


def topic_words(text: str, language: Language) -> list[Word]:
    """Topic words of what ``read`` gives, the most telling first, each once."""
    found = units(text, language)
    by_text: dict[str, Word] = {}
    for word in sorted(_candidates(text, found, language), key=lambda word: (word.rank, word.start)):
        if len(word.text) <= LONGEST_WORD and _is_whole(text, word):
            by_text.setdefault(fold(word.text), word)
    return list(by_text.values())


def _candidates(text: str, found: Sequence[Unit], language: Language) -> Iterator[Word]:
    if language in {"zh", "ja", "ko"}:
        yield from cjk.words(text, found, language)
    else:
        yield from latin.words(found, language)


def _is_whole(text: str, word: Word) -> bool:
    """Whether neither end is within what a reader sees as one character or one word."""
    after = text[word.end : word.end + 1]
    before = text[word.start - 1 : word.start] if word.start else ""
    joined = after in {"\u200d", "\u200c"} or before in {"\u200d", "\u200c", "\u00ad", "@", "#", "$"}
    marked = any(sign and unicodedata.category(sign).startswith("M") for sign in (before, after))
    return not joined and not marked


def letters_of(text: str) -> str:
    """The letters and digits of a text and nothing between, folded: what stands side by side there is adjacent."""
    return _LETTERS.sub("", fold(unicodedata.normalize("NFC", text)))
