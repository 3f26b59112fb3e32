"""A text read as an assertion: typed tokens with polarity, cues, and where the predicate begins."""

from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

from memorycore.domain.assertion.commands import command_place
from memorycore.domain.assertion.predicate import in_their_roles, predicate_place
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


class Term(NamedTuple):
    """A content token with its polarity; ``denied`` when a negation covers it.

    ``key`` and ``kind`` are those of the token: a verdict reads them some hundred times.
    """

    token: Token
    text: str
    key: str
    kind: str
    denied: bool = False
    subject: bool = False
    """It stands before the predicate."""
    condition: bool = False
    """It stands in a condition: if, when, unless."""

    def with_token(self, token: Token) -> "Term":
        return self._replace(token=token, key=token.key, kind=token.kind)


@dataclass(frozen=True, kw_only=True)
class Assertion:
    """What a text says, as far as rules can read it."""

    said: str
    """The text as it came; ``text`` is levelled, and the places of tokens count there."""
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
    def names(self) -> frozenset[str]:
        return frozenset(term.key for term in self.terms if term.kind in {"name", "name?"})

    @cached_property
    def doubtful(self) -> frozenset[str]:
        """What opens a sentence with a capital: names, or words like others."""
        return frozenset(term.key for term in self.terms if term.kind == "name?")

    @cached_property
    def command(self) -> int | None:
        """Index of the token with which an order begins, None when the text orders nothing."""
        return command_place(self.tokens, self.text, self.language)

    @cached_property
    def negations(self) -> int:
        return sum(term.denied for term in self.content)


@lru_cache(maxsize=4096)
def form_of(text: str) -> str:
    """The text without what means nothing: width, case, blanks, final stops."""
    return normalise_for_compare(text)


@lru_cache(maxsize=4096)
def assertion_of(text: str) -> Assertion:
    """Read a text. Never fails; texts beyond ``READ_CHARS`` are read up to there."""
    return _read(text)


@lru_cache(maxsize=512)
def assertion_of_clause(text: str) -> Assertion:
    """As ``assertion_of``, for a part of a text: asked for while that is judged, or what is judged in one batch."""
    return _read(text)


def _read(text: str) -> Assertion:
    found, levelled, language = scan(text[:READ_CHARS])
    tokens = in_their_roles(found, language)
    head = predicate_place(tokens, language)
    return Assertion(
        said=text,
        text=levelled,
        form=form_of(text),
        language=language,
        tokens=tuple(tokens),
        terms=tuple(_terms(tokens, levelled, head, suffixed=language in {"ja", "ko"})),
        cues=_cues(tokens, levelled),
        modals=_modals(tokens),
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


def _modals(tokens: list[Token]) -> frozenset[str]:
    """Duties and permissions; a mere "should" is a must beside others, and alone as good as an order."""
    found = frozenset(token.key for token in tokens if token.kind == "modal")
    return found - {"should"} | {"must"} if len(found) > 1 and "should" in found else found


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


@cache
def _denying() -> dict[str, str]:
    return table("relations")["denies"]


def _terms(tokens: list[Token], text: str, head: int, *, suffixed: bool) -> list[Term]:
    """Content and soft tokens with polarity, subject and condition marks."""
    terms: list[Term] = []
    denied = condition = False
    for place, token in enumerate(tokens):
        if token.kind == "neg" or (token.kind == "cue" and token.key == "yet"):
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
                key=base or token.key,
                kind=token.kind,
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
    return term._replace(denied=not term.denied)
