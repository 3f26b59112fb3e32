"""What was proven about the bundled models once, so that a start does not prove it again.

A proof is a line in ``proofs.json`` of the cache folder. Losing the file, or a line of it to another process that
writes at the same moment, costs a second at the next start and nothing else.
"""

import contextlib
import hashlib
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import cast

from memorycore.embed.processor import processor_identity

_SELF_TEST_LIMIT_S = 60


def weights_are(path: Path, sha256: str, *, cache_dir: Path | None) -> bool:
    """Whether the file has this SHA-256. The answer is remembered for its path, size and time of change."""
    try:
        found = path.stat()
        key = f"{path}|{found.st_size}|{found.st_mtime_ns}"
        known = _recall(cache_dir, key)
        if known is None:
            with path.open("rb") as file:
                known = hashlib.file_digest(file, "sha256").hexdigest()
            _remember(cache_dir, key, known)
    except OSError:
        return False
    return known == sha256


def survives_self_test(*, distribution: str, cache_dir: Path | None) -> bool:
    """Whether a child process could use the model: the only way to learn of an illegal instruction and live.

    Asked once for each version and processor. Where no child can be started, the flags of the processor must do.
    """
    key = f"self-test|{distribution}|{_version(distribution)}|{processor_identity()}"
    known = _recall(cache_dir, key)
    if known is not None:
        return known == "passed"
    if not Path(sys.executable).stem.lower().startswith("python"):
        return True  # inside another program, which is not to be started twice
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    try:
        child = subprocess.run(
            [sys.executable, "-P", "-m", "memorycore.embed.selftest"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # a server's stdout carries its protocol
            stderr=subprocess.DEVNULL,
            timeout=_SELF_TEST_LIMIT_S,
            check=False,
        )
    except OSError:
        return True
    except subprocess.TimeoutExpired:
        return False
    _remember(cache_dir, key, "passed" if child.returncode == 0 else "failed")
    return child.returncode == 0


def write_whole(path: Path, data: bytes) -> None:
    """Write a cache file so that a reader sees the old or the new content. That it cannot be written is no error."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "?"


def _read(cache_dir: Path) -> dict[str, str]:
    try:
        found = json.loads((cache_dir / "proofs.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, str]", found) if isinstance(found, dict) else {}


def _recall(cache_dir: Path | None, key: str) -> str | None:
    return _read(cache_dir).get(key) if cache_dir else None


def _remember(cache_dir: Path | None, key: str, value: str) -> None:
    if cache_dir:
        known = {**_read(cache_dir), key: value}
        write_whole(cache_dir / "proofs.json", json.dumps(known, indent=1, sort_keys=True).encode("utf-8"))
