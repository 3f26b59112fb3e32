"""What a run of overflow answers; no decisions are made here."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memorycore import messages
from memorycore.answers_overflow import Later, Left, NextWrite, Overflown, OverflowRun
from memorycore.domain.memory import Memory
from memorycore.embed.contract import CHOICE_CODES, FAILS_FOR_GOOD
from memorycore.errors import HotFileError
from memorycore.govern.activity import Scanned
from memorycore.govern.overflow.forecast import Coming
from memorycore.govern.overflow.ladder import Entry
from memorycore.govern.overflow.plan import Plan
from memorycore.govern.overflow.sheet import Move
from memorycore.hot.document import DELIMITER, size
from memorycore.hot.tier import HotTier
from memorycore.lifecycle.retire import Rearranged
from memorycore.options import CoreOptions, Language

PREVIEW_CHARS = 120
_NO_MODEL = frozenset({*CHOICE_CODES, "off", "no_model"})
_TO = {"stub": "pointer", "cold": "cold", "bin": "bin"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run over one file, as it was planned and done.

    ``found``: its entries before, ``entries``: those that the plan is about. ``merged``: what left for another entry,
    and that one. ``shortened``: memories before and after, where a language model said them in fewer words;
    ``refused``: how often it was not taken at its word; ``usage``: of the file after that. ``unconfirmed``: entries
    that stay since the cold store elsewhere has no copy of them yet.
    """

    tier: HotTier
    found: Sequence[Entry] = ()
    entries: Sequence[Entry] = ()
    plan: Plan = field(default_factory=Plan)
    merged: Sequence[tuple[Memory, Memory, str]] = ()
    done: Rearranged | None = None
    run: str = ""
    shortened: Sequence[tuple[Memory, Memory]] = ()
    refused: int = 0
    usage: str = ""
    errors: int = 0
    unconfirmed: int = 0
    problem: HotFileError | None = None


def overflown(
    runs: Sequence[Run], scanned: Scanned, options: CoreOptions, *, dry_run: bool, no_model: str = ""
) -> Overflown:
    """``no_model``: why there are no vectors now, a code; empty where there are, or where nobody looked."""
    answer: Overflown = {
        "runs": [run_over(run, options.language, dry_run=dry_run) for run in runs],
        "dry_run": dry_run,
        "questions_read": scanned.queries,
        "strong_hits": scanned.strong,
        "weak_hits": scanned.weak,
        "degraded": degraded(options, no_model=scanned.why or no_model),
    }
    if scanned.threshold is not None:
        answer["threshold"] = round(scanned.threshold, 4)
    notes: list[str] = []
    if any("deferred" in run for run in answer["runs"]):
        minutes = f"{options.budget.session_idle_minutes:g}"
        notes.append(messages.text("overflow.note_deferred", options.language, minutes=minutes))
    if count := sum(run.unconfirmed for run in runs):
        notes.append(messages.text("overflow.note_unconfirmed", options.language, count=count))
    if notes:
        answer["note"] = " ".join(notes)
    return answer


def degraded(options: CoreOptions, *, no_model: str) -> list[str]:
    """What the ladder has to do without, and what that means. ``no_model``: why there are no vectors, a code."""
    codes: list[str] = []
    if not options.budget.enabled:
        codes.append("budget_off")
    if not options.activity_log:
        codes.append("log_off")
    if no_model and options.activity_log:
        one_text = no_model in FAILS_FOR_GOOD
        codes.append("vectors" if one_text else "no_model" if no_model in _NO_MODEL else "model_down")
    why = messages.text(f"why.{no_model}", options.language)
    return [messages.text(f"overflow.without_{code}", options.language, why=why) for code in codes]


