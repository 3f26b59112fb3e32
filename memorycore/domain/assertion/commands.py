"""Whether a text orders something: "use tabs in every file", 提交前先跑测试, "range les outils le soir".

A note about a person that leaves its subject out ("lives in Madrid", 住在上海) orders nothing.
"""

from memorycore.domain.assertion.tokens import Token
from memorycore.domain.assertion.words import table

_DETERMINERS = frozenset({"article", "his", "her", "our", "their", "my", "your", "its", "this", "those"})
_AHEAD = frozenset({"date", "time", "adjective", "quantifier", "func", "neg", "cue", "conj", "contrast"})
"""What may stand before the verb of an order: when, how often, always, please, never."""
_PHRASES = frozenset({"prep", "contrast", "cue", "date", "adjective", "conj"})
"""What opens a phrase that a comma ends: "before a commit, run …"."""
_NAMING = frozenset({"noun", "word", "char", "name", "name?", "code", "num"})
_OPENING = 10  # tokens before the comma
_SHORTEST = 3


def command_place(tokens: list[Token] | tuple[Token, ...], text: str, language: str) -> int | None:
    """Index of the token with which an order begins, None when the text orders nothing."""
    if language in {"ja", "ko"} or not tokens:
        return None
    place = _in_chinese(tokens, text) if language == "zh" else _in_latin(tokens, text, language)
    return place if place is not None and tokens[place].key not in _states() else None


def _states() -> frozenset[str]:
    return frozenset(table("relations")["order"]["states"])


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
    if token.kind == "verb":
        return text[after.start : after.end] != "of"
    return token.kind in {"noun", "word", "name?", "adjective"} and (
        after.key in _DETERMINERS or (after.kind == "quantifier" and after.key == "all")
    )


def _in_chinese(tokens: list[Token] | tuple[Token, ...], text: str) -> int | None:
    """The first verb, when nothing but times and phrases stand before it; else for whom something is done."""
    phrase, served = False, None
    for place, token in enumerate(tokens):
        after = tokens[place + 1] if place + 1 < len(tokens) else None
        if token.kind == "verb":
            if after is not None and (after.kind == "contrast" or after.key == "时"):
                phrase = False
                continue  # 提交前, 离开时
            if phrase and token.key in _states():
                continue  # 给兰花浇水: part of a noun
            return place if not text.startswith(("了", "过"), token.end) else None
        if token.kind in {"soft", "be"} and token.key != "时":
            return None
        if token.kind == "prep":
            if token.key == "to" and not phrase:
                served = place if served is None else served
            phrase = True
        elif token.kind == "modal":
            return place
        elif token.kind in _NAMING and not phrase and token.key not in _occasions():
            return None
    return served
