"""Labelled texts through the gatekeeper, by the command line in bulk: routing, the judge, secrets and orders.

    python -m benchmarks.governance FOLDER [--pii off|redact|block] [--json]

FOLDER holds any of ``routing.jsonl``, ``judge.jsonl``, ``secrets.jsonl`` (or ``secrets.jsonl.b64``), with the labels
that the tests' own copies have. Each text is decided on an empty memory, as a dry run.
"""

import argparse
import base64
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import show

DESTRUCTIVE = frozenset({"same", "refines", "supersedes"})
NEVER_MERGED = frozenset({"number", "unit", "name", "date", "negation", "subject"})
Rows = Sequence[Mapping[str, Any]]


def read(path: Path) -> Rows:
    raw = path.read_bytes()
    content = base64.b64decode(raw) if path.suffix == ".b64" else raw
    return [json.loads(line) for line in content.decode("utf-8").splitlines() if line.strip()]


def ask(folder: Path, *command: str, rows: Rows, pii: str) -> tuple[Rows, float]:
    """One command in bulk, in an environment of its own: its answers, and seconds from its start to its end."""
    file = folder / "in.jsonl"
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    environment = {
        **os.environ, "MEMORY_DIR": str(folder / "hot"), "MEMORYCORE_DATA_DIR": str(folder / "data"),
        "HOME": str(folder), "MEMORYCORE_PII": pii, "MEMORYCORE_LANG": "en",
    }  # fmt: skip
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "memorycore", *command, "--from", str(file), "--json"],
        env=environment, capture_output=True, check=False,
    )  # fmt: skip
    took_s = time.perf_counter() - started
    answers = [json.loads(line) for line in done.stdout.decode("utf-8").splitlines()]
    if len(answers) != len(rows):
        sys.exit(
            f"{len(rows)} lines in, {len(answers)} out: {done.stdout[:500]!r} {done.stderr.decode('utf-8', 'replace')}"
        )
    return answers, took_s


def share(found: Sequence[bool]) -> float:
    return sum(found) / len(found) if found else float("nan")


def routing(rows: Rows, folder: Path, pii: str) -> list[dict[str, object]]:
    asked = [{name: row[name] for name in ("id", "content", "target", "importance")} for row in rows]
    answers, took_s = ask(folder, "store", "--dry-run", rows=asked, pii=pii)
    pairs = list(zip(rows, answers, strict=True))
    typed = [(row, answer) for row, answer in pairs if row["route"] == "hot" or row["type"] == "state"]
    hot = [(row, answer) for row, answer in pairs if row["route"] == "hot"]
    return [
        line("routing", "route", share([row["route"] == answer["route"] for row, answer in pairs]), len(pairs), took_s),
        line("routing", "type", share([row["type"] == answer["type"] for row, answer in typed]), len(typed)),
        line("routing", "protected", share([row["protected"] == answer["protected"] for row, answer in hot]), len(hot)),
        line("routing", "hot routed stale", share([answer["route"] == "stale" for _, answer in hot]), len(hot)),
    ]


def judge(rows: Rows, folder: Path, pii: str) -> list[dict[str, object]]:
    asked = [{name: row[name] for name in ("id", "old", "new")} for row in rows]
    answers, took_s = ask(folder, "judge", rows=asked, pii=pii)
    pairs = [(row, answer["relation"]) for row, answer in zip(rows, answers, strict=True)]
    apart = [(row, said) for row, said in pairs if row["relation"] in {"different", "disputes"}]
    merged = [said in {"same", "refines"} for row, said in apart if row["key"] in NEVER_MERGED]
    changed = [said for row, said in pairs if row["relation"] in {"supersedes", "disputes"}]
    found = [
        line("judge", "five labels", share([row["relation"] == said for row, said in pairs]), len(pairs), took_s),
        line("judge", "apart, yet merged or replaced", share([s in DESTRUCTIVE for _, s in apart]), len(apart)),
        line("judge", "differing in a key slot, called same or refines", share(merged), len(merged)),
        line("judge", "supersedes or disputes, called one of the two",
             share([said in {"supersedes", "disputes"} for said in changed]), len(changed)),
    ]  # fmt: skip
    for relation, count in sorted(Counter(row["relation"] for row, _ in pairs).items()):
        right = [said == relation for row, said in pairs if row["relation"] == relation]
        found.append(line("judge", relation, share(right), count))
    return found


def secrets(rows: Rows, folder: Path, pii: str) -> list[dict[str, object]]:
    asked = [{name: row[name] for name in ("id", "content")} for row in rows]
    answers, took_s = ask(folder, "store", "--dry-run", rows=asked, pii=pii)
    seen = [
        (row, {found["gate"]: found["spans"] for found in answer["gates"]})
        for row, answer in zip(rows, answers, strict=True)
    ]
    found: list[dict[str, object]] = []
    for gate, kind in (("secret", "secret"), ("pii", "pii"), ("injection", "injection")):
        own = [(row, gates) for row, gates in seen if row["contains"] == kind]
        others = [gate in gates for row, gates in seen if row["contains"] == "none"]
        found.append(line("gates", f"{kind}: recall", share([gate in gates for _, gates in own]), len(own), took_s))
        if kind != "injection":
            exact = [sorted(gates.get(gate, [])) == sorted(row["spans"]) for row, gates in own]
            found.append(line("gates", f"{kind}: exact spans", share(exact), len(own)))
        found.append(line("gates", f"{kind}: false alarms", share(others), len(others)))
    return found


def line(part: str, what: str, value: float, of: int, took_s: float | None = None) -> dict[str, object]:
    timed: dict[str, object] = {} if took_s is None else {"s": took_s}
    return {"set": part, "figure": what, "value": value, "of": of, **timed}


PARTS: Mapping[str, Callable[[Rows, Path, str], list[dict[str, object]]]] = {
    "routing.jsonl": routing, "judge.jsonl": judge, "secrets.jsonl": secrets, "secrets.jsonl.b64": secrets,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pii", default="redact", choices=("off", "redact", "block"))
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    rows: list[dict[str, object]] = []
    for name, part in PARTS.items():
        if (wanted.folder / name).exists():
            with tempfile.TemporaryDirectory() as folder:
                rows += part(read(wanted.folder / name), Path(folder), wanted.pii)
    show("governance", rows, as_json=wanted.json)


if __name__ == "__main__":
    main()
