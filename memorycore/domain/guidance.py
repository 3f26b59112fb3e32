"""Signs that a text guides behaviour: duties, tastes, corrections, who the user is, how the environment is set up.

Each sentence is judged by itself. What somebody else said, what held in former times, questions, quotations and code
give no sign. The words are the vocabulary's; a weight says how far one sign proves the case alone (1.0 is enough).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from memorycore.domain.cues import Hit, Reading, Span
from memorycore.domain.customs import kind_of_work
from memorycore.domain.mood import (
    Subject,
    commands_in,
    describes_defect,
    is_general,
    leads,
    names_other_thing,
    subject_of,
    tells_habit,
)
from memorycore.domain.standing import arrangement, habit, occasion_end, tells_fact, tells_of_work, wish

PROOF = 1.0
_DUTY_WEIGHTS = {"must": 1.0, "prohibit": 1.0, "ought": 0.7, "refrain": 0.5, "custom": 0.5, "should": 0.4}
_ASKING_WEIGHT = 0.7
_HABIT_WEIGHT = 0.3
_CUSTOM_WEIGHTS = {True: 0.5, False: 0.15}
_GENERAL_BONUS = 0.5
_LATER_COMMAND_WEIGHT = 0.6
_MOST_SIGNS = {"behaviour": 1, "convention": 3, "directive": 3}
_NEAR_CHARS = 8
_HEALTH_NEAR_CHARS = 24
_RULE_NEAR_CHARS = 4


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

    def suggests(self, code: str) -> bool:
        """Whether the signs of one code are enough together."""
        return sum(sign.weight for sign in self.of(code)) >= PROOF

    def proves(self, *codes: str) -> bool:
        """Whether one sign of these codes is enough by itself."""
        return any(sign.weight >= PROOF for sign in self.of(*codes))


def find_guidance(reading: Reading) -> Guidance:
    """All signs of a text, the heaviest first, and what was not counted."""
    if reading.code_chars * 2 > len(reading.text):
        return Guidance(signs=(), voids=(Void("code", "`"),), weight=0.0)
    voids: list[Void] = []
    signs: list[Sign] = []
    weight = 0.0
    for span in reading.sentences:
        subject = subject_of(reading, span)
        void = _void(reading, span, subject)
        if void is None:
            found = _heaviest(_signs(reading, span, subject))
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
        kept.extend(sorted(same.values(), key=lambda sign: -sign.weight)[: _MOST_SIGNS.get(code, 2)])
    return tuple(sorted(kept, key=lambda sign: -sign.weight))


def _void(reading: Reading, span: Span, subject: Subject) -> Void | None:
    """Why nothing in a sentence counts, None when it does."""
    sentence = reading.text[span[0] : span[1]].rstrip('" ')
    if sentence.endswith(("?", "？")) or reading.within(span, "question_end"):
        return Void("question", "?")
    if _set_right(reading, span):
        return None
    past = reading.within(span, "history")
    if past and not reading.within(span, "now_on", "correction", "like"):
        return Void("past_habit", past[0].word)
    return _third_person(reading, span, subject)


def _third_person(reading: Reading, span: Span, subject: Subject) -> Void | None:
    """Somebody else says, wants or forbids it."""
    begins = occasion_end(reading, span)
    told = [hit for hit in reading.within((begins, span[1]), "attribution") if not _untold(reading, hit)]
    if told and subject not in {"user", "assistant"}:
        return Void("third_person", told[0].word)
    party = tells_fact(reading, span) if subject == "none" else ""
    ordered = reading.within(span, "must", "prohibit", "now_on", "like") or commands_in(reading, span)
    if party and not ordered:
        return Void("third_person", party)
    ruled = reading.within(span, "org_rule")
    if ruled and subject == "none" and not tells_of_work(reading, span, ruled[0].start):
        return Void("third_person", ruled[0].word)
    duties = reading.within(span, "must", "prohibit", "ought") if subject != "user" else []
    for body in reading.within(span, "org"):
        if any(0 <= duty.start - body.end <= _RULE_NEAR_CHARS for duty in duties):
            return Void("third_person", body.word)
    return None


def _untold(reading: Reading, hit: Hit) -> bool:
    """Whether nobody tells it: "the place is never mentioned", "prices are quoted to the cent"."""
    return reading.word_before(hit) in reading.lexicon.list("untold_after") and hit.word.endswith("ed")


def _signs(reading: Reading, span: Span, subject: Subject) -> Iterator[Sign]:
    yield from _duties(reading, span, subject)
    yield from _tastes(reading, span, subject)
    yield from _person(reading, span, subject)
    for hit in reading.within(span, "correction"):
        yield Sign("correction", hit.word, PROOF)
    for hit in reading.within(span, "mixup"):
        yield Sign("correction", hit.word, 0.4)
    right = _set_right(reading, span)
    if right:
        yield Sign("correction", right, PROOF)
    for hit in reading.within(span, "environment"):
        yield Sign("environment", hit.word, PROOF)


def _set_right(reading: Reading, span: Span) -> str:
    """The words that open or carry a correction of the form "no, it is X, not Y", empty when there is none."""
    found = reading.lexicon.pattern("set_right").search(reading.text[span[0] : span[1]])
    return next((word for word in found.groups() if word), "") if found else ""


def _duties(reading: Reading, span: Span, subject: Subject) -> Iterator[Sign]:
    """Prohibitions, duties, commands and customs; together with words of manner they steer the assistant itself."""
    cues = ("must", "prohibit") if subject in {"relation", "other"} else tuple(_DUTY_WEIGHTS)
    duties = [hit for hit in _widest(reading.within(span, *cues)) if _is_duty(reading, hit)]
    signs = [
        Sign("directive", hit.word, _HABIT_WEIGHT if tells_habit(reading, span, hit) else _DUTY_WEIGHTS[hit.cue])
        for hit in duties
    ]
    signs.extend(Sign("directive", hit.word, _ASKING_WEIGHT) for hit in reading.within(span, "ask_first"))
    if subject in {"user", "none", "assistant"} and not reading.within(span, "past_verb"):
        told = reading.within(span, "to_me") if reading.within(span, "condition") else []
        signs.extend(Sign("directive", hit.word, PROOF) for hit in told)
    commands = commands_in(reading, span)
    if not reading.in_words and reading.within(span, "date", "day") and reading.within(span, "completed", "ended"):
        commands = [(hit, False) for hit, _ in commands]  # "5月9日理事会：选马拉当司库" tells what was done
    taken = {hit.start for hit in duties}
    ours = subject in {"user", "other"} and reading.in_words  # "my practice is at seven, keep that hour free"
    for hit, opens in commands:
        if opens or (hit.start not in taken and (signs or len(hit.word) > 1)):
            signs.append(Sign("directive", hit.word, PROOF if opens or ours else _LATER_COMMAND_WEIGHT))
    signs.extend(_customs(reading, span, duties))
    always = arrangement(reading, span, subject)
    if always is not None:
        signs.append(Sign("convention", always.word, PROOF))
    yield from signs
    if sum(sign.weight for sign in signs) >= _DUTY_WEIGHTS["should"]:
        yield from _manner(reading, span, commanded=bool(commands) or subject == "assistant")


def _customs(reading: Reading, span: Span, duties: list[Hit]) -> Iterator[Sign]:
    """How things are done; a sentence about all of a kind makes a rule of weak signs too."""
    customs = _widest(reading.within(span, "practice", "allowed"))
    customs += reading.within(span, "topic")
    fact = tells_fact(reading, span)
    general = not fact and is_general(reading, span, [*duties, *customs])
    for hit in customs:
        yield Sign("convention", hit.word, _CUSTOM_WEIGHTS[general])
    made = None if fact else kind_of_work(reading, span)
    if made is not None:
        yield Sign("convention", made.word, PROOF)
    for hit in reading.within(span, "now_on"):
        yield Sign("convention", hit.word, PROOF if hit.first else 0.7)
    for hit in reading.within(span, "standing") if reading.in_words or not reading.within(span, "past_verb") else ():
        yield Sign("convention", hit.word, 0.4)
    if general:
        words = reading.text[span[0] : span[1]].split()
        yield Sign("convention", words[0] if reading.in_words else (duties or customs)[0].word, _GENERAL_BONUS)


def _manner(reading: Reading, span: Span, *, commanded: bool) -> Iterator[Sign]:
    """How the assistant is to talk, write, check or act. Words that also fit other work need a command beside them."""
    if reading.within(span, "product") and not reading.within(span, "to_user"):
        return
    for hit in reading.within(span, "behaviour", "manner"):
        if names_other_thing(reading, hit):
            continue
        if commanded or hit.cue == "behaviour" or (hit.first and not reading.in_words):
            yield Sign("behaviour", hit.word, 0.4)


def _widest(hits: list[Hit]) -> list[Hit]:
    """Without the hits that stand inside longer ones, such as "要" in "要先"."""
    return [
        hit
        for hit in hits
        if not any(
            other.start <= hit.start and hit.end <= other.end and other.end - other.start > hit.end - hit.start
            for other in hits
        )
    ]


def _is_duty(reading: Reading, hit: Hit) -> bool:
    """No measure ("要十二分钟" takes time), no name ("the Must family"), no part of a defect or of its end."""
    if hit.cue == "ought" and reading.lexicon.pattern("amount_after").match(reading.text, hit.end):
        return False
    if any(
        over.start <= hit.start and hit.end < over.end
        for over in reading.within(reading.sentence_of(hit), "completed", "fine")
    ):
        return False
    return reading.word_before(hit) not in reading.lexicon.list("articles") and not describes_defect(reading, hit)


def _tastes(reading: Reading, span: Span, subject: Subject) -> Iterator[Sign]:
    for hit in reading.within(span, "like"):
        yield Sign("preference", hit.word, _taste_weight(reading, span, subject, hit))
    if subject == "user" and not reading.within(span, "past_verb"):
        for hit in reading.within(span, "leaning"):
            yield Sign("preference", hit.word, PROOF)
        for hit in reading.within(span, "refrain"):
            yield Sign("preference", hit.word, 0.6)
        for hit in reading.within(span, "want"):
            manner = bool(reading.within(span, "behaviour", "manner"))
            sure = manner or wish(reading, span)
            yield Sign("behaviour" if manner else "preference", hit.word, PROOF if sure else 0.5)
    kept = habit(reading, span) if subject == "user" else None
    if kept is not None:
        yield Sign("preference", kept.word, PROOF)
        if reading.lexicon.pattern("recurring").search(reading.text[span[0] : span[1]]):
            yield Sign("convention", kept.word, PROOF)  # no day of once, as in a record


def _taste_weight(reading: Reading, span: Span, subject: Subject, hit: Hit) -> float:
    """Whose taste it is: the user's own, or that of a text without subject, or somebody else's."""
    if subject == "user" or any(0 <= hit.start - who.end <= 1 for who in reading.within(span, "user")):
        return PROOF
    others = reading.within((span[0], hit.start), "org", "other_person")
    if subject == "none" and not others and (hit.first or not reading.in_words):
        return PROOF if hit.start - span[0] <= _NEAR_CHARS else 0.5
    return 0.2


def _person(reading: Reading, span: Span, subject: Subject) -> Iterator[Sign]:
    """Who the user is and how they are."""
    told = [hit.word for hit in reading.within(span, "attribute")]
    trade = reading.lexicon.pattern("trade").search(reading.text[span[0] : span[1]].strip())
    if trade and subject in {"user", "none", "assistant"}:
        told.append(trade.group())
    for word in told:
        yield Sign("identity", word, 1.2)
    if subject in {"user", "none", "assistant", "relation"}:
        for hit in reading.within(span, "health"):
            near = subject == "user" or hit.start - span[0] < _HEALTH_NEAR_CHARS
            yield Sign("health", hit.word, 1.2 if near else 0.5)
    yield from _identity(reading, span, subject)


def _identity(reading: Reading, span: Span, subject: Subject) -> Iterator[Sign]:
    if subject == "user":
        tastes = {hit.start for hit in reading.within(span, "like")}
        for hit in reading.within(span, "identity", "profession"):
            if hit.start not in tastes:
                yield Sign("identity", hit.word, 1.2 if hit.cue == "identity" else PROOF)
    elif subject == "none" and not reading.within(span, "other_person", "org"):
        for hit in reading.within(span, "identity"):
            if hit.first or (not reading.in_words and leads(reading, span, hit)):
                yield Sign("identity", hit.word, 0.6)
