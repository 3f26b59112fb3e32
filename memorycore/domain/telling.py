"""The words of a text that tell what it is about: without small words, fillers and pairs of grammar."""

import tomllib
from functools import cache
from importlib.resources import files

from memorycore.domain.text import fold, query_tokens

_PLACE = files("memorycore.domain") / "vocabulary"


@cache
def small_words() -> frozenset[str]:
    """Words that say nothing about what a question is after, folded, of every language together."""
    return _listed("stopwords")


def telling_words(text: str) -> tuple[str, ...]:
    """Folded words and pairs of CJK characters that may show what a text is about, in order, without repeats."""
    return tuple(word for word in query_tokens(text) if _tells(word))


def _tells(word: str) -> bool:
    if len(word) < 2 or word in small_words() or word in _fillers():  # noqa: PLR2004 one letter, or one character
        return False
    return len(word) > 2 or _particles().isdisjoint(word)  # noqa: PLR2004 a pair of characters


@cache
def _fillers() -> frozenset[str]:
    return _listed("fillers")


@cache
def _particles() -> frozenset[str]:
    listed: str = _table("fillers")["particles"]  # type: ignore[assignment] a text, as the file says
    return frozenset(listed.split())


def _listed(name: str) -> frozenset[str]:
    by_language: dict[str, str] = _table(name)["words"]  # type: ignore[assignment] a table, as the file says
    return frozenset(fold(word) for words in by_language.values() for word in words.split())


def _table(name: str) -> dict[str, object]:
    return tomllib.loads((_PLACE / f"{name}.toml").read_text(encoding="utf-8"))