def run_over(run: Run, language: Language, *, dry_run: bool) -> OverflowRun:
    """What became of one file, or would."""
    planned = run.plan
    moves = [move for move in planned.moves if dry_run or _is_done(move, run)]
    merged = [_merged(gone, kept, relation, language) for gone, kept, relation in run.merged]
    shorter = [_shorter(before, after, language) for before, after in run.shortened]
    limit = run.tier.limit
    usage = run.usage or (run.done.usage if run.done else "")
    before = size([entry.text for entry in run.found])
    after = int(usage.partition("/")[0]) if usage else planned.after
    answer: OverflowRun = {
        "target": run.tier.target,
        "limit": limit,
        "chars_before": before,
        "chars_after": after,
        "usage_before": f"{100 * before // limit}%",
        "usage_after": f"{100 * after // limit}%",
        "pressure": planned.pressure,
        "target_reached": planned.aim_reached,
        "overflowed": _count(moves, how="cold", but="pointer_folded"),
        "aged_sunk": sum(move.reason == "state_expired" for move in moves),
        "stubbed": _count(moves, how="stub"),
        "stub_gc": sum(move.reason == "pointer_folded" for move in moves),
        "retyped": sum(move.reason == "completed" for move in moves),
        "deleted": _count(moves, how="bin"),
        "merged": len(merged),
        "compressed": len(shorter),
        "kept": len(run.entries) - len(moves),
        "errors": run.errors + (len(run.done.kept) if run.done else 0) + (run.problem is not None),
        "entries": [*merged, *(left(move, language) for move in moves), *shorter],
    }
    if planned.pressure == "hard" and before <= run.tier.marks.hard:
        answer["for_next"] = True
    if run.unconfirmed:
        answer["unconfirmed"] = run.unconfirmed
    if run.refused:
        answer["compress_refused"] = run.refused
    if planned.deferred:
        answer["deferred"] = [left(move, language) for move in planned.deferred]
    if run.problem is not None:
        answer["problem"] = messages.error_text(run.problem, language)
    if dry_run:
        if moves or merged:
            answer["diff"] = diff(run)
    elif moves or merged or shorter:
        answer["undo"] = f"memorycore undo --run {run.run}"
    return answer


def _is_done(move: Move, run: Run) -> bool:
    return run.done is not None and move.entry.memory is not None and move.entry.memory.id in run.done.left


def _count(moves: Sequence[Move], *, how: str, but: str = "") -> int:
    return sum(move.how == how and move.reason != but for move in moves)


def left(move: Move, language: Language) -> Left:
    """One entry that leaves, as what and why."""
    told: Left = {
        "text": _preview(move.entry.text),
        "to": _TO[move.how],  # type: ignore[typeddict-item] one of the three
        "reason": move.reason,
        "why": messages.text(f"overflow.why_{move.reason}", language),
    }
    if move.entry.memory is not None:
        told["id"] = move.entry.memory.id
    if move.pointer:
        told["pointer"] = move.pointer
    return told


def next_write(planned: Plan, chars: int, language: Language) -> NextWrite:
    """What a text of so many code points would push out."""
    return {"chars": chars, "fits": planned.fits, "entries": [left(move, language) for move in planned.moves]}


def later(entries: Sequence[Entry], coming: Mapping[str, Coming], options: CoreOptions) -> list[Later]:
    """What leaves when, by the forecast, the soonest first."""
    told: list[Later] = [
        {
            "text": _preview(entry.text),
            "to": _TO[what.how],  # type: ignore[typeddict-item] one of the three
            "reason": what.reason,
            "why": messages.text(f"overflow.why_{what.reason}", options.language),
            "day": what.at.astimezone(options.timezone).date().isoformat(),
        }
        for entry in entries
        if (what := coming.get(entry.text)) is not None
    ]
    return sorted(told, key=lambda one: one["day"])


def _shorter(before: Memory, after: Memory, language: Language) -> Left:
    return {
        "text": before.content[:PREVIEW_CHARS],
        "to": "shorter",
        "reason": "compressed",
        "why": messages.text("overflow.why_compressed", language, text=after.content),
        "id": before.id,
    }


def _merged(gone: Memory, kept: Memory, relation: str, language: Language) -> Left:
    return {
        "text": _preview(gone.content),
        "to": "bin" if relation == "same" else "cold",
        "reason": relation,
        "why": messages.text(f"overflow.why_merged_{relation}", language, kept=_preview(kept.content)),
        "id": gone.id,
    }


def _preview(text: str) -> str:
    return text if len(text) <= PREVIEW_CHARS else text[: PREVIEW_CHARS - 1] + "…"


def diff(run: Run) -> str:
    """The file before and after, as a unified diff of its entries; what is masked in the store is masked in it."""
    name = run.tier.path.name
    hidden = {entry.text: entry.memory.content for entry in run.found if entry.memory and entry.is_hidden}
    before = DELIMITER.join(hidden.get(entry.text, entry.text) for entry in run.found)
    after = DELIMITER.join(hidden.get(text, text) for text in run.plan.texts_after(run.entries))
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), f"a/{name}", f"b/{name}", n=1, lineterm="")
    return "\n".join(lines)
