"""A text read as an assertion: typed tokens with polarity, cues, and where the predicate begins."""

from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from memorycore.domain.assertion.tokens import Token, scan
from memorycore.domain.assertion.words import concepts_in, table
from memorycore.domain.text import normalise_for_compare

CONTENT = frozenset(
    {"verb", "noun", "adjective", "word", "char", "name", "name?", "num", "date", "time", "code", "contrast", "keep"}
)
SOFT = frozenset({"soft", "prep", "conj"})
_ARGUMENT = CONTENT | SOFT
READ_CHARS = 4000
"""Beyond this a text is a document; what lies behind is compared as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A content token with its polarity; ``denied`` when a negation covers it."""

    token: Token
    text: str
    denied: bool = False
    subject: bool = False
    """It stands before the predicate."""
    condition: bool = False
    """It stands in a condition: if, when, unless."""

    @property
    def key(self) -> str:
        return self.token.key

    @property
    def kind(self) -> str:
        return self.token.kind


@dataclass(frozen=True, kw_only=True)
class Assertion:
    """What a text says, as far as rules can read it."""

    text: str
    form: str
    language: str
    tokens: tuple[Token, ...]
    terms: tuple[Term, ...]
    """Content and soft words in order."""
    cues: dict[str, tuple[str, ...]]
    """Cue → words that showed it."""
    modals: frozenset[str]
    quantifiers: frozenset[str]
    past: bool
    events: frozenset[str]
    """Concepts that cue words stand for: "moved to" is move."""
    cut: bool
    """The text was longer than is read."""

    @cached_property
    def content(self) -> tuple[Term, ...]:
        return tuple(term for term in self.terms if term.kind not in SOFT)

    @cached_property
    def keys(self) -> frozenset[str]:
        return frozenset(term.key for term in self.content)

    @cached_property
    def negations(self) -> int:
        return sum(term.denied for term in self.content)


@lru_cache(maxsize=4096)
def assertion_of(text: str) -> Assertion:
    """Read a text. Never fails; texts beyond ``READ_CHARS`` are read up to there."""
    found, levelled, language = scan(text[:READ_CHARS])
    tokens = _with_needless(_with_frequencies(_with_nouns(found, language)))
    head = _predicate(tokens, language)
    return Assertion(
        text=levelled,
        form=normalise_for_compare(text),
        language=language,
        tokens=tuple(tokens),
        terms=tuple(_terms(tokens, levelled, head, suffixed=language in {"ja", "ko"})),
        cues=_cues(tokens, levelled),
        modals=frozenset(token.key for token in tokens if token.kind == "modal"),
        quantifiers=frozenset(token.key for token in tokens if token.kind == "quantifier"),
        past=_is_past(tokens),
        events=_events(tokens, levelled, language),
        cut=len(text) > READ_CHARS,
    )


