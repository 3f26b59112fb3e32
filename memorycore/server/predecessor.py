"""Keys that set-ups made for the predecessor read, beside the ones of ``answers``.

Rules and prompts written for it name ``memory_id``, ``usage_after``, ``final_score`` and the shape of the usage
report; they keep working.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from memorycore.answers import Audited, AuditRow, AuditTarget, Recalled, Stored, Usage
from memorycore.answers_overflow import Left, Overflown, OverflowRun
from memorycore.answers_upkeep import Maintained

# What the predecessor counted in a run of maintenance, by what steps count here.
COUNTED_OF_STEPS: Mapping[str, Sequence[str]] = {
    "scanned": ("looked_at",),
    "merged": ("merged",),
    "cleaned": ("ended",),
    "conflicts_resolved": ("disputed",),
    "reversals_resolved": ("proposed",),
    "candidates_processed": ("would_merge", "would_open"),
    "trash_cleared": ("purged",),
    "trash_revived": (),
    "forgotten": ("binned",),
    "pending_stale": (),
}
# What the predecessor counted and a run here does not do: entries are stamped when they are noticed, not by overflow.
NOT_COUNTED: Mapping[str, int] = {"updated": 0, "metadata_stamped": 0}


def stored(answer: Stored) -> Mapping[str, Any]:
    """``memory_id`` for what went cold, ``usage_after`` for what went into a file."""
    added: dict[str, Any] = {}
    if answer["tier"] == "cold" and "id" in answer:
        added["memory_id"] = answer["id"]
    if "usage" in answer:
        added["usage_after"] = answer["usage"]
    return {**answer, **added}


def recalled(answer: Recalled) -> Mapping[str, Any]:
    """``final_score`` beside ``score``."""
    return {**answer, "results": [{**found, "final_score": found["score"]} for found in answer["results"]]}


def usage(answer: Usage) -> Mapping[str, Any]:
    """``local`` by target, and ``thresholds`` in code points (those of MEMORY.md)."""
    local = {
        hot["target"]: {"chars": hot["chars"], "pct": hot["percent"], "limit": hot["limit"]} for hot in answer["hot"]
    }
    marks = next((hot for hot in answer["hot"] if hot["target"] == "memory"), None)
    thresholds = (
        {"soft_60": marks["soft"], "hard_80": marks["hard"], "target_40": marks["aim"]} if marks is not None else {}
    )
    return {**answer, "local": local, "thresholds": thresholds}


def audited(answer: Audited) -> Mapping[str, Any]:
    """Per target ``usage_pct``, ``keep``, ``sink_candidates`` and ``sink_chars``."""
    return {**answer, "targets": [_audited_target(target) for target in answer["targets"]]}


def _audited_target(target: AuditTarget) -> Mapping[str, Any]:
    sinking = [row for row in target["rows"] if row["sink_candidate"]]
    counts = {
        "usage_pct": target["percent"],
        "keep": len(target["rows"]) - len(sinking),
        "sink_candidates": len(sinking),
        "sink_chars": sum(row["chars"] for row in sinking),
    }
    return {**target, **counts, "rows": [{"keep": not row["sink_candidate"], **_lean(row)} for row in target["rows"]]}


def overflown(answer: Overflown) -> Mapping[str, Any]:
    """Every count of the predecessor's report per target. Entries are told in codes, and the diff is left out."""
    return {**answer, "runs": [{**NOT_COUNTED, **_lean_run(run)} for run in answer["runs"]]}


def maintained(answer: Maintained, usage: Usage) -> Mapping[str, Any]:
    """The counts of the predecessor's report over all steps; each step as short as it can be told."""
    counts = {new: sum(_count(step, names) for step in answer["steps"]) for new, names in COUNTED_OF_STEPS.items()}
    cold = usage["cold"]
    errors = [step["step"] for step in answer["steps"] if step["outcome"] in {"failed", "lost"}]
    told = {
        "vector_ok": cold["vectors"] == cold["total"], "total": cold["total"], "embeddings": cold["vectors"],
        "errors": errors,
    }  # fmt: skip
    return {**answer, "steps": list(map(_lean_step, answer["steps"])), **counts, **told}


def _count(step: Mapping[str, object], names: Sequence[str]) -> int:
    return sum(value for name in names if isinstance(value := step.get(name), int))


def _lean_step(step: Mapping[str, object]) -> Mapping[str, Any]:
    """A step without what it found nothing of."""
    return {name: value for name, value in step.items() if value not in (0, False, None, "", [])}


def _lean_run(run: OverflowRun) -> Mapping[str, Any]:
    told: dict[str, Any] = {name: value for name, value in run.items() if name != "diff"}
    told["entries"] = list(map(_lean_left, run["entries"]))
    if "deferred" in run:
        told["deferred"] = list(map(_lean_left, run["deferred"]))
    return told


def _lean_left(left: Left) -> Mapping[str, Any]:
    """What left, without the sentence that its code stands for."""
    return {name: value for name, value in left.items() if name != "why"}


def _lean(row: AuditRow) -> Mapping[str, Any]:
    """The row without empty fields and without the hash, which only programs compare (the command prints it)."""
    return {key: value for key, value in row.items() if key != "sha256" and value not in (None, "", [])}
