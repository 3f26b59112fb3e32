"""Whether what memories were read from still says the same: the file's hash, and how long ago somebody looked."""

import hashlib
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import unquote, urlsplit

from memorycore.domain.memory import Source
from memorycore.govern.steps.work import Work
from memorycore.lifecycle import rows
from memorycore.lifecycle.rows import Cause
from memorycore.store import memories

BATCH = 50
MOST_BYTES = 64 * 1024 * 1024
_CHUNK = 1024 * 1024


def verify(work: Work, namespace: str, cause: Cause, *, source_days: float) -> dict[str, object]:
    """Compare files with the hashes that memories carry. Only files of this machine are read; nothing is fetched.

    Another hash makes a source ``stale``, the same one ``verified``; one that was verified long ago, or whose file
    cannot be read any more, counts as ``unverified``.
    """
    counts = {"looked_at": 0, "verified": 0, "stale": 0, "unverified": 0}
    after = int(work.cursor or 0)
    known: dict[str, str | None] = {}
    while not work.out_of_time():
        with work.reading() as c:
            batch = memories.select(c, "read_memories", namespace=namespace, after=after, limit=BATCH)
        after = batch[-1].seq if batch else after
        work.cursor = str(after)
        counts["looked_at"] += len(batch)
        looked = [
            (memory, _looked_at(memory.source, cause.at, source_days, known)) for memory in batch if memory.source
        ]
        changed = [(memory, source) for memory, source in looked if source != memory.source]
        for _, source in changed:
            counts[source.status] += 1
        if changed and not work.dry_run:
            with work.batch(cursor=str(after)) as c:
                for memory, source in changed:
                    now = memories.by_id(c, memory.id, (memory.namespace,))
                    if now is not None and now.source == memory.source and now.state == "active":
                        rows.revise(c, now, {"source": source}, replace(cause, reason=f"source_{source.status}"))
        work.report(counts["looked_at"], 0)
        if len(batch) < BATCH:
            break
    return dict(counts)


def _looked_at(source: Source, now: datetime, days: float, known: dict[str, str | None]) -> Source:
    """The source with the status that it has by now; the same one where nothing is to be noted."""
    is_old = source.checked_at is None or now - source.checked_at > timedelta(days=days)
    path = local_path(source.uri)
    if path is None or not source.sha256:
        return replace(source, status="unverified") if is_old and source.status == "verified" else source
    if source.uri not in known:
        known[source.uri] = _sha256(path)
    found = known[source.uri]
    if found is None:
        return replace(source, status="unverified") if source.status == "verified" else source
    status = "verified" if found == source.sha256.lower() else "stale"
    if status == source.status and not is_old:
        return source
    return replace(source, status=status, checked_at=now)


def local_path(uri: str) -> Path | None:
    """The file that a source names, where it is one of this machine."""
    parts = urlsplit(uri)
    if parts.scheme == "file" and parts.netloc in {"", "localhost"}:
        return Path(unquote(parts.path))
    return Path(uri) if uri.startswith("/") else None


def _sha256(path: Path) -> str | None:
    """None where it is no plain file of a sensible size, or cannot be read."""
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return None
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError:
        return None
    return digest.hexdigest()
