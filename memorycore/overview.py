"""Usage and status: the state of one memory at a glance."""

import json
from datetime import timedelta
from typing import TYPE_CHECKING

from memorycore import __version__, answers, messages
from memorycore.errors import HotFileError
from memorycore.hot.document import host_takes_edits, size
from memorycore.store import only_row, upkeep, vectors
from memorycore.store.memories import to_ms

if TYPE_CHECKING:
    from memorycore.core import MemoryCore
    from memorycore.hot.tier import HotTier

# Files of the predecessor and of engines that it used, as they lie in its data directory.
FOREIGN_FILES = ("trash.json", "activity.jsonl", "mnemosyne.db", "mnemosyne.sqlite", "beam.db")
PURGE_NOTICE_DAYS = 7


def usage(core: "MemoryCore") -> answers.Usage:
    """How full both files are, what the cold tier holds, what waits, what is degraded."""
    hot, cold, binned, _ = _counts(core)
    name = core.embedding.fingerprint(0)
    with core.db.read() as c:
        number = None if name is None else vectors.known_fingerprint(c, name)
        embedded, waiting, failed = vectors.counts(c, number, core.namespaces)
    return {
        "hot": [_hot_usage(core, tier) for tier in core.tiers.values()],
        "cold": {
            "backend": core.options.cold_backend, "total": cold, "vectors": min(embedded, hot + cold),
            "pending": waiting, "failed": failed,
        },
        "binned": binned,
        "degraded": _degraded(core),
    }  # fmt: skip


def status(core: "MemoryCore") -> answers.Status:
    """The verdict first: ``ok``, ``degraded`` or ``needs_you``."""
    language = core.options.language
    figures = usage(core)
    hot, cold, _, due = _counts(core)
    problems = [messages.error_text(error, language) for error in core.problems.values()]
    waiting = [messages.text(f"degraded.{code}", language) for code in figures["degraded"]]
    if figures["cold"]["failed"]:
        waiting.append(messages.text("degraded.vectors_failed", language, count=figures["cold"]["failed"]))
    if problems:
        level, verdict = "needs_you", messages.text("verdict.needs_you", language, what=problems[0])
    elif waiting:
        level, verdict = "degraded", messages.text("verdict.degraded", language, what=waiting[0])
    else:
        level, verdict = "ok", messages.text("verdict.ok", language)
    return {
        "verdict": verdict,
        "level": level,
        "version": __version__,
        "namespace": core.options.namespace,
        "hot_dir": str(core.options.hot_dir),
        "data_dir": str(core.options.data_dir),
        "usage": figures,
        "model": core.embedding.describe(),
        "database_bytes": upkeep.size_bytes(core.db),
        "memories": hot + cold,
        "purge_due": due,
        "problems": problems + waiting,
        "foreign": foreign_files(core),
    }


def foreign_files(core: "MemoryCore") -> list[str]:
    """Files of the predecessor in our directories. They are named and left alone."""
    folders = dict.fromkeys((core.options.data_dir, core.options.hot_dir))
    return [str(folder / name) for folder in folders for name in FOREIGN_FILES if (folder / name).exists()]


def _counts(core: "MemoryCore") -> tuple[int, int, int, int]:
    """(hot, cold, binned, binned and due for the purge within a week)."""
    notice = timedelta(days=core.options.trash_days - PURGE_NOTICE_DAYS)
    where = {"namespaces": json.dumps(core.namespaces), "purge_before": to_ms(core.now() - notice)}
    with core.db.read() as c:
        hot, cold, binned, due = only_row(c, "count_memories", where)
    return hot, cold, binned, due


def _hot_usage(core: "MemoryCore", tier: "HotTier") -> answers.HotUsage:
    limit = core.options.hot_limits[tier.target]
    marks = core.options.thresholds[tier.target]
    answer: answers.HotUsage = {
        "target": tier.target, "path": str(tier.path), "chars": 0, "limit": limit.chars, "limit_from": limit.where_from,
        "percent": 0, "entries": 0, "soft": marks.soft, "hard": marks.hard, "aim": marks.aim,
    }  # fmt: skip
    try:
        document = tier.document()
    except HotFileError as error:
        answer["problem"] = messages.error_text(error, core.options.language)
        return answer
    answer["chars"] = size(document.entries)
    answer["percent"] = 100 * answer["chars"] // limit.chars
    answer["entries"] = len(document.entries)
    if document.entries and not host_takes_edits(document, limit=limit.chars):
        answer["problem"] = messages.text("note.host_refuses_edits", core.options.language, path=str(tier.path))
    return answer


def _degraded(core: "MemoryCore") -> list[str]:
    state = core.embedding.state
    if state in {"ready", "loading"}:
        return []
    return [core.embedding.why or "no_model"]
