"""Whether two texts are statements that can be held against each other at all.

The judge compares two statements slot by slot. A turn of a dialogue, a greeting, a question and a note of several
sentences about several things are none: whatever differs in them differs for many reasons, and none ends the other.
"""

import re
from functools import cache, lru_cache

from rapidfuzz import fuzz

from memorycore.domain.assertion.words import table
from memorycore.domain.text import fold

ALIKE = 70.0
"""Of 100: texts of several sentences that have this much in common are one note, with something changed."""
_SENTENCE_END = re.compile(r"(?<=[。！？!?])\s*(?=\S)|(?<=\.)\s+(?=[^\W\d_a-z])|\n+")
_SHORTEST = 3
_QUESTION = re.compile(r"[?？؟]\W*$|[吗呢]\W*$")
_SHORT_QUESTION = 15
_TURN = re.compile(r"\s*(\[[^\]\n]{1,60}\]\s*)?([^\W\d_][^:：\n\[\]<>{}/\\\"。，,;；!?！？]{0,39}?)\s*[:：]\s*(?=\S)")
_MOST_NAME_WORDS = 3
_SPEECH = re.compile(
    r"\b(?:i|i'm|i've|i'll|i'd|me|my|you|you're|you've|your|we|we're|let's|thanks)\b|[!！]|我|你|您|咱", re.IGNORECASE
)
_APOSTROPHES = str.maketrans("’‘", "''")


def comparable(old: str, new: str) -> bool:
    """Whether one of two texts may say again, add to, replace or contradict the other."""
    if not (_states(old) and _states(new)):
        return False
    if _sentences(old) == _sentences(new) == 1:
        return True
    return fuzz.ratio(fold(old), fold(new)) >= ALIKE


@lru_cache(maxsize=4096)
def _states(text: str) -> bool:
    return not (_is_turn(text) or _is_question(text) or _is_talk(text))


@lru_cache(maxsize=4096)
def _sentences(text: str) -> int:
    return sum(len(sentence.strip()) >= _SHORTEST for sentence in _SENTENCE_END.split(text.strip())) or 1


def _is_question(text: str) -> bool:
    if _QUESTION.search(text):
        return True
    if _patterns()["question"].match(text) and not re.search("[:：]", text):
        return True
    asking = table("speech")["question"]
    short = len(text) <= _SHORT_QUESTION and any(word in text for word in asking["other"])
    return short and not any(word in text for word in asking["unless"])


def _is_talk(text: str) -> bool:
    """A line that thanks, greets, cheers: it is said to somebody and states nothing that lasts."""
    plain = text.strip().translate(_APOSTROPHES)
    return bool(_patterns()["phrase"].match(plain) or _patterns()["opening"].match(plain))


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    speech = table("speech")
    found = {
        kind: "|".join(
            [rf"(?:{_any_of(speech[kind]['latin'])})(?!\w)"]
            + ([f"(?:{_any_of(speech[kind]['other'])})"] if kind != "question" else [])
        )
        for kind in ("phrase", "opening", "question")
    }
    found["opening"] = rf"(?:{found['opening']})(?: [^\W\d_]+)?\s*(?:[^\w\s:：'\"-]|$)"
    return {kind: re.compile(rf"\W*(?:{pattern})", re.IGNORECASE) for kind, pattern in found.items()}


def _any_of(words: list[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


def _is_turn(text: str) -> bool:
    """A line of a transcript: who speaks, and what is said to somebody."""
    match = _TURN.match(text)
    if match is None or len(match.group(2).split()) > _MOST_NAME_WORDS:
        return False
    return match.group(1) is not None or bool(_SPEECH.search(text, match.end()))
