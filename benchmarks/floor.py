"""What a question offers of itself: does one with an answer get it, and does one without get nothing?

    python -m benchmarks.floor [--memories FILE.jsonl --queries FILE.jsonl] [--stores FILE.jsonl] [--least BOUND …]
                               [--missed] [--json]

Memories have ``id`` and ``content``; questions have ``query``, ``relevant`` (ids, empty when nothing answers), ``kind``
and ``lang``. Without files the sets of ``tests/data/prefetch`` are asked, each apart: the constants were chosen by all
of them but ``test``, ``archive`` and ``clinic``. Every question goes through ``prefetch`` as a host sends it.
``--stores``: a file of several stores as ``benchmarks.answer_fit`` reads them, ``answers/held_out.jsonl`` for one; all
its questions are counted together. ``--least``: what other bounds would keep and leave silent.

``found``: relevant memories among the first five of a recall, whatever its marks. ``kept``: how many of these are
offered, or, where they stand in the prompt anyway, not marked weak. ``silent``: of the questions that nothing answers,
how many get nothing. ``said``: how many memories such a question gets. The same is counted for two other floors: none,
and a bound on the evidence alone.
"""

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.report import quantile, show
from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.options import CoreOptions
from memorycore.search.floor import constants

OWN = Path(__file__).parents[1] / "tests" / "data" / "prefetch"
OFFERED = 5
CANDIDATES = 20
EVIDENCE = 0.20  # the bound that the floor was before it looked at anything else
NO_CAP = 100_000
SETS = {
    "dev": "dev",
    "dev_more": "dev",
    "more": "more",
    "test": "test",
    "archive": "archive",
    "clinic": "clinic",
}  # questions, and the memories that they are asked of
SCRIPTS = {"ja": "ja", "ko": "ko", "zh": "zh", "zh-Hant": "zh"}


@dataclass(slots=True)
class Asked:
    """One question: what it should get, what a recall finds, and what is offered under each floor."""

    query: Mapping[str, Any]
    crosses: bool
    found: frozenset[str]
    offered: dict[str, list[str]]
    kept: dict[str, frozenset[str]]
    took_ms: float


@dataclass(slots=True)
class Tally:
    """Counts over some questions, by floor."""

    questions: int = 0
    negatives: int = 0
    found: int = 0
    kept: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    silent: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    said: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, asked: Asked) -> None:
        self.questions += 1
        negative = not asked.query["relevant"]
        self.negatives += negative
        self.found += len(asked.found)
        for floor, kept in asked.kept.items():
            self.kept[floor] += len(asked.found & kept)
        for floor, offered in asked.offered.items():
            self.silent[floor] += negative and not offered
            self.said[floor] += len(offered) if negative else 0


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def ask_all(memories: Iterable[Mapping[str, Any]], queries: Iterable[Mapping[str, Any]], folder: Path) -> list[Asked]:
    """Store the memories in a fresh core and ask every question."""
    memories = list(memories)
    language = {str(memory["id"]): _language(memory) for memory in memories}
    with fresh_core(memories, folder) as (core, names):
        return [_ask(core, query, names, language) for query in queries]


@contextmanager
def fresh_core(memories: Sequence[Mapping[str, Any]], folder: Path) -> Generator[tuple[MemoryCore, Mapping[str, str]]]:
    """A core that holds these memories with their vectors, and the name of each memory by its id."""
    with MemoryCore.open(CoreOptions(hot_dir=folder / "hot", data_dir=folder / "data"), long_lived=True) as core:
        texts = [memory.get("content") or memory["text"] for memory in memories]
        stored = list(core.remember_many([Draft(content=text) for text in texts], actor="benchmark"))
        while core.fill_vectors(timeout_s=60.0).made:
            pass
        if core.embedding.second is not None and not core.embedding.second.wait_ready(60.0):
            raise SystemExit("the second model does not load")
        yield core, {answer.get("id", ""): str(memory["id"]) for answer, memory in zip(stored, memories, strict=True)}


def ask_stores(path: Path) -> Generator[Asked]:
    """Every question of a file of stores, each of its own store."""
    for store in lines(path):
        memories = [{"id": str(number), "content": text, "lang": ""} for number, text in enumerate(store["memories"])]
        queries = [
            {"query": text, "kind": kind, "relevant": list(map(str, right)), "lang": ""}
            for text, kind, right in store["questions"]
        ]
        with tempfile.TemporaryDirectory() as temporary:
            yield from ask_all(memories, queries, Path(temporary))


