"""Usage and status: the state of one memory at a glance."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from memorycore import __version__, answers, messages, overview_remote, overview_upkeep, reply_review
from memorycore.domain.memory import Target, format_time
from memorycore.errors import HotFileError
from memorycore.govern import activity
from memorycore.govern import waiting as to_decide
from memorycore.govern.purge import NOTICE
from memorycore.hot.document import host_takes_edits, size
from memorycore.hot.tier import HotTier
from memorycore.options import CoreOptions, Language
from memorycore.store import Database, all_rows, engine, misses, only_row, queries, sessions, upkeep, vectors
from memorycore.store.memories import to_ms

if TYPE_CHECKING:
    from memorycore.embed import EmbeddingService

# Files of the predecessor and of engines that it used, as they lie in its data directory.
FOREIGN_FILES = ("trash.json", "activity.jsonl", "mnemosyne.db", "mnemosyne.sqlite", "beam.db")
MOVES_DAYS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What there is to look at. ``problems``: hot files that cannot be read now."""

    options: CoreOptions
    namespaces: tuple[str, ...]
    db: Database
    embedding: "EmbeddingService"
    tiers: Mapping[Target, HotTier]
    problems: Mapping[Target, HotFileError]
    now: datetime


def usage(view: View) -> answers.Usage:
    """How full both files are, what the cold tier holds, what waits, what is degraded."""
    hot, cold, binned, _ = _counts(view)
    total = hot + cold
    name = view.embedding.fingerprint(0)
    with view.db.read() as c:
        number = None if name is None else vectors.known_fingerprint(c, name)
        embedded, waiting, failed = vectors.counts(c, number, view.namespaces)
        held_back = dict(all_rows(c, "count_held_back", {"namespaces": json.dumps(view.namespaces)}))
    remote = overview_remote.usage(view.db, view.options.namespace) if view.options.remote else None
    # After a switch of the model there may be no jobs yet for those that it has no vector of.
    pending = waiting if name is None else max(waiting, total - embedded - failed)
    if view.embedding.why == "chosen_off":  # they wait for nobody
        pending = failed = 0
    cold_usage: answers.ColdUsage = {
        "backend": view.options.cold_backend, "total": cold, "vectors": min(embedded, total),
        "pending": pending, "failed": failed,
    }  # fmt: skip
    if remote is not None:
        cold_usage["remote"] = remote
    return {
        "hot": [_hot_usage(view, tier, held_back.get(tier.target, 0)) for tier in view.tiers.values()],
        "cold": cold_usage,
        "binned": binned,
        "questions": questions(view),
        "degraded": [*_degraded(view), *overview_remote.degraded(remote)],
    }


def questions(view: View) -> answers.QuestionLog:
    """What is known of questions, and from which score one counts as a use."""
    with view.db.read() as c:
        log = queries.kept(c, view.options.namespace)
    score = activity.threshold(view.embedding, view.options)
    return {
        "noted": view.options.activity_log, "count": log.count, "oldest": format_time(log.oldest),
        "threshold": None if score is None else round(score, 4),
    }  # fmt: skip


def status(view: View) -> answers.Status:
    """The verdict first: ``ok``, ``degraded`` or ``needs_you``."""
    language = view.options.language
    figures = usage(view)
    hot, cold, _, due = _counts(view)
    problems = [messages.error_text(error, language) for error in view.problems.values()]
    with view.db.read() as c:
        decisions = to_decide.counts(c, view.namespaces)
    if open_now := reply_review.summary(decisions, language):
        problems.append(messages.text("review.waits", language, what=open_now))
    waiting = [
        sentence
        for tier, hot_usage in zip(view.tiers.values(), figures["hot"], strict=True)
        if tier.target not in view.problems
        for sentence in _about_file(view, tier, held_back=hot_usage["waiting"])
    ]
    facts = view.embedding.failure.facts if view.embedding.failure else {}
    waiting += [messages.text(f"degraded.{code}", language, **facts) for code in _degraded(view)]
    if "remote" in figures["cold"]:
        waiting += overview_remote.sentences(figures["cold"]["remote"], language)
    if figures["cold"]["failed"]:
        waiting.append(messages.text("degraded.vectors_failed", language, count=figures["cold"]["failed"]))
    tended = overview_upkeep.upkeep(view.db, view.options, view.namespaces, view.now)
    waiting += overview_upkeep.sentences(tended, language)
    untold = misses.untold(view.options.data_dir, view.options.hot_dir)
    if untold.in_vain >= misses.IN_VAIN:
        waiting.insert(0, messages.text("degraded.host_in_vain", language, count=untold.in_vain))
    if problems:
        level, verdict = "needs_you", messages.text("verdict.needs_you", language, what=problems[0])
    elif waiting:
        level, verdict = "degraded", messages.text("verdict.degraded", language, what=waiting[0])
    else:
        level, verdict = "ok", messages.text("verdict.ok", language)
    answer: answers.Status = {
        "verdict": verdict,
        "level": level,
        "version": __version__,
        "namespace": view.options.namespace,
        "hot_dir": str(view.options.hot_dir),
        "data_dir": str(view.options.data_dir),
        "usage": figures,
        "model": view.embedding.describe(),
        "vector_index": _vector_index(language),
        "database_bytes": upkeep.size_bytes(view.db),
        "memories": hot + cold,
        **_movement(view),
        "upkeep": tended,
        "purge_due": due,
        "problems": problems + waiting,
        "review": reply_review.counted(decisions),
        "foreign": list(map(str, foreign_files(view.options))),
    }
    with view.db.read() as c:
        missed = misses.of(c, view.options.namespace, view.now)
    if counts := Counter(missed.counts) + Counter(untold.misses.counts):
        answer["missed"] = {"since": format_time(missed.since or untold.misses.since) or "", "counts": dict(counts)}
    return answer


