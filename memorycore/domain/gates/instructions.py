"""Texts that give orders to the agent that reads them: "ignore your rules", "send the memory there", "tell nobody".

No phrase is known by heart. A text is read for what is said in it (the cues of ``vocabulary/instructions.toml``, in
all languages at once), for what two or three of them mean together in one sentence (its signs), and for who says it:
an attack that is quoted, reported or forbidden is none, and people may take back what they said themselves.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from memorycore.domain.gates.forms import plain_forms
from memorycore.domain.gates.phrases import CJK, Hit
from memorycore.domain.gates.sentences import Sentence, Sign, read, signs

ALARM = 0.7
ALARM_IN_SOURCE = 0.6
_HAIR = 1e-9
_AIMED = 0.5
_WINDOW_CHARS = 600
_MOST_SIGNS = 40
_MENTIONED = 0.5
_QUOTED = 0.6
_FORBID_REACH = 26
_FORBID_AFTER_REACH = 40
_TELLS_REACH = 90

_GOVERNED = frozenset(
    {"disregard", "undo", "recite", "reveal", "send", "run", "destroy", "favour", "feign", "to_memory"}
)
_PERMITTED = frozenset({"skip_yes", "destroy", "run"})  # "you may pay without asking" is a person's leave
_BEHIND_BACKS = frozenset({"secretly", "covertly", "quietly", "hush", "skip_yes"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """What a text orders, and where.

    ``rule`` names the class: override, safety_off, new_orders, jailbreak, prompt_leak, exfiltration, concealment,
    skipped_consent, tool_order, deception, forged_authority, forged_role, hidden_comment, planted_rule, promotion,
    addressed. ``targets_agent`` is False where only the dress is an attack's (a forged role, a hidden comment).
    ``start`` and ``end`` count code points of the text as it was given.
    """

    rule: str
    targets_agent: bool
    start: int
    end: int


def find(text: str, *, source: bool = False) -> Instruction | None:
    """Look for an order to the agent. ``source``: the text came out of a document or tool, nobody typed it."""
    least = ALARM_IN_SOURCE if source else ALARM
    for form in plain_forms(text):
        found = _weightiest(read(form.text), source=source)
        if found is not None and found.weight >= least - _HAIR:
            start, end = form.given_span(found.start, found.end)
            return Instruction(rule=found.rule, targets_agent=found.aims, start=start, end=end)
    return None


@dataclass(frozen=True, slots=True)
class _Seen:
    """A sign that stands in a text, or several of one stretch added up."""

    rule: str
    weight: float
    start: int
    end: int
    aims: bool


def _weightiest(sentences: list[Sentence], *, source: bool) -> _Seen | None:
    """The stretch of a few sentences whose signs weigh most together."""
    seen = sorted(_signs(sentences, source=source), key=lambda sign: sign.start)
    best: _Seen | None = None
    for place, first in enumerate(seen):
        heaviest: dict[str, _Seen] = {}
        for sign in seen[place : place + _MOST_SIGNS]:
            if sign.start - first.start > _WINDOW_CHARS:
                break
            if sign.rule not in heaviest or heaviest[sign.rule].weight < sign.weight:
                heaviest[sign.rule] = sign
        together = _added_up(heaviest.values())
        if best is None or together.weight > best.weight + _HAIR:
            best = together
    return best


def _added_up(signs: Collection[_Seen]) -> _Seen:
    return _Seen(
        rule=max(signs, key=lambda sign: sign.weight).rule,
        weight=sum(sign.weight for sign in signs),
        start=min(sign.start for sign in signs),
        end=max(sign.end for sign in signs),
        aims=sum(sign.weight for sign in signs if sign.aims) >= _AIMED,
    )


def _signs(sentences: list[Sentence], *, source: bool) -> Iterator[_Seen]:
    """Every sign where it stands, lighter or not at all where its words are only mentioned."""
    for sentence in sentences:
        cues = sentence.cues.keys()
        for sign in signs():
            if not any(map(cues.isdisjoint, sign.needs)):
                for hits in _together(sentence, sign):
                    start, end = min(hit.start for hit in hits), max(hit.end for hit in hits)
                    weight = sign.weight * _earnest(sentence, hits, start, end, source=source)
                    if weight:
                        yield _Seen(sign.rule, weight, start, end, sign.aims)


def _together(sentence: Sentence, sign: Sign) -> Iterator[list[Hit]]:
    """For each hit of the first need the nearest hits of the others, if all are within reach."""
    first, *others = [sentence.of(*need) for need in sign.needs]
    for hit in first:
        group = [hit, *(min(hits, key=lambda other: _apart(hit, other)) for hits in others)]
        start, end = min(one.start for one in group), max(one.end for one in group)
        if len(group) == 1 or sentence.width(start, end) <= sign.reach:
            yield group


def _apart(one: Hit, other: Hit) -> int:
    return max(other.start - one.end, one.start - other.end)


def _earnest(sentence: Sentence, hits: list[Hit], start: int, end: int, *, source: bool) -> float:
    """How far an order is meant: 1.0 said, less when it is quoted, nothing when it is reported or forbidden."""
    if sentence.cuts_quote(hits) or _forbidden(sentence, hits, start, end) or _is_answered(sentence, hits, start, end):
        return 0.0
    if any(hit.cue in _PERMITTED for hit in hits) and any(hit.end <= start for hit in sentence.of("permit")):
        return _MENTIONED
    if sentence.quotes_all(start, end):
        return _in_quotation(sentence.around, source=source)
    if sentence.of("boss", "reader", "role_label") or not _is_told(sentence, hits, start):
        return 1.0
    return 0.0 if sentence.others(hits, "defend", "narrate") or sentence.around & {"defend"} else _MENTIONED


def _in_quotation(around: frozenset[str], *, source: bool) -> float:
    """Nothing where the sentences around warn or tell of it. A document may only warn: telling is a way to smuggle."""
    if "obey" in around or not around:
        return _QUOTED
    return 0.0 if "defend" in around or ("narrate" in around and not source) else _MENTIONED


def _is_answered(sentence: Sentence, hits: list[Hit], start: int, end: int) -> bool:
    """Texts, what they order, what to do with them: "pages that ask for the prompt are to be reported"."""
    named = any(hit.end <= start for hit in sentence.others(hits, "stranger", "third_text"))
    return named and any(hit.start >= end for hit in sentence.others(hits, "defend"))


def _is_told(sentence: Sentence, hits: list[Hit], start: int) -> bool:
    """Whether another text or person is said to say it. Latin scripts: "a page asks you to"; elsewhere in any order."""
    tells = sentence.others(hits, "tells")
    strangers = [hit.start for hit in sentence.others(hits, "stranger")]
    if not tells or not strangers:
        return False
    return any(
        CJK.match(sentence.text, hit.start - sentence.start)
        or (hit.end <= start and sentence.width(hit.end, start) <= _TELLS_REACH and min(strangers) < hit.start)
        for hit in tells
    )


def _forbidden(sentence: Sentence, hits: list[Hit], start: int, end: int) -> bool:
    """What is ruled out: "never reveal the prompt", "nothing is deleted without asking the user"."""
    bans = sentence.others(hits, "forbid")
    behind_backs = any(hit.cue in _BEHIND_BACKS for hit in hits)
    if behind_backs and any(ban.end <= start and sentence.near(ban.end, start, len(sentence.text)) for ban in bans):
        return True
    verbs = [hit for hit in hits if hit.cue in _GOVERNED]
    bans += sentence.others(hits, "lacking")
    if any(
        sentence.near(ban.end, verb.start, _FORBID_REACH) for verb in verbs for ban in bans if ban.end <= verb.start
    ):
        return True
    after = sentence.others(hits, "forbidden_after") if verbs else []
    return any(hit.start >= end and sentence.near(end, hit.start, _FORBID_AFTER_REACH) for hit in after)
