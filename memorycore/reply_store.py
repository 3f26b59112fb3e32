"""What a store answers, and what its dry run does; no decisions are made here."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import cast

from memorycore import answers, messages, reply_judge
from memorycore.domain.memory import Memory
from memorycore.domain.routing import Reason
from memorycore.intake import QUARANTINED, Admitted, Candidate, Decision, GateNote, Judged, Outcome, Preview, Recorded
from memorycore.options import CoreOptions

NO_MODEL = "none"  # then there is nothing to wait for
_KNOWN = frozenset({"active", "superseded"})
_NOTES = {
    "quota_full": GateNote(gate="quota", action="refused"),
    "pointer": GateNote(gate="noise", action="refused", rules=("pointer",)),
}
_KEPT = frozenset({"hot", "cold", "fallback"})


def stored(item: Admitted, options: CoreOptions) -> answers.Stored:
    """What a store answers, after everything was done."""
    candidate, recorded = item.candidate, item.recorded
    memory = recorded.memory
    own = () if candidate.refused else candidate.reasons
    reasons = [*recorded.reasons, *(reason for reason in own if _still_true(reason, recorded))]
    if recorded.outcome == "fallback":
        reasons.insert(0, Reason(code="no_room" if item.failure is None else "file_unusable"))
    answer = _decided(candidate, reasons, options)
    hot = memory.residence == "hot"
    answer["protected"] = bool(memory.protected) if recorded.outcome in _KEPT else answer["protected"]
    answer["status"], answer["tier"] = _status(recorded.outcome, recorded.decision, hot=hot)
    if recorded.outcome == "refused":
        why = recorded.reasons[0]
        if own_note := _NOTES.get(why.code):
            answer["gates"] = _findings((*candidate.gates, own_note), spans=False)
        answer["code"] = why.code
        answer["message"] = messages.text(why.code, options.language, **dict(why.facts))
        if memory.state == "trashed" and memory.seq:  # it is there all the same, and can be restored
            answer["tier"], answer["id"] = "bin", memory.id
        return answer
    answer["id"] = memory.id
    if item.failure is not None:
        answer["note"] = messages.error_text(item.failure, options.language)
    if hot or recorded.outcome == "fallback":  # the file that it is in, or was meant for
        answer["target"] = memory.target
    if recorded.before and recorded.before != candidate.memory.content:
        answer["before"], answer["after"] = recorded.before, candidate.memory.content
        answer |= _when_there("why", _why(recorded.decision, options))
    if recorded.outcome in {"stale", "quarantined"}:
        answer["note"] = messages.text("note.in_bin_until", options.language, until=_until(memory, options))
    answer |= _when_there("usage", item.usage)
    answer |= _when_there("made_room", _made_room(item))
    answer |= _when_there("pending", [] if options.embed.model == NO_MODEL else _pending(recorded))
    answer |= _when_there("undo", _undo(recorded))
    answer |= _when_there("gates", _findings(candidate.gates, spans=False))
    return answer


def _still_true(reason: Reason, recorded: Recorded) -> bool:
    """Nothing waits of a text that somebody has let in, or has seen and not let in."""
    known = {"known_already", "rejected_before"}
    return reason.code != "injection_quarantined" or known.isdisjoint(one.code for one in recorded.reasons)


def _when_there(name: str, value: object) -> answers.Stored:
    return cast("answers.Stored", {name: value} if value else {})


def preview(item: Preview, options: CoreOptions) -> answers.Stored:
    """What a store would answer; room in the file is not looked at."""
    candidate, same = item.candidate, item.same
    reasons = [*_follows(item.decision), *item.reasons, *candidate.reasons]
    if candidate.refused:
        reasons = list(item.reasons) or [Reason(code=candidate.refused)]
    elif same is not None and same.state in _KNOWN:
        reasons.insert(0, Reason(code="known_already"))
    answer = _decided(candidate, reasons, options)
    answer["dry_run"] = True
    answer["importance"] = candidate.memory.importance
    notes = [*candidate.gates, *([_NOTES["pointer"]] if candidate.refused == "pointer" else [])]
    if same is not None and same.state in _KNOWN:
        notes.append(GateNote(gate="duplicate", action="kept"))
        answer["id"] = same.id
    answer["gates"] = _findings(notes, spans=True)
    answer["judge"] = [_verdict(judged, options) for judged in item.decision.judged]
    hidden = any(note.action in {"masked", "redacted"} for note in candidate.gates)
    if hidden and not candidate.refused:
        answer["masked"] = candidate.memory.content
    if (deciding := _deciding(item.decision)) is not None:
        answer["before"], answer["after"] = deciding.memory.content, candidate.memory.content
        answer |= _when_there("why", _why(item.decision, options))
    outcome, hot = _would_be(item)
    answer["status"], answer["tier"] = _status(outcome, item.decision, hot=hot)
    return answer


def _would_be(item: Preview) -> tuple[Outcome, bool]:
    """The outcome, and whether the text would then be hot."""
    candidate, same, into = item.candidate, item.same, item.decision.into
    if candidate.refused:
        return "refused", False
    if same is not None and same.state in _KNOWN:
        return "known", same.residence == "hot"
    if candidate.memory.state == "trashed":
        return ("quarantined" if candidate.memory.trash_reason == QUARANTINED else "stale"), False
    if into is not None:
        was_hot = into.memory.residence == "hot"
        return ("known", was_hot) if into.relation == "same" else ("updated", was_hot or candidate.hot)
    hot = candidate.hot and not item.decision.waits
    return ("hot" if hot else "cold"), hot


def _decided(candidate: Candidate, reasons: Iterable[Reason], options: CoreOptions) -> answers.Stored:
    routing = candidate.routing
    answer: answers.Stored = {
        "status": "stored",
        "tier": "none",
        "route": routing.route,
        "type": routing.type,
        "protected": bool(candidate.memory.protected),
        "reasons": [messages.reason(reason.code, options.language, **dict(reason.facts)) for reason in reasons],
    }
    if candidate.draft.ref:
        answer["ref"] = candidate.draft.ref
    return answer


_BY_OUTCOME: dict[Outcome, tuple[answers.StoreStatus, answers.StoreStatus]] = {  # what is said of cold, and of hot
    "refused": ("refused", "refused"),
    "stale": ("stale", "stale"),
    "quarantined": ("quarantined", "quarantined"),
    "known": ("cold_duplicate", "duplicate"),
    "updated": ("cold_updated", "updated"),
    "fallback": ("cold_stored_fallback", "cold_stored_fallback"),
    "cold": ("cold_stored", "cold_stored"),
    "hot": ("stored", "stored"),
}


def _status(outcome: Outcome, decision: Decision, *, hot: bool) -> tuple[answers.StoreStatus, answers.Tier]:
    status = _BY_OUTCOME[outcome][hot]
    if outcome in _KEPT and decision.superseded:
        status = "superseded"
    elif outcome in _KEPT and (decision.disputed or decision.proposed):
        status = "disputed"
    if outcome in {"refused", "stale", "quarantined"}:
        return status, "none" if outcome == "refused" else "bin"
    return status, "hot" if hot else "cold"


def _made_room(item: Admitted) -> answers.MadeRoom | None:
    count = item.recorded.pushed_out
    return {"count": count, "undo": f"memorycore undo --run {item.run}"} if count else None


def _pending(recorded: Recorded) -> list[str]:
    if recorded.vector:
        return []
    return ["vector"] if recorded.outcome == "updated" else ["vector", "judge"] if recorded.outcome in _KEPT else []


def _undo(recorded: Recorded) -> str:
    """The command that takes back what was decided; a text that was only added is forgotten."""
    if recorded.events:
        return f"memorycore undo {recorded.events[0]}"
    return f"memorycore forget {recorded.memory.id}" if recorded.outcome in _KEPT else ""


def _follows(decision: Decision) -> Sequence[Reason]:
    """The reasons of a decision, for a text that was not stored."""
    if decision.into is not None:
        return (Reason(code=decision.into.relation),)
    told = (
        ("supersedes", decision.superseded),
        ("disputes", decision.disputed),
        ("exception_to", decision.exceptions),
        ("proposed", decision.proposed),
    )
    return tuple(Reason(code=code) for code, judged in told if judged)


def _deciding(decision: Decision) -> Judged | None:
    """The first verdict that anything follows from."""
    found = (decision.superseded, decision.disputed, decision.proposed, decision.exceptions)
    return decision.into or next((judged[0] for judged in found if judged), None)


def _why(decision: Decision, options: CoreOptions) -> list[str]:
    """What the verdict rests on, in sentences."""
    deciding = _deciding(decision)
    signs = () if deciding is None else deciding.verdict.evidence
    return [sign["says"] for sign in reply_judge.evidence(signs, options.language)]


def _findings(notes: Iterable[GateNote], *, spans: bool) -> list[answers.GateFinding]:
    return [
        {
            "gate": note.gate,
            "action": note.action,
            "rules": list(note.rules),
            "spans": list(note.spans) if spans else [],
        }
        for note in notes
    ]


def _verdict(judged: Judged, options: CoreOptions) -> answers.Verdict:
    answer: answers.Verdict = {
        "id": judged.memory.id,
        "relation": judged.verdict.relation,
        "evidence": reply_judge.evidence(judged.verdict.evidence, options.language),
        "content": judged.memory.content,
    }
    if judged.verdict.limited:
        answer["limited"] = True
    if judged.proposed:
        answer["proposed"] = True
    return cast("answers.Verdict", answer)


def _until(memory: Memory, options: CoreOptions) -> str:
    until = (memory.trashed_at or memory.updated_at) + timedelta(days=options.trash_days)
    return until.date().isoformat()
