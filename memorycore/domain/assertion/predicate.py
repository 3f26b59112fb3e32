"""Where a predicate begins, and which words of a verb's form are nouns. Rough grammar, by the kinds of neighbours."""

from memorycore.domain.assertion.tokens import Token

_TELLING_CUES = frozenset({"change", "end", "now", "since", "past"})
"""Cues that stand with the verb or are it: "moved to", "no longer", 现在."""
_DETERMINERS = frozenset({"article", "his", "her", "our", "their", "my", "your", "its", "this", "those"})
_NAMING = frozenset({"noun", "word", "name", "name?", "verb", "adjective"})
_SHORTEST_VERB = 4
_COMPOUND = {"time": (60.0, 3600.0, 86400.0, 604800.0), "length": (0.01, 1.0, 1000.0), "mass": (0.001, 1.0)}
"""By dimension: the units, in its base, behind which a smaller amount is added."""
_OPENING = frozenset({"cue", "punct", "date", "func", "adjective"})
_ACTING = frozenset({"verb", "modal", "be", "neg"})
_LEAST = 1e-6
_EVERY = {
    86400: "daily", 604800: "weekly", 1209600: "fortnightly", 172800: "every other day", 2629800: "monthly",
    7889400: "quarterly", 15778800: "half-yearly", 31557600: "yearly", 3600: "hourly",
}  # fmt: skip


def predicate_place(tokens: list[Token], language: str) -> int:
    """Index of the token where the predicate begins; the number of tokens when none was found."""
    if language in {"ja", "ko"}:
        return next((place for place, token in enumerate(tokens) if token.kind == "topic"), 0)
    for place, token in enumerate(tokens):
        if _is_compound(tokens, place, language):
            continue
        if _begins(token, language) or (place and _begins_behind_subject(token, language)):
            return place
    return _unread(tokens, language)


def _begins(token: Token, language: str) -> bool:
    return token.kind in {"be", "modal"} or (token.kind == "verb" and not (token.gerund and language == "en"))


def _begins_behind_subject(token: Token, language: str) -> bool:
    if token.kind == "neg" or (token.kind == "cue" and token.key in _TELLING_CUES):
        return True
    if language != "zh":
        return False
    return (token.kind == "quantifier" and token.key == "only") or (
        token.kind == "prep" and token.key in {"at", "to", "by"}
    )


def _unread(tokens: list[Token], language: str) -> int:
    """No verb is known: a word that stands like one, else the last number."""
    if language in {"fr", "de", "es"}:
        return _first_pair(tokens)
    if language == "en":
        found = (place for place in range(1, len(tokens)) if _looks_like_verb(tokens, place))
        if (place := next(found, None)) is not None:
            return place
    last = [place for place, token in enumerate(tokens) if token.kind in {"num", "time"}]
    return last[-1] if last else len(tokens)


def _is_compound(tokens: list[Token], place: int, language: str) -> bool:
    """A Chinese verb that opens the text and is part of a longer word: 登录分支以工单号命名.

    A verb of one character beside an unknown one; a longer one before a noun, when another verb comes.
    """
    token = tokens[place]
    if language != "zh" or token.kind != "verb" or place + 1 == len(tokens):
        return False
    if token.end - token.start == 1:
        return not place and tokens[1].kind == "char"
    opens = all(before.kind in _OPENING for before in tokens[:place])
    return opens and tokens[place + 1].kind == "noun" and any(after.kind in _ACTING for after in tokens[place + 2 :])


def _looks_like_verb(tokens: list[Token], place: int) -> bool:
    token, before = tokens[place], tokens[place - 1]
    if token.kind != "word" or token.end - token.start < _SHORTEST_VERB:
        return False
    if token.past or (before.kind in {"name", "name?", "noun"} and place + 1 < len(tokens)):
        return True
    following = tokens[place + 1] if place + 1 < len(tokens) else None
    objects = {"num", "prep", "time", "date", "code", "name"}
    opens = following is not None and (following.kind in objects or following.key == "article")
    return token.third and before.kind == "word" and opens


def _first_pair(tokens: list[Token]) -> int:
    """The second of two words with nothing between: "le train part", "der Zug fährt"."""
    pairs = range(1, len(tokens))
    found = (place for place in pairs if tokens[place].kind in _NAMING and tokens[place - 1].kind in _NAMING)
    return next(found, len(tokens))


def in_their_roles(tokens: list[Token], language: str) -> list[Token]:
    """Tokens with frequencies as one word, needless duties told from bans, and verbs in a noun's place as nouns."""
    if language == "en":
        tokens = _with_habits(_with_leaving(_with_nouns(tokens)))
    if sum(token.kind == "num" for token in tokens) > 1:
        tokens = _with_sums(tokens)
    return _with_needless(_with_frequencies(tokens))


