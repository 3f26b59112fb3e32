"""What an import answers about each record; no decisions are made here."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from memorycore import answers, messages
from memorycore.answers_import import Becomes, Imported, ImportedFile, ImportedRecord, ImportProblem
from memorycore.domain.cut import beginning
from memorycore.domain.routing import Reason
from memorycore.errors import MemoryCoreError
from memorycore.intake import Admitted
from memorycore.options import CoreOptions, Language
from memorycore.transfer.found import Found, Item, Problem

LONGEST_SHOWN = 120
NEW: frozenset[Becomes] = frozenset({"hot", "cold", "pointer", "bin", "past", "quarantined", "question"})
_TOLD = frozenset({"imported", "known_already"})  # the record says so itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one item. ``reasons`` are those beside what the item itself knows."""

    item: Item
    becomes: Becomes
    memory_id: str = ""
    text: str = ""
    reasons: tuple[Reason, ...] = ()
    gates: Sequence[answers.GateFinding] = ()


def of(item: Item, admitted: Admitted) -> Outcome:
    """The outcome of a memory that was let in, or not."""
    candidate, recorded = admitted.candidate, admitted.recorded
    reasons = [*recorded.reasons, *candidate.reasons]
    if recorded.outcome == "fallback":
        reasons.insert(0, Reason(code="no_room" if admitted.failure is None else "file_unusable"))
    gates: list[answers.GateFinding] = [
        {"gate": note.gate, "action": note.action, "rules": list(note.rules), "spans": []} for note in candidate.gates
    ]
    return Outcome(
        item=item,
        becomes=_becomes(admitted),
        memory_id="" if recorded.outcome == "refused" and not recorded.memory.seq else recorded.memory.id,
        text=candidate.memory.content,
        reasons=tuple(dict.fromkeys(reason for reason in reasons if reason.code not in _TOLD)),
        gates=gates,
    )


def _becomes(admitted: Admitted) -> Becomes:
    recorded = admitted.recorded
    match recorded.outcome:
        case "refused":
            return "refused"
        case "known" | "updated":
            return "known"
        case "quarantined" | "stale" if not recorded.events:  # it was there
            return "known"
        case "quarantined":
            return "quarantined"
        case "stale":
            return "bin" if recorded.memory.state == "trashed" else "past"
        case _:
            return "hot" if recorded.memory.residence == "hot" or recorded.outcome == "hot" else "cold"


def answer(
    found: Sequence[Found], outcomes: Mapping[int, Sequence[Outcome]], options: CoreOptions, *, run: str, dry_run: bool
) -> Imported:
    """The whole answer. ``outcomes``: of each file, by its number."""
    lang = options.language
    records = [
        _record(found[number].path, outcome, lang) for number, several in outcomes.items() for outcome in several
    ]
    files = [_file(one, outcomes.get(number, ())) for number, one in enumerate(found)]
    problems = [problem_of(problem, lang) for one in found for problem in one.problems]
    new = sum(one["new"] for one in files)
    status = "nothing_found" if not found else "trial" if dry_run else "imported" if new else "nothing_new"
    done: Imported = {
        "ok": not problems, "status": status, "files": files, "problems": problems, "records": records, "new": new,
    }  # fmt: skip
    if dry_run:
        done["dry_run"] = True
    elif any(record["becomes"] in NEW - {"question"} for record in records):
        done["run"] = run
        done["undo"] = f"memorycore undo --run {run}"
    return done


def _file(one: Found, outcomes: Iterable[Outcome]) -> ImportedFile:
    counts = Counter(outcome.becomes for outcome in outcomes)
    return {
        "path": str(one.path), "what": one.what, "found": len(one.items) + len(one.pointers),
        "new": sum(count for becomes, count in counts.items() if becomes in NEW), "counts": {**counts},
    }  # fmt: skip


def _record(path: Path, outcome: Outcome, lang: Language) -> ImportedRecord:
    item = outcome.item
    own = [Reason(code=code) for code in (*([item.left_out] if item.left_out else []), *item.notes)]
    reasons = [messages.reason(one.code, lang, **dict(one.facts)) for one in outcome.reasons]
    record: ImportedRecord = {
        "path": str(path),
        "ref": item.ref,
        "becomes": outcome.becomes,
        "text": beginning(outcome.text, LONGEST_SHOWN),
        "reasons": [*(f"{one.code}: {messages.text(f'import.{one.code}', lang)}" for one in own), *reasons],
    }
    if outcome.memory_id:
        record["id"] = outcome.memory_id
    if outcome.gates:
        record["gates"] = list(outcome.gates)
    return record


def problem_of(problem: Problem, lang: Language) -> ImportProblem:
    """A problem in words, with the next step where there is one."""
    facts = {**problem.facts, "path": str(problem.path)}
    error = problem.facts.get("error")
    if isinstance(error, MemoryCoreError):
        facts["error"] = messages.error_text(error, lang, of_a_line=bool(problem.where))
    code = f"import.{problem.code}"
    told: ImportProblem = {
        "path": str(problem.path),
        "code": problem.code,
        "message": messages.text(code, lang, **facts) if messages.has(code, lang) else _as_error(problem, lang),
    }
    if problem.where:
        told["where"] = problem.where
    if messages.has(f"{code}_fix", lang):
        told["fix"] = messages.text(f"{code}_fix", lang, **facts)
    return told


def _as_error(problem: Problem, lang: Language) -> str:
    """The sentence of an error that is none of the import's own."""
    facts = {"path": str(problem.path), **problem.facts}
    return messages.text(problem.code, lang, **cast("dict[str, str]", facts))
