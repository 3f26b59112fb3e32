"""Running the command line in a home of its own: in this process where that will do, as a process where it matters."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memorycore.cli import main

KEPT = ("PATH", "SYSTEMROOT", "PYTHONPATH", "TMPDIR", "TEMP", "LD_LIBRARY_PATH")


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def answer(self) -> dict[str, Any]:
        return json.loads(self.out)

    @property
    def answers(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


class CommandLine:
    """``memorycore`` of a user whose home is ``home``. No model, since words suffice here; no other environment."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self.env = {"HOME": str(home), "MEMORYCORE_EMBED_MODEL": "none", "MEMORYCORE_LANG": "en", "TERM": "dumb"}
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str, stdin: str | bytes = b"", **env: str) -> Ran:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        with self._monkeypatch.context() as patch:
            for name in set(os.environ) - set(KEPT):
                patch.delenv(name)
            for name, value in (self.env | env).items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
            try:
                main(arguments)
            except SystemExit as ended:
                code = int(ended.code or 0)
            else:
                code = 0
        out, err = self._capsys.readouterr()
        return Ran(code, out, err)

    def process(self, *arguments: str, stdin: bytes = b"", **env: str) -> "subprocess.CompletedProcess[bytes]":
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        return subprocess.run(
            [sys.executable, "-m", "memorycore", *arguments],
            input=stdin, env=kept | self.env | env, capture_output=True, check=False, timeout=60,
        )  # fmt: skip

    @property
    def hot(self) -> Path:
        return self.home / ".memorycore" / "memories"

    @property
    def data(self) -> Path:
        return self.home / ".memorycore" / "data"

    def write_hot(self, name: str, content: bytes) -> Path:
        self.hot.mkdir(parents=True, exist_ok=True)
        path = self.hot / name
        path.write_bytes(content)
        path.chmod(0o600)
        return path


def lines(rows: Sequence[object]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