def _ask(core: MemoryCore, query: Mapping[str, Any], names: Mapping[str, str], language: Mapping[str, str]) -> Asked:
    recalled = _results(core, query["query"])
    offered = core.prefetch(query["query"], session_id="", most=OFFERED, most_chars=NO_CAP)
    bounded = [item for item in recalled if item["why"]["evidence"] >= EVIDENCE or item["why"].get("exact")]
    surely = [item for item in recalled if "weak" not in item]
    wanted = frozenset(map(str, query["relevant"]))
    return Asked(
        query=query,
        crosses=any(language[name] != _language(query) for name in wanted),
        found=wanted.intersection(names[item["id"]] for item in recalled[:OFFERED]),
        offered={
            "none": _cold(recalled[:OFFERED], names),
            "evidence": _cold(bounded[:OFFERED], names),
            "floor": [names[item["id"]] for item in offered["items"]],
        },
        kept={
            "evidence": frozenset(names[item["id"]] for item in bounded[:OFFERED]),
            "floor": frozenset(names[item["id"]] for item in offered["items"]).union(
                names[item["id"]] for item in surely[:OFFERED] if item["tier"] == "hot"
            ),
        },
        took_ms=offered["took_ms"],
    )


def _results(core: MemoryCore, question: str) -> list[Mapping[str, Any]]:
    return list(core.recall(question, top_k=CANDIDATES, log=False, explain=True)["results"])


def _cold(results: Iterable[Mapping[str, Any]], names: Mapping[str, str]) -> list[str]:
    return [names[item["id"]] for item in results if item["tier"] == "cold"]


def _language(item: Mapping[str, Any]) -> str:
    return SCRIPTS.get(str(item["lang"]), str(item["lang"]))


def rows(asked: Iterable[Asked]) -> list[dict[str, object]]:
    """A line for each kind and each language, and one for all."""
    tallies: dict[str, Tally] = {}
    for one in asked:
        language = _language(one.query)
        crossing = f"{language} → other" if one.crosses else language
        for name in (f"kind {one.query['kind']}", f"language {crossing}", "all"):
            tallies.setdefault(name, Tally()).add(one)
    return [_row(name, tallies[name]) for name in sorted(tallies, key=lambda name: (name == "all", name))]


def _row(name: str, tally: Tally) -> dict[str, object]:
    row: dict[str, object] = {"questions": name, "number": tally.questions, "found": tally.found}
    for floor in ("none", "evidence", "floor"):
        if tally.found and floor != "none":
            row[f"kept {floor}"] = tally.kept[floor] / tally.found
        if tally.negatives and floor != "none":
            row[f"silent {floor}"] = tally.silent[floor] / tally.negatives
        if tally.negatives:
            row[f"said {floor}"] = tally.said[floor] / tally.negatives
    return row


def missed(asked: Iterable[Asked]) -> Iterable[str]:
    """What went wrong, a line each."""
    for one in asked:
        offered = one.offered["floor"]
        if not one.query["relevant"] and offered:
            yield f"  offered {' '.join(offered)}: {one.query['query']}"
        for name in sorted(one.found - one.kept["floor"]):
            yield f"  withheld {name}: {one.query['query']}"


def frontier(
    memories: Iterable[Mapping[str, Any]], queries: Sequence[Mapping[str, Any]], bounds: Sequence[float]
) -> None:
    """Print what each bound of the floor with a second model keeps, and how much it leaves silent."""
    bound = constants()["second_look"]
    memories, own = list(memories), bound["least"]
    language = {str(memory["id"]): _language(memory) for memory in memories}
    try:
        with tempfile.TemporaryDirectory() as temporary, fresh_core(memories, Path(temporary)) as (core, names):
            for bound["least"] in bounds:
                row = rows(_ask(core, query, names, language) for query in queries)[-1]
                print(f"  least {bound['least']:.1f}: kept {row['kept floor']:.3f}, silent {row['silent floor']:.3f}")
    finally:
        bound["least"] = own


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=Path)
    parser.add_argument("--queries", type=Path)
    parser.add_argument("--stores", type=Path)
    parser.add_argument("--least", type=float, nargs="+", metavar="BOUND")
    parser.add_argument("--missed", action="store_true", help="name the questions that went wrong")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    sets = {name: (OWN / f"{of}_memories.jsonl", OWN / f"{name}_queries.jsonl") for name, of in SETS.items()}
    if arguments.memories and arguments.queries:
        sets = {arguments.queries.stem: (arguments.memories, arguments.queries)}
    if arguments.stores:
        asked = list(ask_stores(arguments.stores))
        show("floor", rows(asked), as_json=arguments.json, set=arguments.stores.stem)
        return
    for name, (memories, queries) in sets.items():
        if arguments.least:
            print(name)
            frontier(lines(memories), lines(queries), arguments.least)
            continue
        with tempfile.TemporaryDirectory() as temporary:
            asked = ask_all(lines(memories), lines(queries), Path(temporary))
        times = [one.took_ms for one in asked]
        show("floor", rows(asked), as_json=arguments.json, set=name, ms_p50=round(quantile(times, 0.5), 1))
        if arguments.missed:
            print("\n".join(missed(asked)))


if __name__ == "__main__":
    main()
