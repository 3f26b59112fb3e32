"""A simulated life on the real core and real files: is what is needed in the prompt, and does anything get lost.

    python -m benchmarks.timeline FILE [--limits 2200,1375] [--model auto|none] [--json] [--plot PATH]

FILE holds one JSON object a line, in order of ``day`` (0 is 2026-01-05): ``write`` (``key``, ``content``, ``target``,
``importance``), ``query`` (``query``, ``needs``: keys), ``host_edit`` (``old`` becomes ``content``), ``host_remove``.
Keys of rules begin with r. ``--limits``: code points of MEMORY.md and USER.md; given more than once, each is a run.

* rejected: writes that were refused or failed.
* lost: texts that were, after any step, in no file, not in the store, not in the bin, and no earlier wording there.
* needed_served: share of the needed keys (facts too) whose text stood in a file when the question came, came back
  into it by that question, or was among the five results.
* hot_share: share of the needed rules whose current text stood in a file before the question had any effect; beside
  it the same share for other policies with the same budget, which ``benchmarks.policies`` describes.
* old_values_shown: needed keys of which an earlier text stood in a file or among the results as if it still held.
* file_writes_per_day: how often the product replaced a hot file.
* overflow_ms: time of the daily run on demand, for both files. write_ms: with the model's time; recall_ms: without.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from benchmarks.life import RULE, Step, days_of, read
from benchmarks.policies import Need, compare
from benchmarks.replay import Seen, live
from benchmarks.report import machine, quantile, show
from benchmarks.timeline_plot import Course, draw
from memorycore.domain.memory import Target
from memorycore.embed import EmbeddingService
from memorycore.options import DEFAULT_HOT_LIMIT, thresholds_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One life under one pair of limits: what was seen, and the needs of rules by policy, ours (``product``) too."""

    limits: dict[Target, int]
    days: int
    seen: Seen
    needs: dict[str, list[Need]]
    took_s: float


def run(
    life: Sequence[Step],
    limits: dict[Target, int],
    folder: Path,
    *,
    model: str = "auto",
    embedding: EmbeddingService | None = None,
) -> Run:
    started = time.perf_counter()
    seen = live(life, folder, limits, model=model, embedding=embedding)
    budgets: dict[Target, int] = {target: thresholds_of(chars).rule_budget for target, chars in limits.items()}
    return Run(
        limits=limits,
        days=days_of(life),
        seen=seen,
        needs={"product": seen.needs, **compare(life, budgets, limits)},
        took_s=time.perf_counter() - started,
    )


def figures(done: Run) -> dict[str, object]:
    """What is reported of a run, by name. Shares are 0..1, sizes code points, times milliseconds."""
    seen = done.seen
    shares = {name: share([need.hot for need in needs]) for name, needs in done.needs.items()}
    largest = {target: max(sizes[target] for _, sizes in seen.sizes) for target in done.limits}
    overflow = seen.took_ms.get("overflow", [0.0])
    return {
        "limits": list(done.limits.values()),
        "rejected": len(seen.rejected),
        "lost": len(seen.lost),
        "needed_served": share([bool(one.how) for one in seen.served]),
        "hot_share": shares.pop("product"),
        **{f"{name}_share": value for name, value in shares.items()},
        "old_values_shown": sum(bool(one.old) for one in seen.served),
        "file_writes_per_day": seen.writes / done.days,
        "overflow_ms_p50": quantile(overflow, 0.5),
        "overflow_ms_max": max(overflow),
        "write_ms_p50": quantile(seen.took_ms["write"], 0.5),
        "recall_ms_p50": quantile(seen.took_ms["recall"], 0.5),
        "usage_max": largest,
        "above_hard_after_write": seen.above_hard,
        "removed_yet_not_in_bin": len(seen.not_binned),
        "restores": sum(times for name, times in seen.moves.items() if " > hot: restored" in name),
        "evictions": sum(times for name, times in seen.moves.items() if is_eviction(name)),
        "served": dict(Counter(one.how or "not" for one in seen.served)),
        "stored": dict(Counter(seen.routed.values())),
        "rules_not_hot": dict(Counter(one.why for one in seen.served if one.key.startswith(RULE) and one.why)),
        "moves": dict(seen.moves),
        "took_s": done.took_s,
    }


def is_eviction(move: str) -> bool:
    """Whether a text left a file for its room, and not since somebody removed or replaced it."""
    return move.startswith("hot > ") and not move.endswith((": supersedes", ": host_removed"))


def share(found: Sequence[bool]) -> float:
    return sum(found) / len(found) if found else float("nan")


def course(done: Run) -> Course:
    """What the plot shows of a run. The marks are those of the first file; both have the same for the same limit."""
    first, limit = next(iter(done.limits.items()))
    marks = thresholds_of(limit)
    return Course(
        title=f"limits {' / '.join(map(str, done.limits.values()))}",
        days=done.days,
        usage={
            target: [(day, sizes[target] / chars) for day, sizes in done.seen.sizes]
            for target, chars in done.limits.items()
        },
        marks={"soft": marks.soft / done.limits[first], "hard": marks.hard / done.limits[first]},
        needs=done.needs,
    )


def table(told: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
    """One line for each figure, one column for each run; counts by name are lines of their own."""
    flat = [dict(_flat(each)) for each in told]
    names = dict.fromkeys(name for each in flat for name in each)
    return [
        {"figure": name, **{f"run {number}": each.get(name, "") for number, each in enumerate(flat, 1)}}
        for name in names
    ]


def _flat(figures: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name, value in figures.items():
        if isinstance(value, dict):
            for part, count in sorted(cast("dict[str, object]", value).items()):
                yield f"{name}: {part}", count
        else:
            yield name, value


def limits_of(text: str) -> dict[Target, int]:
    memory, user = text.split(",")
    return {"memory": int(memory), "user": int(user)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--limits", type=limits_of, action="append", metavar="MEMORY,USER")
    parser.add_argument("--model", default="auto", choices=("auto", "none"))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--plot", type=Path)
    wanted = parser.parse_args()
    life = read(wanted.file)
    runs: list[Run] = []
    asked: list[dict[Target, int]] = wanted.limits or [{"memory": DEFAULT_HOT_LIMIT, "user": DEFAULT_HOT_LIMIT}]
    for limits in asked:
        with tempfile.TemporaryDirectory() as folder:
            runs.append(run(life, limits, Path(folder), model=wanted.model))
        print(f"{limits}: {runs[-1].took_s:.0f} s", file=sys.stderr)
    if wanted.plot:
        wanted.plot.write_text(draw(list(map(course, runs))), encoding="utf-8")
    told = [figures(done) for done in runs]
    if wanted.json:
        one = told[0] if len(told) == 1 else {"runs": told}
        print(json.dumps({"benchmark": "timeline", "machine": machine(), **one}, ensure_ascii=False))
        return
    show("timeline", table(told), as_json=False, file=wanted.file.name)


if __name__ == "__main__":
    main()
