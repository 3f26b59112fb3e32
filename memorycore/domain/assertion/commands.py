"""Whether a text orders something: "use tabs in every file", 提交前先跑测试, "range les outils le soir".

A note about a person that leaves its subject out ("lives in Madrid", 住在上海) orders nothing.
"""

from functools import cache

from memorycore.domain.assertion.tokens import Token
from memorycore.domain.assertion.words import table
from memorycore.domain.lexicon import LATIN_LANGUAGES, lexicon

_DETERMINERS = frozenset({"article", "his", "her", "our", "their", "my", "your", "its", "this", "those"})
_AHEAD = frozenset({"date", "time", "adjective", "quantifier", "func", "neg", "cue", "conj", "contrast"})
"""What may stand before the verb of an order: when, how often, always, please, never."""
_PHRASES = frozenset({"prep", "contrast", "cue", "date", "adjective", "conj"})
"""What opens a phrase that a comma ends: "before a commit, run …"."""
_NAMING = frozenset({"noun", "word", "char", "name", "name?", "code", "num"})
_PERSONS = frozenset("他她我你")
_OPENING = 10  # tokens before the comma
_SHORTEST = 3
_LONGEST_TIME = 4


def command_place(tokens: list[Token] | tuple[Token, ...], text: str, language: str) -> int | None:
    """Index of the token with which an order begins, None when the text orders nothing."""
    if language in {"ja", "ko"} or not tokens:
        return None
    place = _in_chinese(tokens, text) if language == "zh" else _in_latin(tokens, text, language)
    return place if place is not None and tokens[place].key not in _states() else None


@cache
def _states() -> frozenset[str]:
    return frozenset(table("relations")["order"]["states"])


@cache
def _occasions() -> frozenset[str]:
    return frozenset({*table("relations")["occasion"]["words"], "先", "再"})


def _in_latin(tokens: list[Token] | tuple[Token, ...], text: str, language: str) -> int | None:
    place = _behind_opening(tokens)
    while place < len(tokens) and (tokens[place].kind in _AHEAD or _forbids(tokens[place])):
        if tokens[place].key == "article":
            return None
        place += 1
    if place >= len(tokens):
        return None
    if place and _forbids(tokens[place - 1]):
        return place  # "no food in the kitchen", "never edit …"
    return place if _is_bare_verb(tokens, place, text, language) else None


def _forbids(token: Token) -> bool:
    return token.kind == "neg" or (token.kind == "modal" and token.key == "mustnot")


def _behind_opening(tokens: list[Token] | tuple[Token, ...]) -> int:
    if tokens[0].kind not in _PHRASES:
        return 0
    commas = (place for place, token in enumerate(tokens[:_OPENING]) if token.kind == "punct" and token.key == ",")
    return next(commas, -1) + 1


def _is_bare_verb(tokens: list[Token] | tuple[Token, ...], place: int, text: str, language: str) -> bool:
    """A verb in its plain form, or a word that stands like one: right before a determiner."""
    token = tokens[place]
    word = text[token.start : token.end].casefold()
    after = tokens[place + 1] if place + 1 < len(tokens) else None
    if after is None or after.kind in {"be", "modal"} or token.past or len(word) < _SHORTEST:
        return False
    if language == "en" and word.endswith(("s", "ing")) and not word.endswith("ss"):
        return False
    if token.kind == "verb" or word in table("relations")["order"]["verbs"]:
        return text[after.start : after.end] != "of" and after.kind != "punct"
    if token.kind not in {"noun", "word", "name?", "adjective"}:
        return False
    if after.key in _DETERMINERS or (after.kind == "quantifier" and after.key == "all"):
        return True
    return (
        after.kind in _NAMING | {"prep", "contrast"} and _is_listed(word, language) and not _has_finite(tokens, place)
    )


def _is_listed(word: str, language: str) -> bool:
    """A verb that routing knows as a command; its vocabulary is read when a text opens so, and not before."""
    known = next((one for one in LATIN_LANGUAGES if one == language), None)
    return known is not None and "imperative" in lexicon(known).words.get(word, ())


def _has_finite(tokens: list[Token] | tuple[Token, ...], place: int) -> bool:
    """What opens the text has a verb behind it and is a noun: "water is scarce"."""
    return any(token.kind in {"be", "modal"} for token in tokens[place + 1 :])


def _in_chinese(tokens: list[Token] | tuple[Token, ...], text: str) -> int | None:
    """The first verb, when nothing but times and phrases stand before it; else for whom something is done."""
    phrase, served = False, None
    for place, token in enumerate(tokens):
        if token.kind == "modal" or (token.kind == "verb" and not _is_aside(tokens, place, phrase=phrase)):
            return None if text.startswith(("了", "过"), token.end) else place
        if token.kind == "prep":
            served = place if served is None and token.key == "to" and not phrase else served
            phrase = True
        elif token.kind == "verb":
            phrase = phrase and not _ends_time(tokens, place)
        elif _is_subject(tokens, place, phrase=phrase):
            return None
        else:
            phrase = phrase or (token.kind in _NAMING and token.key not in _occasions())
    return served


def _is_aside(tokens: list[Token] | tuple[Token, ...], place: int, *, phrase: bool) -> bool:
    """Part of a time (提交前, 离开时), or of a noun in a phrase (给兰花浇水)."""
    return _ends_time(tokens, place) or (phrase and tokens[place].key in _states())


def _ends_time(tokens: list[Token] | tuple[Token, ...], place: int) -> bool:
    after = tokens[place + 1] if place + 1 < len(tokens) else None
    return after is not None and (after.kind == "contrast" or after.key == "时")


def _is_subject(tokens: list[Token] | tuple[Token, ...], place: int, *, phrase: bool) -> bool:
    """Somebody or something that the text is about; what "before" or "when" ends is none: 出门前."""
    token = tokens[place]
    if token.kind in {"soft", "be"}:
        return token.kind == "be" or token.key in _PERSONS
    if token.kind not in _NAMING or phrase or token.key in _occasions() or token.dimension == "time":
        return False
    return not any(later.kind == "contrast" or later.key == "时" for later in tokens[place + 1 : place + _LONGEST_TIME])