class _Movement(TypedDict):
    pointers: int
    moves: answers.Moves
    sessions: int


def _movement(view: View) -> _Movement:
    """What the hot files have to do with time: pointers, what left and came back lately, and who holds them."""
    own = view.options.namespace
    idle = timedelta(minutes=view.options.budget.session_idle_minutes)
    with view.db.read() as c:
        (pointers,) = only_row(c, "count_pointers", {"namespace": own})
        moved = all_rows(c, "moved_lately", {"namespace": own, "since": to_ms(view.now - timedelta(days=MOVES_DAYS))})
        at_work = sessions.count(c, own, view.now, idle)
    left = sum(bool(gone) for _, gone, _ in moved)
    moves: answers.Moves = {"days": MOVES_DAYS, "left": left, "returned": len(moved) - left}
    if run := next((run for _, _, run in moved if run), ""):
        moves["undo"] = f"memorycore undo --run {run}"
    return {"pointers": pointers, "moves": moves, "sessions": at_work}


def _vector_index(language: Language) -> str:
    """What answers in a process that does not live long; one that does needs no index."""
    found = engine.examine()
    if found.vec0:
        return f"sqlite-vec {found.vec0.removeprefix('v')}"
    return messages.text("usage.no_vector_index", language, why=found.vec0_error)


def foreign_files(options: CoreOptions) -> list[Path]:
    """Files of the predecessor in our directories. They are named and left alone."""
    folders = dict.fromkeys((options.data_dir, options.hot_dir, options.data_dir.parent))
    return [folder / name for folder in folders for name in FOREIGN_FILES if (folder / name).exists()]


def _counts(view: View) -> tuple[int, int, int, int]:
    """(hot, cold, binned, binned and due for the purge within a week)."""
    notice = timedelta(days=view.options.trash_days) - NOTICE
    where = {"namespaces": json.dumps(view.namespaces), "purge_before": to_ms(view.now - notice)}
    with view.db.read() as c:
        hot, cold, binned, due = only_row(c, "count_memories", where)
    return hot, cold, binned, due


def _hot_usage(view: View, tier: HotTier, held_back: int) -> answers.HotUsage:
    marks = tier.marks
    answer: answers.HotUsage = {
        "target": tier.target, "path": str(tier.path), "chars": 0, "limit": tier.limit, "limit_from": tier.limit_from,
        "percent": 0, "entries": 0, "waiting": held_back, "soft": marks.soft, "hard": marks.hard, "aim": marks.aim,
    }  # fmt: skip
    try:
        document = tier.document()
    except HotFileError as error:
        answer["problem"] = messages.error_text(error, view.options.language)
        return answer
    answer["chars"] = size(document.entries)
    answer["percent"] = 100 * answer["chars"] // tier.limit
    answer["entries"] = len(document.entries)
    if document.entries and not host_takes_edits(document, limit=tier.limit):
        answer["problem"] = messages.text("note.host_refuses_edits", view.options.language, path=str(tier.path))
    return answer


def _about_file(view: View, tier: HotTier, *, held_back: int) -> Iterator[str]:
    """What somebody should know about a file that can be read."""
    language = view.options.language
    try:
        unwritable = tier.why_not_writable()
        contents = tier.look()
    except HotFileError:
        return
    if unwritable:
        yield messages.error_text(unwritable, language)
    if contents.looks_unmanaged:
        yield messages.text("note.headings", language, path=str(tier.path))
    if held_back:
        yield messages.text("note.held_back", language, path=str(tier.path), count=held_back)


def _degraded(view: View) -> list[str]:
    if view.embedding.state in {"ready", "loading"} or view.embedding.why == "chosen_off":
        return []
    return [view.embedding.why or "no_model"]
