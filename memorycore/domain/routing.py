"""Where a new text belongs: in the prompt (hot), in the cold store, or nowhere (stale), and why.

Structure decides together with words. A text is hot when it guides behaviour in its own voice, or when the caller
calls it important. A completed record of a stated day is cold whatever its importance. A short finished line with
nothing worth keeping is stale, but never when it gives a direction.
"""

import re
from dataclasses import dataclass
from typing import Literal

from memorycore.domain.completion import Completion, find_completion
from memorycore.domain.cues import Reading, read
from memorycore.domain.guidance import Guidance, find_guidance
from memorycore.domain.memory import Kind, Policy, Target
from memorycore.domain.mood import subject_of, with_user_named

Route = Literal["hot", "cold", "stale"]
EntryType = Literal["rule", "state"]

HOT_IMPORTANCE = 0.8
PROTECTING_IMPORTANCE = 0.9
LOW_IMPORTANCE = 0.5
GUIDES_FROM = 1.0
GUIDES_WHILE_DOUBTFUL_FROM = 1.3
STALE_TOLERATES = 0.4
_GUIDING_KINDS = frozenset({"preference", "rule", "correction", "identity"})
_OPENING_CHARS = 16
_READ_CHARS = 8_000  # a longer text is in no prompt, and its opening says what it is
# The lines around a key or a certificate: they begin and end something, and tell nobody to.
_ARMOUR = re.compile(r"-{4,5} ?(?:BEGIN|END) [A-Z0-9 ]{1,50}-{4,5}")
_STANDING = ("directive", "behaviour", "correction", "convention")
_ABOUT_USER = ("preference", "identity", "health")
_ESTIMATED_IMPORTANCE = {"protected": 0.85, "hot": 0.7, "cold": 0.5, "state": 0.4, "stale": 0.1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A stable code with the facts that a sentence about it needs."""

    code: str
    facts: tuple[tuple[str, str | float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """The decision about one text.

    ``protected`` holds codes (red_line, behaviour, correction, identity, health, importance), empty when the text is
    not protected; ``reasons`` come with the deciding one first. Kind, policy, target and importance are those the
    caller gave, estimated where none was given.
    """

    route: Route
    type: EntryType | None
    protected: tuple[str, ...]
    kind: Kind
    policy: Policy
    target: Target
    importance: float
    reasons: tuple[Reason, ...]


def route(
    content: str,
    *,
    importance: float | None = None,
    target: Target | None = None,
    kind: Kind | None = None,
    policy: Policy | None = None,
    tags: tuple[str, ...] = (),  # noqa: ARG001 part of the interface; tags have no vote yet
) -> Routing:
    """Decide where a text belongs. Pure; the first call loads the vocabulary."""
    reading = read(_ARMOUR.sub("…", content[:_READ_CHARS]))
    if target == "user":
        reading = with_user_named(reading)
    guidance = find_guidance(reading)
    completion = find_completion(reading)
    given = _given(importance, kind, policy)
    chosen, reason = _choose(guidance, completion, given)
    protected = _protection(reading, guidance, importance) if chosen == "hot" else ()
    state = chosen == "cold" and completion.recorded
    level = "protected" if protected else "state" if state else chosen
    return Routing(
        route=chosen,
        type="rule" if chosen == "hot" else "state" if state else None,
        protected=protected,
        kind=kind or _kind(reading, guidance, completion, chosen),
        policy=policy or _policy(chosen, protected),
        target=target or _target(reading, guidance, protected),
        importance=_ESTIMATED_IMPORTANCE[level] if importance is None else importance,
        reasons=(reason, *_further(reason, guidance, protected, importance, chosen)),
    )


def _given(importance: float | None, kind: Kind | None, policy: Policy | None) -> Reason | None:
    """What the caller said that makes a text hot by itself."""
    if importance is not None and importance >= HOT_IMPORTANCE:
        return Reason(code="importance_given", facts=(("importance", importance),))
    if kind in _GUIDING_KINDS:
        return Reason(code="kind_given", facts=(("kind", str(kind)),))
    if policy in {"core", "rule"}:
        return Reason(code="policy_given", facts=(("policy", str(policy)),))
    return None


def _choose(guidance: Guidance, completion: Completion, given: Reason | None) -> tuple[Route, Reason]:
    guides = _guides(guidance, completion)
    if completion.status and not _might_guide(guidance):
        return "stale", Reason(code="finished_status", facts=(("word", completion.status),))
    if completion.recorded and not guidance.proves(*_STANDING):
        return "cold", Reason(code="dated_record", facts=(("date", completion.dated), ("word", completion.finished)))
    if guides:
        sign = guidance.signs[0]
        return "hot", Reason(code=sign.code, facts=(("word", sign.word),))
    if given is not None:
        return "hot", given
    return "cold", _why_cold(guidance, completion)


def _might_guide(guidance: Guidance) -> bool:
    """The least sign of guidance keeps a text from the bin; "all" alone is none ("All tests green")."""
    customs = sum(sign.weight for sign in guidance.of("convention"))
    return customs > STALE_TOLERATES or bool(guidance.of("directive", "behaviour", "environment", *_ABOUT_USER))


def _guides(guidance: Guidance, completion: Completion) -> bool:
    """Whether the signs suffice. Plans and records are full of "first" and "only", so they need more of them."""
    told = completion.pending or completion.dated
    doubtful = told and not guidance.proves(*_STANDING, *_ABOUT_USER)
    return guidance.weight >= (GUIDES_WHILE_DOUBTFUL_FROM if doubtful else GUIDES_FROM)


def _why_cold(guidance: Guidance, completion: Completion) -> Reason:
    if completion.pending:
        return Reason(code="pending", facts=(("word", completion.pending),))
    if guidance.voids:
        void = guidance.voids[0]
        return Reason(code=void.code, facts=(("word", void.word),))
    if completion.finished and completion.kept_for:
        return Reason(
            code="finished_with_content", facts=(("word", completion.finished), ("kept", completion.kept_for))
        )
    return Reason(code="plain_fact")


def _further(
    first: Reason, guidance: Guidance, protected: tuple[str, ...], importance: float | None, chosen: Route
) -> tuple[Reason, ...]:
    """Reasons after the deciding one: other signs, protection, and an importance that did not get its way."""
    found: list[Reason] = []
    if chosen == "hot":
        found.extend(Reason(code=sign.code, facts=(("word", sign.word),)) for sign in guidance.signs)
        found.extend(Reason(code=code) for code in protected if code == "red_line")
        if importance is not None and importance < LOW_IMPORTANCE:
            found.append(Reason(code="low_importance_ignored", facts=(("importance", importance),)))
    elif importance is not None and importance >= HOT_IMPORTANCE:
        code = "status_outranks_importance" if chosen == "stale" else "record_outranks_importance"
        found.append(Reason(code=code, facts=(("importance", importance),)))
    by_code = {reason.code: reason for reason in reversed(found) if reason.code != first.code}
    return tuple(reversed(by_code.values()))


def _protection(reading: Reading, guidance: Guidance, importance: float | None) -> tuple[str, ...]:
    """Codes of what must outlive trivia: red lines, manners, corrections, identity, health, great importance."""
    found: list[str] = []
    if guidance.of("directive") and (reading.has("absolute") or _asks_first(reading) or _forbids_harm(reading)):
        found.append("red_line")
    if guidance.of("behaviour"):
        found.append("behaviour")
    found.extend(code for code in ("correction", "identity", "health") if guidance.suggests(code))
    if importance is not None and importance >= PROTECTING_IMPORTANCE:
        found.append("importance")
    return tuple(found)


def _asks_first(reading: Reading) -> bool:
    """A duty to ask; leave to do it "without asking" is the opposite of one."""
    granted = reading.lexicon.pattern("granted")
    return reading.has("ask_first") and not granted.search(reading.text)


def _forbids_harm(reading: Reading) -> bool:
    """A prohibition and what it protects, in one sentence."""
    bans = reading.of("prohibit")
    if not reading.has("like"):  # "宁可坐电车也不开车" is a taste
        bans += [hit for hit in reading.of("refrain") if hit.word.startswith("不")]
    done = reading.of("completed")
    return any(
        not any(over.start <= hit.start < over.end for over in done)  # "deleted fields" need no protection
        for ban in bans
        for hit in reading.within(reading.sentence_of(ban), "harm")
    )


def _policy(chosen: Route, protected: tuple[str, ...]) -> Policy:
    if {"red_line", "identity", "health"}.intersection(protected):
        return "core"
    return {"hot": "rule", "cold": "fact", "stale": "episode"}[chosen]  # type: ignore[return-value]


_KIND_OF_SIGN: dict[str, Kind] = {
    "correction": "correction", "identity": "identity", "health": "identity", "preference": "preference",
    "directive": "rule", "convention": "rule", "behaviour": "rule", "environment": "reference",
}  # fmt: skip


def _kind(reading: Reading, guidance: Guidance, completion: Completion, chosen: Route) -> Kind:
    if chosen == "hot" and guidance.weight >= GUIDES_FROM:
        if guidance.proves("correction"):
            return "correction"
        return _KIND_OF_SIGN[guidance.signs[0].code]
    if completion.finished and reading.has("decided"):
        return "decision"
    if completion.recorded or chosen == "stale":
        return "event"
    return "person" if subject_of(reading, reading.sentences[0]) == "relation" else "fact"


def _target(reading: Reading, guidance: Guidance, protected: tuple[str, ...]) -> Target:
    """What is about the person or the manners they want goes to the user's file, all else to the memory file."""
    if {"red_line", "correction"}.intersection(protected) and not {"identity", "health"}.intersection(protected):
        return "memory"
    personal = guidance.weight >= GUIDES_FROM and guidance.of("behaviour", *_ABOUT_USER)
    near = [hit for hit in reading.of("user", "relation") if hit.start - reading.sentences[0][0] <= _OPENING_CHARS]
    return "user" if personal or near else "memory"