def _cues(tokens: list[Token], text: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for token in tokens:
        if token.kind == "cue":
            found[token.key] = (*found.get(token.key, ()), text[token.start : token.end])
    return found


def _events(tokens: list[Token], text: str, language: str) -> frozenset[str]:
    found = [text[token.start : token.end].casefold() for token in tokens if token.kind == "cue"]
    return frozenset(key for words in found for key in concepts_in(words, language))


def _is_past(tokens: list[Token]) -> bool:
    """Whether the first verb is in the past and no auxiliary makes it a participle."""
    for place, token in enumerate(tokens):
        if token.kind in {"verb", "word"} and token.past:
            before = tokens[place - 1] if place else None
            return before is None or not (before.kind == "be" or before.key in {"have", "aux"})
        if token.kind in {"verb", "be"} and not token.past:
            return False
        if token.kind == "be":
            return True
    return False


def _predicate(tokens: list[Token], language: str) -> int:
    """Index of the token where the predicate begins."""
    if language in {"ja", "ko"}:
        return _after_topic(tokens)
    for place, token in enumerate(tokens):
        if language == "zh" and place and token.kind == "quantifier" and token.key == "only":
            return place
        if language == "zh" and _is_compound(tokens, place):
            continue
        if place and token.kind == "cue" and token.key in _TELLING_CUES:
            return place
        if token.kind in {"be", "modal"} or (token.kind == "verb" and not (token.gerund and language == "en")):
            return place
        if token.kind == "neg" and place and language != "zh":
            return place
        if (
            language == "zh"
            and place
            and ((token.kind == "prep" and token.key in {"at", "to", "by"}) or token.kind == "neg")
        ):
            return place
    if language in {"fr", "de", "es"}:
        return _first_pair(tokens)
    if language == "en":
        for place, token in enumerate(tokens[1:], 1):
            if token.kind == "word" and token.end - token.start > 3 and _looks_like_verb(tokens, place):  # noqa: PLR2004 "its"
                return place
    last = [place for place, token in enumerate(tokens) if token.kind in {"num", "time"}]
    return last[-1] if last else len(tokens)


def _is_compound(tokens: list[Token], place: int) -> bool:
    """A Chinese verb of one character beside an unknown one that opens the text: probably part of a longer word."""
    token = tokens[place]
    following = tokens[place + 1] if place + 1 < len(tokens) else None
    return (
        place == 0
        and token.kind == "verb"
        and token.end - token.start == 1
        and following is not None
        and following.kind == "char"
    )


_TELLING_CUES = frozenset({"change", "end", "now", "since", "past"})
"""Cues that stand with the verb or are it: "moved to", "no longer", 现在."""
_DETERMINERS = frozenset({"article", "his", "her", "our", "their", "my", "your", "its", "this", "those"})


def _with_nouns(tokens: list[Token], language: str) -> list[Token]:
    """English verbs in a noun's place become nouns: "the plan", "bus drives are …", "a building"."""
    if language != "en":
        return tokens
    return [
        token._replace(kind="noun") if token.kind == "verb" and _is_noun_here(tokens, place) else token
        for place, token in enumerate(tokens)
    ]


def _is_noun_here(tokens: list[Token], place: int) -> bool:
    before = tokens[place - 1] if place else None
    after = tokens[place + 1] if place + 1 < len(tokens) else None
    if before is not None and before.key in _DETERMINERS and before.kind in {"func", "soft"}:
        return after is None or after.kind not in {"func", "soft"} or after.key not in _DETERMINERS
    if after is not None and after.kind == "be" and before is not None:
        return True
    if before is not None and before.kind == "prep" and before.key != "to" and not tokens[place].gerund:
        return True
    if tokens[place].gerund and before is not None and before.kind in {"noun", "word", "adjective"}:
        return True
    return place == 0 and not tokens[0].gerund and _names_open(tokens)


_EVERY = {
    86400: "daily", 604800: "weekly", 1209600: "fortnightly", 172800: "every other day", 2629800: "monthly",
    7889400: "quarterly", 15778800: "half-yearly", 31557600: "yearly", 3600: "hourly",
}  # fmt: skip


def _with_frequencies(tokens: list[Token]) -> list[Token]:
    """``every 14 days`` is one word: fortnightly."""
    merged: list[Token] = []
    for token in tokens:
        last = merged[-1] if merged else None
        if last is not None and token.dimension == "time" and token.kind == "num" and _is_every(last):
            seconds = float(token.key.removeprefix("#time"))
            key = _EVERY.get(round(seconds), f"every {seconds:g}")
            merged[-1] = token._replace(kind="adjective", key=key, start=last.start, dimension="")
        else:
            merged.append(token)
    return merged


def _is_every(token: Token) -> bool:
    return (token.kind == "quantifier" and token.key == "all") or (token.kind == "prep" and token.key == "per")


def _with_needless(tokens: list[Token]) -> list[Token]:
    """``no key is needed``: not forbidden, only not needed."""
    for place, token in enumerate(tokens):
        if token.kind == "modal" and token.key == "must":
            no = next((at for at in range(place - 1, -1, -1) if tokens[at].kind in {"neg", "punct"}), None)
            if no is not None and tokens[no].kind == "neg" and tokens[no].end - tokens[no].start == 2:  # noqa: PLR2004 "no"
                needless = token._replace(key="neednot")
                return [*tokens[:no], *tokens[no + 1 : place], needless, *tokens[place + 1 :]]
    return tokens


def _names_open(tokens: list[Token]) -> bool:
    """The sentence opens with a compound and a verb behind it: "refresh tokens live", "deploys are"."""
    for token in tokens[1:]:
        if token.kind in {"be", "modal"} or (token.kind == "verb" and not token.gerund):
            return True
        if token.kind not in {"noun", "word", "adjective", "verb"}:
            return False
    return False


def _looks_like_verb(tokens: list[Token], place: int) -> bool:
    token = tokens[place]
    if token.past or (tokens[place - 1].kind in {"name", "name?", "noun"} and place + 1 < len(tokens)):
        return True
    following = tokens[place + 1] if place + 1 < len(tokens) else None
    return (
        token.third
        and tokens[place - 1].kind == "word"
        and following is not None
        and (following.kind in {"num", "prep", "time", "date", "code", "name"} or following.key == "article")
    )


def _first_pair(tokens: list[Token]) -> int:
    """The second of two words with nothing between: "le train part", "der Zug fährt"."""
    words = {"noun", "word", "name", "name?", "verb", "adjective"}
    return next(
        (place for place in range(1, len(tokens)) if tokens[place].kind in words and tokens[place - 1].kind in words),
        len(tokens),
    )


def _after_topic(tokens: list[Token]) -> int:
    for place, token in enumerate(tokens):
        if token.kind == "topic":
            return place
    return 0


@cache
def _denying() -> dict[str, str]:
    return table("relations")["denies"]


def _terms(tokens: list[Token], text: str, head: int, *, suffixed: bool) -> list[Term]:
    """Content and soft tokens with polarity, subject and condition marks."""
    terms: list[Term] = []
    denied = condition = False
    for place, token in enumerate(tokens):
        if token.kind == "neg":
            if suffixed and (last := _last_content(terms)) is not None:
                terms[last] = _flipped(terms[last])
            else:
                denied = not denied
        elif token.kind == "punct" and token.key in ",.;:!?":
            _deny_last(terms, denied=denied)
            denied = condition = False
        elif token.kind == "cue" and token.key == "condition":
            condition = True
        elif token.kind in _ARGUMENT:
            base = _denying().get(token.key)
            flips = denied and token.kind in CONTENT
            term = Term(
                token=token._replace(key=base) if base else token,
                text=text[token.start : token.end],
                denied=flips != bool(base),
                subject=place < head,
                condition=condition,
            )
            terms.append(term)
            denied = denied and not flips
    _deny_last(terms, denied=denied)
    return terms


def _deny_last(terms: list[Term], *, denied: bool) -> None:
    """A negation with nothing behind it belongs to what stands before it."""
    if denied and (last := _last_content(terms)) is not None:
        terms[last] = _flipped(terms[last])


def _last_content(terms: list[Term]) -> int | None:
    return next((place for place in reversed(range(len(terms))) if terms[place].kind in CONTENT), None)


def _flipped(term: Term) -> Term:
    return Term(
        token=term.token, text=term.text, denied=not term.denied, subject=term.subject, condition=term.condition
    )