def _with_leaving(tokens: list[Token]) -> list[Token]:
    """``Anna left the firm``: behind a name and in front of one, "left" is no side."""
    for place in range(1, len(tokens) - 1):
        token, before, after = tokens[place], tokens[place - 1], tokens[place + 1]
        named = before.kind in {"noun", "name", "name?", "soft"} and before.key not in _DETERMINERS
        gone = after.kind in {"name", "date"} or after.key in _DETERMINERS
        if token.key == "left" and token.kind == "adjective" and named and gone and _is_whole(tokens, place):
            tokens = [*tokens[:place], token._replace(kind="verb", key="leave", past=True), *tokens[place + 1 :]]
    return tokens


def _with_habits(tokens: list[Token]) -> list[Token]:
    """``is changed every week`` is no news: what is done again and again is a verb, not a change."""
    for place in range(1, len(tokens)):
        token, before = tokens[place], tokens[place - 1]
        if token.kind == "cue" and token.key == "change" and before.kind == "be" and _recurs(tokens[place + 1 :]):
            return [*tokens[:place], token._replace(kind="verb", past=True), *tokens[place + 1 :]]
    return tokens


def _recurs(tokens: list[Token]) -> bool:
    often = (*_EVERY.values(), "nightly", "twice a day", "twice a week", "twice a month")
    return any((token.kind == "adjective" and token.key in often) or _is_every(token) for token in tokens)


def _is_whole(tokens: list[Token], place: int) -> bool:
    """No verb stands in front: "turn it left"."""
    return not any(token.kind in {"verb", "be", "modal"} for token in tokens[:place])


def _with_sums(tokens: list[Token]) -> list[Token]:
    """``an hour and 35 minutes`` is one amount, and so is 2 m 10 cm; "1 kg and 2 kg" are two."""
    merged: list[Token] = []
    for token in tokens:
        joined = len(merged) > 1 and merged[-1].kind == "conj" and merged[-1].key == "and"
        last = merged[-2] if joined else merged[-1] if merged else None
        if last is not None and (both := _added(last, token)) is not None:
            merged = [*merged[: -1 - joined], both]
        else:
            merged.append(token)
    return merged


def _added(large: Token, small: Token) -> Token | None:
    """The sum of two amounts of one kind, the second less than a whole of the first, or told in a lesser unit."""
    if large.kind != "num" or small.kind != "num" or large.dimension not in _COMPOUND:
        return None
    if small.dimension != large.dimension or small.start - large.end > len(" and "):
        return None
    mark = f"#{large.dimension}"
    one, other = float(large.key.removeprefix(mark)), float(small.key.removeprefix(mark))
    whole, unit = _largest_unit(one, large.dimension), _largest_unit(other, large.dimension)
    if not (0 < other < whole or 0 < unit < whole):  # "an hour and 95 minutes" is a sum, too
        return None
    return large._replace(key=f"{mark}{one + other:.9g}", end=small.end)


def _largest_unit(amount: float, of: str) -> float:
    """The largest unit of which an amount is a whole number; 0 for none."""
    return max((step for step in _COMPOUND[of] if abs(amount / step - round(amount / step)) < _LEAST), default=0)


def _with_nouns(tokens: list[Token]) -> list[Token]:
    """Nouns in the form of verbs: "the plan", "a building", "bus drives are …"."""
    return [
        token._replace(kind="noun") if token.kind == "verb" and _is_noun_here(tokens, place) else token
        for place, token in enumerate(tokens)
    ]


def _is_noun_here(tokens: list[Token], place: int) -> bool:
    token = tokens[place]
    if not place:
        return not token.gerund and _names_open(tokens)
    before = tokens[place - 1]
    after = tokens[place + 1] if place + 1 < len(tokens) else None
    if before.key in _DETERMINERS and before.kind in {"func", "soft"}:
        return after is None or after.kind not in {"func", "soft"} or after.key not in _DETERMINERS
    if after is not None and after.kind == "be":
        return True
    owned = place > 1 and before.kind == "func" and tokens[place - 2].end == before.start  # the user's work phone
    if owned and not token.gerund and not token.past:
        return True
    if token.gerund:
        return before.kind in {"noun", "word", "adjective"}
    return before.kind == "prep" and before.key != "to"


def _names_open(tokens: list[Token]) -> bool:
    """The sentence opens with a compound and a verb behind it: "refresh tokens live", "deploys are"."""
    for token in tokens[1:]:
        if token.kind in {"be", "modal"} or (token.kind == "verb" and not token.gerund):
            return True
        if token.kind not in {"noun", "word", "adjective", "verb"}:
            return False
    return False


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
        if token.kind == "modal" and token.key == "must" and (no := _no_before(tokens, place)) is not None:
            return [*tokens[:no], *tokens[no + 1 : place], token._replace(key="neednot"), *tokens[place + 1 :]]
    return tokens


def _no_before(tokens: list[Token], place: int) -> int | None:
    """Index of a "no" in front in the clause."""
    for at in range(place - 1, -1, -1):
        if tokens[at].kind in {"neg", "punct"}:
            short = tokens[at].end - tokens[at].start == len("no")
            return at if tokens[at].kind == "neg" and short else None
    return None
