"""Fit the coefficients of ``memorycore/search/floor.toml``.

    python -m benchmarks.floor_fit MEMORIES.jsonl QUERIES.jsonl [MEMORIES.jsonl QUERIES.jsonl ...]

A question with an answer counts twice: as one that is answered, by the best of its first five results, and, with its
relevant memories taken out, as one that nothing in this store answers. Prints a logistic model for questions with
vectors and one for words alone, and for several bounds what is kept and what stays silent.
"""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.floor import fresh_core, lines
from memorycore.core import MemoryCore
from memorycore.domain.text import script_class
from memorycore.errors import EmbeddingError
from memorycore.search.floor import DECIDING, without_words_of

SIGNS = {"with_meaning": ("nearness", "rest", "all"), "by_words": ("share", "all")}
LOOKED_AT = 20
TAKEN_OUT = 0.7  # the weight of a question that was answered until its answer was taken out
RIDGE = 3.0
Numbers = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What a question finds, of how many results it should get ``right``, and its weight."""

    query: str
    results: Sequence[Mapping[str, Any]]
    right: int
    weight: float


def cases(core: MemoryCore, queries: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> list[Case]:
    """Each question, and each answered one again without its answers."""
    found: list[Case] = []
    for query in queries:
        results = core.recall(query["query"], top_k=LOOKED_AT, log=False, explain=True)["results"]
        wanted = set(map(str, query["relevant"]))
        right = sum(names[item["id"]] in wanted for item in results[:5])
        others = [item for item in results if names[item["id"]] not in wanted]
        if right:
            found.append(Case(query=query["query"], results=results, right=right, weight=1.0))
        if others:
            weight = TAKEN_OUT if wanted else 1.0
            found.append(Case(query=query["query"], results=others, right=0, weight=weight))
    return found


def signs(core: MemoryCore, case: Case) -> dict[str, dict[str, float]]:
    """The signs of the result that decides, for both models."""
    first = case.results[:DECIDING]
    near = max(first, key=lambda item: (float(item["why"]["share"] > 0.99), item["why"]["nearness"]))
    shared = max(first, key=lambda item: item["why"]["share"])
    whole = float(near["why"]["share"] > 0.99)
    nearness = rest = float(near["why"]["nearness"])
    left = without_words_of(near["content"], case.query)
    if not whole and left != case.query and left.strip():
        rest = min(nearness, _nearness(core, left, near["content"]))
    share = float(shared["why"]["share"])
    return {
        "with_meaning": {"nearness": nearness, "rest": rest, "all": whole},
        "by_words": {"share": share, "all": float(share > 0.99)},
    }


def _nearness(core: MemoryCore, question: str, text: str) -> float:
    calibration = core.embedding.calibration
    asked, told = core.embedding.query(question, timeout_s=5.0), core.embedding.passages([text], timeout_s=5.0)
    parts = told[0]
    if calibration is None or asked is None or isinstance(parts, EmbeddingError):
        raise SystemExit("the model does not answer")
    rows = calibration.telling(calibration.residuals(parts, script_class(text)))
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return float((rows @ calibration.asking(asked, question)).max()) / calibration.noise


def fit(rows: Numbers, answered: Numbers, weights: Numbers) -> Numbers:
    """Coefficients of a logistic model with a ridge, the constant first."""
    mean: Numbers = rows.mean(axis=0)
    spread: Numbers = rows.std(axis=0) + 1e-6
    x: Numbers = np.c_[np.ones(len(rows)), (rows - mean) / spread]
    told: Numbers = np.zeros(1 + len(mean), dtype=np.float64)
    ridge: Numbers = RIDGE * np.diag(np.array([1e-6] + [1.0] * rows.shape[1]))
    for _ in range(50):
        odds: Numbers = 1 / (1 + np.exp(-(x @ told)))
        slope: Numbers = x.T @ (weights * (odds - answered)) + ridge @ told
        bend: Numbers = (x * (weights * odds * (1 - odds))[:, None]).T @ x + ridge
        step: Numbers = np.linalg.solve(bend, slope)
        told = np.subtract(told, step)
    plain: Numbers = told[1:] / spread
    return np.r_[told[0] - plain @ mean, plain]


def main() -> None:
    paths = [Path(name) for name in sys.argv[1:]]
    found: list[tuple[Case, dict[str, dict[str, float]]]] = []
    for memories, queries in zip(paths[::2], paths[1::2], strict=True):
        with tempfile.TemporaryDirectory() as temporary, fresh_core(lines(memories), Path(temporary)) as (core, names):
            found += [(case, signs(core, case)) for case in cases(core, lines(queries), names)]
    right = np.array([case.right for case, _ in found])
    weights = np.array([case.weight for case, _ in found])
    for model, names in SIGNS.items():
        rows = np.array([[seen[model][name] for name in names] for _, seen in found])
        told = fit(rows, (right > 0).astype(float), weights)
        odds = rows @ told[1:]
        print(f"[{model}] " + ", ".join(f"{name} = {value:.2f}" for name, value in zip(names, told[1:], strict=True)))
        for share in (0.95, 0.92, 0.90, 0.88, 0.85, 0.80):
            least = float(np.quantile(np.repeat(odds, right), 1 - share, method="lower"))
            silent = odds < least
            print(
                f"  least = {least:.2f}: kept {share:.2f}, silent {silent[right == 0].mean():.2f},"
                f" of those never answered {silent[(right == 0) & (weights == 1)].mean():.2f}"
            )


if __name__ == "__main__":
    main()
