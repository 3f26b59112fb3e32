"""Labelled questions over labelled memories: is a right memory first, among the first five, and how far down?

    python -m benchmarks.retrieval MEMORIES.jsonl QUERIES.jsonl [--json]
    python -m benchmarks.retrieval SET.json [--json]

Memories have ``id`` and ``content`` (or ``text``); queries have ``query``, ``relevant`` (or ``gold``) and perhaps
``kind``. One file may hold both, as ``entries`` and ``queries``. A query without relevant memories is right when
nothing comes back, or everything that does is marked weak.
"""

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.report import quantile, show
from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.options import CoreOptions

DEPTH = 10


def load(paths: list[Path]) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    if len(paths) == 1:
        both = json.loads(paths[0].read_text(encoding="utf-8"))
        return both["entries"], both["queries"]
    memories, queries = (
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()] for path in paths
    )
    return memories, queries


def ranks(core: MemoryCore, query: Mapping[str, Any]) -> tuple[list[int], float]:
    """Places (from 0) of the relevant memories among the first results, and the milliseconds without the model."""
    wanted = {str(ref) for ref in query.get("relevant", query.get("gold", []))}
    answer = core.recall(query["query"], top_k=DEPTH, log=False)
    took_ms = answer.get("took_ms", 0.0) - answer.get("model_ms", 0.0)
    if not wanted:
        sure = [place for place, result in enumerate(answer["results"]) if not result.get("weak")]
        return ([] if sure else [0]), took_ms
    places = [place for place, result in enumerate(answer["results"]) if wanted & set(result.get("refs", ()))]
    return places, took_ms


def run(memories: list[Mapping[str, Any]], queries: list[Mapping[str, Any]], folder: Path) -> list[dict[str, object]]:
    by_kind: dict[str, list[tuple[list[int], float]]] = defaultdict(list)
    with MemoryCore.open(CoreOptions(hot_dir=folder / "hot", data_dir=folder / "data"), long_lived=True) as core:
        drafts = [Draft(content=memory.get("content") or memory["text"], ref=str(memory["id"])) for memory in memories]
        stale = sum(answer["status"] == "stale" for answer in core.remember_many(drafts, actor="benchmark"))
        if stale:
            print(f"{stale} memories went to the bin as finished status lines", file=sys.stderr)
        for query in queries:
            by_kind[query.get("kind", "all")].append(ranks(core, query))
    rows = [_row(kind, found) for kind, found in by_kind.items()]
    return [*rows, _row("all", [found for listed in by_kind.values() for found in listed])]


def _row(kind: str, found: list[tuple[list[int], float]]) -> dict[str, object]:
    first = [min(places, default=DEPTH) for places, _ in found]
    return {
        "kind": kind,
        "queries": len(found),
        "hit@1": sum(place == 0 for place in first) / len(first),
        "hit@5": sum(place < 5 for place in first) / len(first),
        "MRR@10": sum(1 / (place + 1) for place in first if place < DEPTH) / len(first),
        "ms p50": quantile([took for _, took in found], 0.5),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=Path, nargs="+", metavar="PATH")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        rows = run(*load(arguments.paths), Path(temporary))
    show("retrieval", rows, as_json=arguments.json)


if __name__ == "__main__":
    main()
