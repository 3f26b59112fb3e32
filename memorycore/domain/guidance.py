"""Signs that a text guides behaviour: duties, tastes, corrections, who the user is, how the environment is set up.

Each sentence is judged by itself. What somebody else said, what held in former times, questions, quotations and code
give no sign. The words are the vocabulary's; a weight says how far one sign proves the case alone (1.0 is enough).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from memorycore.domain.cues import Hit, Reading

Subject = Literal["user", "assistant", "relation", "other", "none"]
Span = tuple[int, int]

_DUTY_WEIGHTS = {"must": 1.0, "prohibit": 1.0, "ought": 0.7, "refrain": 0.5, "should": 0.4}
_CUSTOM_WEIGHTS = {True: 0.5, False: 0.15}
_GENERIC_BONUS = 0.5
_CODE_LIMITS = {"behaviour": 1, "convention": 2, "directive": 3}
_CJK = frozenset({"zh", "ja", "ko"})
_COMMAND_NEAR = 8
_TOPIC_CHARS = 8
_LEAD_WIDTH = 14


@dataclass(frozen=True, slots=True)
class Sign:
    """One piece of evidence: reason code, the words that show it, how much it weighs."""

    code: str
    word: str
    weight: float


@dataclass(frozen=True, slots=True)
class Void:
    """Why words of guidance in a text were not counted: question, quote, code, third_person, past_habit."""

    code: str
    word: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidance:
    """What was found; ``weight`` is that of the weightiest sentence: weak signs far apart prove nothing together."""

    signs: tuple[Sign, ...]
    voids: tuple[Void, ...]
    weight: float

    def of(self, *codes: str) -> tuple[Sign, ...]:
        return tuple(sign for sign in self.signs if sign.code in codes)

    def proves(self, *codes: str) -> bool:
        """Whether one sign of these codes is enough by itself."""
        return any(sign.weight >= 1.0 for sign in self.of(*codes))


def find_guidance(reading: Reading) -> Guidance:
    """All signs of a text, the heaviest first, and what was not counted."""
    if reading.code_chars * 2 > len(reading.text):
        return Guidance(signs=(), voids=(Void("code", "`"),), weight=0.0)
    voids: list[Void] = []
    signs: list[Sign] = []
    weight = 0.0
    for span in reading.sentences:
        void = _void(reading, span)
        if void is None:
            found = _heaviest(_signs(reading, span))
            weight = max(weight, sum(sign.weight for sign in found))
            signs.extend(found)
        elif void.code == "question" or reading.within(span, *_DUTY_WEIGHTS, "like", "want", "imperative"):
            voids.append(void)
    if not signs and reading.quoted_hits:
        voids.append(Void("quote", next(iter(reading.quoted_hits.values()))[0].word))
    return Guidance(signs=_heaviest(signs), voids=tuple(voids), weight=weight)


def _heaviest(signs: Iterable[Sign]) -> tuple[Sign, ...]:
    """One sign for each code and word, a few for each code, heaviest first."""
    best: dict[str, dict[str, Sign]] = {}
    for sign in signs:
        same = best.setdefault(sign.code, {})
        if sign.word not in same or same[sign.word].weight < sign.weight:
            same[sign.word] = sign
    kept: list[Sign] = []
    for code, same in best.items():
        kept.extend(sorted(same.values(), key=lambda sign: -sign.weight)[: _CODE_LIMITS.get(code, 2)])
    return tuple(sorted(kept, key=lambda sign: -sign.weight))


def _void(reading: Reading, span: Span) -> Void | None:
    sentence = reading.text[span[0] : span[1]].rstrip('" ')
    if sentence.endswith("?") or any(hit.word[-1] in "吗呢" for hit in reading.within(span, "question")):
        return Void("question", "?")
    past = reading.within(span, "history")
    if past and not reading.within(span, "now_on", "correction"):
        return Void("past_habit", past[0].word)
    return _third_person(reading, span)


def _third_person(reading: Reading, span: Span) -> Void | None:
    """Somebody else says, wants or forbids it."""
    told = reading.within(span, "attribution")
    if told and subject_of(reading, span) not in {"user", "assistant"}:
        return Void("third_person", told[0].word)
    ruled = reading.within(span, "org_rule")
    if ruled and subject_of(reading, span) == "none":
        return Void("third_person", ruled[0].word)
    for body in reading.within(span, "org"):
        if any(0 <= duty.start - body.end <= 4 for duty in reading.within(span, "must", "prohibit", "ought")):  # noqa: PLR2004 characters
            return Void("third_person", body.word)
    return None


def subject_of(reading: Reading, span: Span) -> Subject:
    """Who a sentence is about: the user, the assistant, somebody close to the user, something else of theirs."""
    if reading.within(span, "attribute"):
        return "user"
    people = reading.within(span, "relation", "associate")
    owners = [hit for hit in reading.within(span, "my") if _leads(reading, span, hit)]
    if any(0 <= person.start - owner.end <= _TOPIC_CHARS for owner in owners for person in people):
        return "relation"
    users = [hit for hit in reading.within(span, "user") if _leads(reading, span, hit)]
    if users or owners:
        owned = not users or reading.text[users[0].end :].lstrip().startswith(("'s", "的"))
        return "other" if owned and not reading.within(span, "like") else "user"
    if people and _leads(reading, span, people[0]):
        return "relation"
    return "assistant" if any(_leads(reading, span, hit) for hit in reading.within(span, "assistant")) else "none"


def _leads(reading: Reading, span: Span, hit: Hit) -> bool:
    """Whether nothing but a short opening, such as a date, stands before."""
    before = reading.text[span[0] : hit.start].strip()
    return sum(1 if char.isascii() else 2 for char in before) <= _LEAD_WIDTH


def _signs(reading: Reading, span: Span) -> Iterator[Sign]:
    subject = subject_of(reading, span)
    yield from _duties(reading, span, subject)
    yield from _tastes(reading, span, subject)
    yield from _person(reading, span, subject)
    for hit in reading.within(span, "correction"):
        yield Sign("correction", hit.word, 1.0)
    for hit in reading.within(span, "mixup"):
        yield Sign("correction", hit.word, 0.4)
    for hit in reading.within(span, "environment"):
        yield Sign("environment", hit.word, 1.0)


def _duties(reading: Reading, span: Span, subject: Subject) -> Iterator[Sign]:
    """Prohibitions, duties, commands and customs; together with words of manner they steer the assistant itself."""
    generic = _generic(reading, span)
    duties = ("must", "prohibit") if subject in {"relation", "other"} else tuple(_DUTY_WEIGHTS)
    signs = [
        Sign("directive", hit.word, _duty_weight(reading, span, hit))
        for hit in reading.within(span, *duties)
        if not _describes_defect(reading, hit) and not _measures(reading, hit)
    ]
    for hit in reading.within(span, "imperative"):
        opens = hit.first and _opens(reading, span, hit)
        if hit.first and (opens or signs or len(hit.word) > 1) and _is_command(reading, hit):
            opens = opens or any(when.first and when.start == span[0] for when in reading.within(span, "condition"))
            signs.append(Sign("directive", hit.word, 1.0 if opens else 0.6))
    customs = reading.within(span, "practice", "allowed")
    signs.extend(Sign("convention", hit.word, _CUSTOM_WEIGHTS[generic]) for hit in customs)
    signs.extend(Sign("convention", hit.word, 1.0 if hit.first else 0.7) for hit in reading.within(span, "now_on"))
    signs.extend(Sign("convention", hit.word, 0.4) for hit in reading.within(span, "standing"))
    strength = sum(sign.weight for sign in signs)
    if generic and signs and strength < 1.0:
        signs[0] = Sign(signs[0].code, signs[0].word, signs[0].weight + _GENERIC_BONUS)
    yield from signs
    yield from _manner(reading, span, strength)


def _manner(reading: Reading, span: Span, strength: float) -> Iterator[Sign]:
    about_work = bool(reading.within(span, "product"))
    for hit in reading.within(span, "behaviour"):
        if hit.first and reading.language in _CJK:
            yield Sign("behaviour", hit.word, 0.5)
        elif strength >= 0.4 and not about_work:  # noqa: PLR2004 the weight of the weakest duty
            yield Sign("behaviour", hit.word, 0.4)


def _measures(reading: Reading, hit: Hit) -> bool:
    """ "要十二分钟" takes time, it is no duty."""
    return hit.cue == "ought" and hit.word.endswith("要") and reading.text[hit.end : hit.end + 1] in _NUMERALS


_NUMERALS = frozenset("0123456789一二两三四五六七八九十百千半几")


def _duty_weight(reading: Reading, span: Span, hit: Hit) -> float:
    """ "Lena always brings cake" tells a habit; "always bring cake" and "cakes are always cut" are rules."""
    if hit.word in _HABIT_WORDS and not reading.within(span, "standing"):
        after = next((token.word for token in reading.tokens if token.start >= hit.end), "")
        if not hit.first and after.endswith("s") and after not in {"is", "has", "use", "as"}:
            return 0.3
    return _DUTY_WEIGHTS[hit.cue]


_HABIT_WORDS = frozenset({"always", "never"})


def _opens(reading: Reading, span: Span, hit: Hit) -> bool:
    before = reading.text[span[0] : hit.start].strip()
    return not before or before[-1] in ":;-" or reading.clause_of(hit)[0] == span[0]


_NOT_AFTER_COMMAND = frozenset(
    {"of", "is", "was", "were", "are", "has", "had", "have", "will", "went", "came", "'s", ":", "by", "ran", "took"}
)


def _is_command(reading: Reading, hit: Hit) -> bool:
    """A verb that opens a clause is a command, unless it is a noun there: "Report of", "Test passed", "备份完成"."""
    after = next((token.word for token in reading.tokens if token.start >= hit.end), "")
    if after in _NOT_AFTER_COMMAND:
        return False
    span = reading.clause_of(hit)
    if reading.within(span, "condition") and reading.language not in _CJK:
        return True
    if (
        reading.language in _CJK
        and reading.within(span, "particular")
        and not reading.within(span, "must", "prohibit", "refrain", "ought")
    ):
        return False
    done = reading.within(span, "completed", "fine")
    tail = reading.text[done[-1].end : span[1]].strip(" .。!,;:了") if done else "-"
    return bool(tail) or bool(reading.within(span, "must", "prohibit"))


def _describes_defect(reading: Reading, hit: Hit) -> bool:
    """Inside the description of a defect that is gone: "账号禁止登录的问题处理好了"."""
    clause = reading.clause_of(hit)
    defects = [defect for defect in reading.within(clause, "symptom") if defect.start >= hit.end]
    return bool(defects) and any(done.start > defects[-1].start for done in reading.within(clause, "completed"))


_PLURAL_ARTICLES = frozenset(
    {
        "les",
        "tous",
        "toutes",
        "chaque",
        "los",
        "las",
        "todos",
        "todas",
        "cada",
        "alle",
        "jede",
        "jeder",
        "jedes",
        "jeden",
    }
)
_PARTICULAR = frozenset(
    {
        "the",
        "a",
        "an",
        "this",
        "that",
        "these",
        "those",
        "our",
        "his",
        "her",
        "their",
        "its",
        "my",
        "your",
        "some",
        "he",
        "she",
        "it",
        "we",
        "they",
        "i",
        "two",
        "three",
        "four",
        "five",
        "six",
    }
)
_GENERAL = frozenset({"every", "each", "all", "any", "no", "nothing", "nobody", "anything", "everything", "whoever"})


def _generic(reading: Reading, span: Span) -> bool:
    """Whether a sentence speaks of a kind of thing, not of one thing: "Film reels are labelled", "开支要附收据"."""
    if reading.language in _CJK:
        return not reading.within(span, "particular", "org", "other_person", "relation")
    words = [token.word for token in reading.tokens if span[0] <= token.start < span[1]]
    if reading.language != "en":
        return bool(words) and words[0] in _PLURAL_ARTICLES
    if not words or reading.within(span, "past_verb", "relation"):
        return False
    opening = words[: next((place for place, word in enumerate(words) if word in _VERBS), 4)]
    while opening and opening[0] in {"in", "for", "on", "at"}:
        opening = opening[3:]
    if any(word in _GENERAL for word in opening):
        return True
    return not any(word in _PARTICULAR for word in opening[:1]) and any(_plural(word) for word in opening[:3])


_VERBS = frozenset({"is", "are", "has", "have", "must", "should", "need", "go", "get", "live", "stay", "use", "follow"})


def _plural(word: str) -> bool:
    return len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is", "'s"))  # noqa: PLR2004 "gas", "bus"


def _tastes(reading: Reading, span: Span, subject: Subject) -> Iterator[Sign]:
    for hit in reading.within(span, "like"):
        yield Sign("preference", hit.word, _taste_weight(reading, span, subject, hit))
    if subject == "user":
        for hit in reading.within(span, "leaning"):
            yield Sign("preference", hit.word, 1.0)
        for hit in reading.within(span, "refrain"):
            yield Sign("preference", hit.word, 0.6)
        for hit in reading.within(span, "want"):
            manner = bool(reading.within(span, "behaviour"))
            yield Sign("behaviour" if manner else "preference", hit.word, 1.0 if manner else 0.5)


def _taste_weight(reading: Reading, span: Span, subject: Subject, hit: Hit) -> float:
    if subject == "user":
        return 1.0
    if (
        subject == "none"
        and (hit.first or reading.language in _CJK)
        and not reading.within((span[0], hit.start), "org", "other_person")
    ):
        return 1.0 if hit.start - span[0] <= _TOPIC_CHARS else 0.5
    return 0.2


def _person(reading: Reading, span: Span, subject: Subject) -> Iterator[Sign]:
    if subject in {"user", "none", "assistant"}:
        for hit in reading.within(span, "health"):
            yield Sign("health", hit.word, 1.2 if subject == "user" or hit.start - span[0] < 3 * _TOPIC_CHARS else 0.5)
    if subject == "user":
        tastes = {hit.start for hit in reading.within(span, "like")}
        for hit in reading.within(span, "identity", "profession"):
            if hit.start not in tastes:
                yield Sign("identity", hit.word, 1.2 if hit.cue == "identity" else 1.0)
    for hit in reading.within(span, "attribute"):
        yield Sign("identity", hit.word, 1.2)
