"""LoCoMo: is the evidence for a question among the first results?

One fresh memory a conversation, one stored text a turn, ``[date] speaker: text (shares a photo: caption)``, with
its session, author and time; the questions of categories 1 to 4 whose evidence names turns of the conversation. Recall
at k is the share of a question's evidence turns among the first k results, averaged over the questions.

    python -m benchmarks.locomo PATH/locomo10.json [--json] [--conversations N] [--store FOLDER]

``--store`` keeps the memories of a run, so that a second one does not embed them again.
"""

import argparse
import json
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.report import show
from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.options import CoreOptions

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
DEPTHS = (5, 10, 20)
TURN = re.compile(r"D0*(\d+):0*(\d+)")


def turns(conversation: Mapping[str, Any]) -> Iterator[Draft]:
    """Every turn as a draft, in order; ``ref`` is the turn's id."""
    numbers = sorted(int(key.split("_")[1]) for key in conversation if re.fullmatch(r"session_\d+", key))
    for number in numbers:
        date = conversation[f"session_{number}_date_time"]
        for turn in conversation[f"session_{number}"]:
            caption = f" (shares a photo: {turn['blip_caption']})" if turn.get("blip_caption") else ""
            yield Draft(
                content=f"[{date}] {turn['speaker']}: {turn['text']}{caption}",
                ref=turn["dia_id"],
                session_id=f"session_{number}",
                author=turn["speaker"],
                occurred_at=datetime.strptime(date, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC),
            )


def questions(sample: Mapping[str, Any], known: set[str]) -> Iterator[tuple[str, int, set[str]]]:
    """(question, category, evidence turns) where the evidence can be resolved."""
    for item in sample["qa"]:
        named = (match for text in item.get("evidence", []) for match in TURN.findall(text))
        evidence = {f"D{session}:{turn}" for session, turn in named} & known
        if item["category"] in CATEGORIES and evidence:
            yield item["question"], item["category"], evidence


def score(core: MemoryCore, sample: Mapping[str, Any], known: set[str]) -> Iterator[tuple[int, list[float]]]:
    """(category, recall at each depth) of every question."""
    for question, category, evidence in questions(sample, known):
        results = core.recall(question, top_k=max(DEPTHS), log=False)["results"]
        found = [set(result.get("refs", ())) for result in results]
        yield category, [len(evidence & set().union(*found[:depth])) / len(evidence) for depth in DEPTHS]


def run(samples: list[Mapping[str, Any]], folder: Path) -> list[dict[str, object]]:
    by_category: dict[int, list[list[float]]] = defaultdict(list)
    for number, sample in enumerate(samples, 1):
        drafts = list(turns(sample["conversation"]))
        options = CoreOptions(hot_dir=folder / f"{number}" / "hot", data_dir=folder / f"{number}" / "data")
        with MemoryCore.open(options, long_lived=True) as core:
            if core.usage()["cold"]["total"] == 0:
                for _ in core.remember_many(drafts, actor="benchmark"):
                    pass
            for category, recalls in score(core, sample, {draft.ref for draft in drafts}):
                by_category[category].append(recalls)
        print(f"conversation {number} of {len(samples)}", file=sys.stderr)
    everything = [recalls for listed in by_category.values() for recalls in listed]
    return [_row(CATEGORIES[category], by_category[category]) for category in sorted(by_category)] + [
        _row("all", everything)
    ]


def _row(name: str, recalls: list[list[float]]) -> dict[str, object]:
    means = {
        f"R@{depth}": sum(values) / len(recalls)
        for depth, values in zip(DEPTHS, zip(*recalls, strict=True), strict=True)
    }
    return {"questions": name, "number": len(recalls), **means}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--conversations", type=int, default=10)
    parser.add_argument("--store", type=Path)
    arguments = parser.parse_args()
    samples = json.loads(arguments.path.read_text(encoding="utf-8"))[: arguments.conversations]
    with tempfile.TemporaryDirectory() as temporary:
        rows = run(samples, arguments.store or Path(temporary))
    show("locomo", rows, as_json=arguments.json)


if __name__ == "__main__":
    main()
