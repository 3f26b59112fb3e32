"""The short entry that stays in a hot file when its rule goes to the cold tier: ``[recall] reviewer · branch``.

It names topics and says nothing: who reads it knows what to recall and learns no rule, neither the right one nor its
opposite. Topic words are single words that do not stand side by side in the text and come in the reverse of its order,
so that no phrase survives. Before a pointer is given out, the same routing and judge that read every other text are
asked; one that could pass for a rule loses words until it cannot.
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, combinations, islice

from memorycore.domain import topics as words_of
from memorycore.domain.gates import vocabulary
from memorycore.domain.judge import judge
from memorycore.domain.lexicon import Language
from memorycore.domain.routing import route
from memorycore.domain.text import normalise_for_compare

__all__ = [
    "Taken",
    "asked_for",
    "fold",
    "is_fold",
    "is_marked",
    "is_pointer",
    "key_of",
    "pointer",
    "shortest",
    "topics",
]

MOST_TOPICS = 3
_TRIED = 6
_MOST_LOOKS = 8
"""Lines that routing and judge are asked about; beyond that a rule is named by a tag."""
_TAG_DIGITS = 4
_LONGEST_MARKED = 60
_SENTENCE = re.compile(r"[!?;:。！？；：\n]|\.(?:\s|$)")
_TELLING = frozenset({"same", "refines", "supersedes"})

_WORD = r"[^\s·・、,，#\[\]【】［］+]+"
_WORDS = rf"{_WORD}(?:\s*[·・、,，]\s*{_WORD})*"
_TAG = r"#[0-9a-f]{4,64}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    pointer: re.Pattern[str]
    fold: re.Pattern[str]
    anywhere: re.Pattern[str]
    marked: re.Pattern[str]


@cache
def _shape() -> _Shape:
    marks = "|".join(map(re.escape, vocabulary("pointer")["marks"].values()))
    mark = rf"[\[【［]\s*(?P<mark>{marks})\s*(?P<count>\+\s*\d+)?\s*[\]】］]"
    body = rf"(?P<words>{_WORDS})?\s*(?P<tag>{_TAG})?"
    single = rf"[\[【［]\s*(?P<mark>{marks})\s*[\]】］]"
    return _Shape(
        pointer=re.compile(rf"\s*{single}\s*{body}\s*", re.IGNORECASE),
        fold=re.compile(
            rf"\s*[\[【［]\s*(?P<mark>{marks})\s*\+\s*(?P<count>\d+)\s*[\]】］]\s*{body}\s*", re.IGNORECASE
        ),
        anywhere=re.compile(rf"{mark}\s*{body}", re.IGNORECASE),
        marked=re.compile(rf"\s*{single}", re.IGNORECASE),
    )


class Taken:
    """The other entries of a file, from which a pointer has to differ: read once, however many pointers are made."""

    def __init__(self, texts: Collection[str] = ()) -> None:
        self._unread = dict.fromkeys(texts)
        self._letters: dict[str, None] = {}
        self._keys: set[str] = set()

    def add(self, text: str) -> None:
        self._unread[text] = None

    def has(self, line: str) -> bool:
        """Whether one of them is this line, blanks and case apart."""
        self._read()
        return key_of(line) in self._keys

    def speaks_of(self, word: str, *, but: str) -> bool:
        """Whether a word stands in one of them. Both it and the one entry to leave out are given as their letters."""
        self._read()
        return any(word in one and one != but for one in self._letters)

    def _read(self) -> None:
        if self._unread:
            self._letters |= dict.fromkeys(map(_letters, self._unread))
            self._keys |= set(map(key_of, self._unread))
            self._unread = {}


def pointer(text: str, *, most: int = 40, taken: Collection[str] | Taken = ()) -> str:
    """The pointer of a rule, at most ``most`` code points.

    ``taken`` are the other entries of the file: the pointer differs from each of them, blanks and case apart, and words
    that none of them has come first, since of parallel rules only these tell which one is meant. With no
    topic word it is a mark, a word such as "note" and four digits of a hash of the text, which says nothing at all;
    that is the shortest there is, so ``most`` below 16 is not kept. Deterministic.
    """
    plain, language = words_of.read(asked_for(text))
    letters = words_of.letters_of(text)
    others = taken if isinstance(taken, Taken) else Taken(taken)
    ranked = sorted(
        words_of.topic_words(plain, language),
        key=lambda word: others.speaks_of(_letters(word.text), but=letters),
    )
    source = _Source(letters=letters, ranked=ranked, language=language, most=most)
    tags = _tags(text)
    tag = next(tags)
    lines = (line for line in chain(_named(source), _tagged(source, tag)) if not others.has(line))
    for line in islice(lines, _MOST_LOOKS):
        if _says_nothing(line, text):
            return line
    numbered = (_line(_head(language), (), language, one) for one in chain((tag,), tags))
    return next(line for line in chain(_labelled(source, tag), numbered) if not others.has(line))


@cache
def shortest() -> int:
    """Code points that no pointer is shorter than: a mark in brackets, a blank and a letter."""
    return min(map(len, vocabulary("pointer")["marks"].values())) + 4


def is_pointer(text: str) -> bool:
    """Whether a text has the shape of a pointer, in any language, however its blanks and its case were edited."""
    found = _match(_shape().pointer, text)
    return found is not None and bool(found["words"] or found["tag"])


def is_marked(text: str) -> bool:
    """Whether a text may be a pointer that lost its shape: it has the mark, is short, and neither says nor orders."""
    found = _shape().marked.match(unicodedata.normalize("NFC", text))
    if found is None or len(text) > _LONGEST_MARKED:
        return False
    rest = text[found.end() :].strip()
    return bool(rest) and not _SENTENCE.search(rest) and route(text).route != "hot" and route(rest).route != "hot"


def is_fold(text: str) -> bool:
    """Whether a text has the shape of a line that stands for several pointers."""
    return _match(_shape().fold, text) is not None


def topics(pointer_text: str) -> tuple[str, ...]:
    """The topic words of a pointer or of a fold line, none when it names no topic or is neither."""
    shape = _shape()
    found = _match(shape.pointer, pointer_text) or _match(shape.fold, pointer_text)
    if found is None or not found["words"]:
        return ()
    words = tuple(re.split(r"\s*[·・、,，]\s*", found["words"].strip()))
    only_label = found["tag"] and len(words) == 1 and words[0].casefold() in _labels()
    return () if only_label else words


def asked_for(query: str) -> str:
    """A question without the mark of a pointer that was copied into it: its topic words, parted by blanks.

    A question that holds no mark comes back as it is. The tag of a pointer without topics stays, so that something
    is left to ask.
    """
    if "[" not in query and "【" not in query and "［" not in query:
        return query
    return _shape().anywhere.sub(_bare, query)


def _bare(found: re.Match[str]) -> str:
    words = re.sub(r"\s*[·・、,，]\s*", " ", found["words"] or "")
    named = words if words and words.casefold() not in _labels() else f"{words} {found['tag'] or ''}".strip()
    trailing = found.group()[len(found.group().rstrip()) :]
    return named + trailing


def key_of(text: str) -> str:
    """Equal for two forms of one pointer: what file, store and a question compare by."""
    return re.sub(r"\s*([\[\]·・.,#+])\s*", r"\1", normalise_for_compare(text))


def fold(pointers: Sequence[str], *, most: int = 40) -> str:
    """One line that stands for several pointers, at most ``most`` code points: ``[recall +3] invoices · tea · grid``.

    It counts them and names a topic of each as far as there is room, the first given first. A fold line among them
    brings what it stands for. Empty when there are none, or no room for the mark.
    """
    if not pointers:
        return ""
    shape = _shape()
    found = [(text, _match(shape.pointer, text) or _match(shape.fold, text)) for text in pointers]
    count = sum(int(match["count"]) if match and "count" in match.re.groupindex else 1 for _, match in found)
    marks = Counter(match["mark"].casefold() for _, match in found if match)
    language = _language_of_mark(marks.most_common(1)[0][0]) if marks else "en"
    head = f"[{vocabulary('pointer')['marks'][language]} +{count}]"
    named = [topics(text) for text, _ in found]
    turn = (words[place] for place in range(MOST_TOPICS) for words in named if place < len(words))
    chosen: list[str] = []
    for word in dict.fromkeys(turn):
        line = _line(head, (*chosen, word), language)
        if len(line) <= most and route(line).route != "hot":
            chosen.append(word)
    line = _line(head, tuple(chosen), language)
    return line if len(line) <= most else ""


def _match(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return pattern.fullmatch(unicodedata.normalize("NFC", text))


@cache
def _labels() -> frozenset[str]:
    return frozenset(label.casefold() for label in vocabulary("pointer")["labels"].values())


def _language_of_mark(mark: str) -> Language:
    marks: dict[Language, str] = vocabulary("pointer")["marks"]
    return next(language for language, own in marks.items() if own.casefold() == mark)


def _head(language: Language) -> str:
    return f"[{vocabulary('pointer')['marks'][language]}]"


def _line(head: str, words: Sequence[str], language: Language, tag: str = "") -> str:
    named = vocabulary("pointer")["separators"][language].join(words)
    return " ".join(part for part in (head, named, tag) if part)


@lru_cache(maxsize=2048)
def _letters(text: str) -> str:
    return words_of.letters_of(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """What a pointer is made from: the letters of the text, its topic words, its language, and the room there is."""

    letters: str
    ranked: Sequence[words_of.Word]
    language: Language
    most: int


def _named(source: _Source) -> Iterator[str]:
    """Pointers of topic words alone: first the best, then others, for where that one is taken or says too much."""
    best = _chosen(source, source.most)
    if not best:
        return
    yield _line(_head(source.language), best, source.language)
    for size in range(MOST_TOPICS, 0, -1):
        for several in combinations(source.ranked[:_TRIED], size):
            if all(not _adjacent(one, other, source.letters) for one, other in combinations(several, 2)):
                line = _line(_head(source.language), _in_reverse(several), source.language)
                if len(line) <= source.most and _in_reverse(several) != best:
                    yield line


def _tagged(source: _Source, tag: str) -> Iterator[str]:
    best = _chosen(source, source.most - len(tag) - 1)
    if best:
        yield _line(_head(source.language), best, source.language, tag)


def _labelled(source: _Source, tag: str) -> Iterator[str]:
    label = vocabulary("pointer")["labels"][source.language]
    line = _line(_head(source.language), [label], source.language, tag)
    if len(line) <= source.most:
        yield line


def _tags(text: str) -> Iterator[str]:
    """Tags of a text without end: another one for each that is taken."""
    turn = 0
    while True:
        digest = hashlib.sha256(f"{text.strip()}\0{turn}".encode("utf-8", "replace")).hexdigest()
        yield f"#{digest[:_TAG_DIGITS]}"
        turn += 1


def _chosen(source: _Source, most: int) -> list[str]:
    """The best words that fit together and into ``most`` code points."""
    chosen: list[words_of.Word] = []
    for word in source.ranked:
        if any(_adjacent(word, other, source.letters) for other in chosen):
            continue
        if len(_line(_head(source.language), _in_reverse((*chosen, word)), source.language)) <= most:
            chosen.append(word)
        if len(chosen) == MOST_TOPICS:
            break
    return _in_reverse(chosen)


def _in_reverse(chosen: Sequence[words_of.Word]) -> list[str]:
    return [word.text for word in sorted(chosen, key=lambda word: -word.start)]


def _adjacent(one: words_of.Word, other: words_of.Word, letters: str) -> bool:
    """Whether two words stand side by side anywhere in the text, or one is a form of the other."""
    first, second = words_of.letters_of(one.text), words_of.letters_of(other.text)
    return first in second or second in first or first + second in letters or second + first in letters


def _says_nothing(line: str, text: str) -> bool:
    """Whether nobody can take the line for a rule, nor the judge for the text or for news about it."""
    return route(line).route != "hot" and judge(text, line).relation not in _TELLING
