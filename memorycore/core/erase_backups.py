"""Erasing from the backups in our own folder: each that can be read is written anew without the text."""

import json
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from memorycore.errors import StoreError
from memorycore.hot.scrub import Unwanted, without
from memorycore.store import backups, erasure
from memorycore.store.backups import HotCopy
from memorycore.store.erasure import Doomed


def scrub(folder: Path, doomed: Doomed, namespaces: Sequence[str], unwanted: Unwanted, keys: Collection[str]) -> int:
    """Take the text out of every backup; how many held it. One that cannot be used is found by the search afterwards.

    ``keys``: of the sidecar entries that go.
    """
    needles = [trace.needle for trace in erasure.all_traces(doomed)]
    changed = 0
    for path in backups.listed(folder) if folder.is_dir() else ():
        with suppress(StoreError):
            changed += _scrub(path, doomed, namespaces, unwanted, keys, needles)
    return changed


def _scrub(
    path: Path,
    doomed: Doomed,
    namespaces: Sequence[str],
    unwanted: Unwanted,
    keys: Collection[str],
    needles: Sequence[bytes],
) -> bool:
    with backups.opened(path, path.parent) as (manifest, inside):
        went = erasure.erase_in_copy(inside / backups.DATABASE, doomed, namespaces) > 0
        for hot in manifest.hot:
            went |= _scrub_hot(inside, hot, unwanted, keys)
        still = any(needle in part.read_bytes() for part in inside.rglob("*") if part.is_file() for needle in needles)
        if went and not still:
            backups.pack_again(path, manifest, inside)
        elif still:  # a copy that keeps what is erased is no copy to keep
            path.unlink(missing_ok=True)
    return went or still


def _scrub_hot(inside: Path, hot: HotCopy, unwanted: Unwanted, keys: Collection[str]) -> bool:
    went = False
    if hot.file and (left := without((inside / hot.file).read_bytes(), unwanted)) is not None:
        (inside / hot.file).write_bytes(left)
        went = True
    if hot.sidecar:
        told = json.loads((inside / hot.sidecar).read_bytes() or b"{}")
        entries = told.get("entries", told)
        if gone := [key for key in entries if key in keys]:
            for key in gone:
                del entries[key]
            (inside / hot.sidecar).write_text(json.dumps(told, ensure_ascii=False), encoding="utf-8")
            went = True
    return went
