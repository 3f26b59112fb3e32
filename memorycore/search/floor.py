"""What answers a question and what is noise: one floor for the mark ``weak`` and for what is offered unasked.

The best result decides whether anything answers. What speaks for it: how near it is to answering, whether it holds all
words of the question, and, where it holds some of them, how near it is to the rest: a question that shares its subject
with a memory asks for something else of it as often as not. Where the model shows it, what is asked for and what it is
about are compared apart. A result that holds no time, number or person where one is asked for hardly answers, nor one
without the name that the question names. The other results are then measured with it. Where there is no model, words
alone decide.

A process that lives long asks a second model about the nearest results, and maps that were trained on questions and
what answers them (``embed.answers``); what both say together takes the place of the nearness, and of the look at the
rest of the question.
"""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from memorycore.domain.scoring import rarity
from memorycore.domain.telling import small_words
from memorycore.domain.text import fold, script_class
from memorycore.domain.wanted import asked_for, holds, is_about_another, lacks_a_name
from memorycore.search import exact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memorycore.domain.scoring import Floats, Mask
    from memorycore.domain.scoring import Rows as RowNumbers
    from memorycore.embed import EmbeddingService
    from memorycore.search.likeness import Asked, Near
    from memorycore.search.request import Hit
    from memorycore.search.weighing import Sought

MOST_READ = 6  # texts, a third of a millisecond each
MOST_LOOKED_AT = 5  # texts, a millisecond each
DECIDING = 15  # the first results, among which is the one that decides
REST_WAIT_S = 0.1
LONGEST_REST = 300  # a question that long is a text about many things
_ALL = 0.99
_WORD = re.compile(r"[^\W_]+")
_LATIN = re.compile(r"[a-z\u00df-\u024f0-9]+")
_CJK_PAIR = re.compile(r"(?=([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}))")
_SHORTEST = 4  # letters of a word that two forms of it share


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Signs:
    """What says of some rows whether they answer, ``[m]`` each.

    Attributes:
        share: The part of the question's words, by weight, that the row holds itself.
        nearness: How near it is to answering, 1 for what chance gives; NaN where there is no vector.
        odds: Above 0, more speaks for it than against it, as long as nothing is known of the rest of the question.
    """

    share: Floats
    nearness: Floats
    odds: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Doubt:
    """The result that decides, and what the question asks for beside the words that it holds.

    ``parts``: its vectors as ``Likeness.mapped`` gives them; ``nearness`` and ``odds`` as in ``Signs``.
    """

    rest: str
    parts: Floats
    nearness: float
    odds: float


def signs(sought: Sought, rows: RowNumbers) -> Signs:
    """Look at these rows; a few, since their vectors and texts are read."""
    import numpy as np

    share = _share(sought, rows)
    whole = share > _ALL
    near = sought.like.answering(rows)
    nearness = np.full(len(rows), np.nan, dtype=np.float32) if near is None else near.answer
    texts = _texts(sought, rows)
    words = constants()["by_words"]
    odds = words["share"] * share + words["all"] * whole - words["least"]
    odds = odds - _against(sought, texts, np.where(np.isnan(nearness) & ~whole, odds, np.float32(-1)), words)
    if near is not None:
        model = _model(aspects=near.asked_for is not None)
        meant = _meant(near, whole, _in_other_script(sought, texts), model) - _crowd(len(sought.rows), model)
        if (looked := _second_look(sought, rows, texts, near, share, meant)) is not None:
            meant, model = looked, constants()["second_look"]
        meant = meant - _against(sought, texts, np.where(~np.isnan(meant) & ~whole, meant, np.float32(-1)), model)
        odds = np.where(np.isnan(nearness), odds, meant)
    return Signs(share=share, nearness=nearness, odds=odds.astype(np.float32))


def _meant(near: Near, whole: Mask, elsewhere: Mask, model: Mapping[str, float]) -> Floats:
    """What the vectors say; NaN where there is none."""
    import numpy as np

    odds = (model["nearness"] + model["rest"]) * near.answer + model["other_script"] * elsewhere - model["least"]
    odds = odds + model["all"] * whole
    if near.asked_for is not None and near.about is not None:
        short = np.maximum(0.0, model["about_enough"] - near.about)
        odds = odds + np.where(whole, 0.0, model["asked_for"] * near.asked_for - model["about"] * short)
    return odds.astype(np.float32)


def _second_look(
    sought: Sought, rows: RowNumbers, texts: Sequence[str], near: Near, share: Floats, odds: Floats
) -> Floats | None:
    """What two models say together of these rows, ``[m]``; NaN where there is no vector.

    Of the first rows the nearest are looked at. The others keep their ``odds``, and are taken for no better than these.
    None where there is no second model, or none yet.
    """
    import numpy as np

    if near.paired is None or near.asked_for is None or near.about is None or not sought.like.has_second:
        return None
    order = np.argsort(-near.paired[:DECIDING], kind="stable")[:MOST_LOOKED_AT]  # NaN last
    order = order[~np.isnan(near.paired[order])]
    look = sought.like.second_look(rows[order], [texts[int(place)] for place in order]) if len(order) else None
    if look is None:
        return None
    model = constants()["second_look"]
    seen = model["paired"] * near.paired[order] + model["second"] * look.second + model["both"] * look.both
    seen += model["asked_for"] * near.asked_for[order] + np.where(share[order] > _ALL, model["all"], 0.0)
    seen -= model["about"] * np.maximum(0.0, model["about_enough"] - near.about[order])
    seen -= np.where(share[order] > _ALL, 0.0, model["share"] * share[order])
    seen -= model["least"] + _crowd(len(sought.rows), model)
    odds = np.minimum(odds, np.float32(seen.min()))  # NaN stays
    odds[order] = seen
    return odds.astype(np.float32)


def _crowd(memories: int, model: Mapping[str, float]) -> float:
    """By how much the bound is higher for so many memories; never lower."""
    return model["crowd"] * math.log(max(1.0, memories / constants()["others"]["fitted_with"]))


def noise(seen: Signs, named: Mask, *, beside: bool) -> Mask:
    """Which of these rows, best first, are noise: ``[m]``. What is named exactly is none.

    ``beside``: they are shown beside others, and do not say whether anything answers.
    """
    first = slice(0, DECIDING)
    best = float(seen.odds[first].max(initial=-1.0))
    if not beside and best < 0 and not named[first].any():
        return ~named
    least = 0.0 if beside else max(0.0, best) * constants()["others"]["follow"]
    return ~named & (seen.odds < least)


def doubt(sought: Sought, hits: Sequence[Hit]) -> Doubt | None:
    """What is left to look at before the best of these results counts as an answer; None: nothing."""
    if not hits or all(hit.weak for hit in hits) or any(hit.named for hit in hits) or sought.like.has_second:
        return None
    first = max(hits[:DECIDING], key=lambda hit: hit.odds)
    (row,) = rows = sought.rows.find([first.seq])
    seen = signs(sought, rows)
    if seen.share[0] > _ALL or seen.nearness[0] != seen.nearness[0] or len(sought.question.text) > LONGEST_REST:
        return None
    text = exact.texts(sought.c, sought.rows, rows).get(first.seq, "")
    rest = without_words_of(text, sought.question.text)
    if rest == sought.question.text or not _WORD.search(rest):
        return None
    _, parts = sought.like.mapped([int(sought.rows.columns.seq[row])])
    return Doubt(rest=rest, parts=parts, nearness=float(seen.nearness[0]), odds=float(seen.odds[0]))


def settled(hits: Sequence[Hit], doubt: Doubt, asked: Asked, embedding: EmbeddingService) -> Sequence[Hit]:
    """The hits, all of them weak if the best one has nothing to say to the rest of the question.

    Asks the model once more; if it does not answer in time, the doubt is dropped.
    """
    vector = embedding.query(doubt.rest, timeout_s=REST_WAIT_S)
    if vector is None or asked.calibration is None:
        return hits
    question = asked.calibration.asking(vector, doubt.rest)
    nearness = min(doubt.nearness, float((doubt.parts @ question).max()) / asked.calibration.noise)
    model = _model(aspects=asked.calibration.aspects is not None)
    if doubt.odds - model["rest"] * (doubt.nearness - nearness) >= 0:
        return hits
    return [replace(hit, weak=True) for hit in hits]


def without_words_of(text: str, question: str) -> str:
    """The question without the words, and the pairs of CJK characters, that a text holds in some form."""
    said = fold(text)
    words = set(_LATIN.findall(said))
    words |= {_beginning(word) for word in words}
    kept = _WORD.sub(lambda word: "" if _is_held(fold(word.group()), words) else word.group(), question)
    pairs = [match.start() for match in _CJK_PAIR.finditer(kept) if fold(match.group(1)) in said]
    gone = {place for start in pairs for place in (start, start + 1)}
    return " ".join("".join(sign for place, sign in enumerate(kept) if place not in gone).split())


def _is_held(word: str, said: set[str]) -> bool:
    if len(word) < _SHORTEST:
        return len(word) > 1 and word in said and word not in small_words()
    return _beginning(word) in said


def _beginning(word: str) -> str:
    """Of a word so much that most of its forms share it; of a short one, all."""
    return word[: max(_SHORTEST, len(word) - 2)]


def _texts(sought: Sought, rows: RowNumbers) -> list[str]:
    said = exact.texts(sought.c, sought.rows, rows)
    seqs: list[int] = sought.rows.columns.seq[rows].tolist()
    return [said.get(seq, "") for seq in seqs]


def _in_other_script(sought: Sought, texts: Sequence[str]) -> Mask:
    """Which of these texts are written in another script than the question."""
    import numpy as np

    own = script_class(sought.question.text)
    return np.array([script_class(text) != own for text in texts], dtype=np.bool_)


def _against(sought: Sought, texts: Sequence[str], odds: Floats, model: Mapping[str, float]) -> Floats:
    """What speaks against these texts, ``[m]``: they hold nothing of the kind that is asked for, or lack a name.

    To read a text takes time: of the first ones the nearest are read. The others are taken for no better.
    """
    import numpy as np

    against = np.zeros(len(texts), dtype=np.float32)
    question = sought.question.text
    order = np.argsort(-odds[:DECIDING], kind="stable")
    order = order[odds[order] >= 0]
    if len(question) > LONGEST_REST or not len(order):
        return against
    kind = asked_for(question)
    read = order[:MOST_READ]
    for place in map(int, read):
        against[place] = model["name"] * lacks_a_name(texts[place], question)
        against[place] += model["role"] * is_about_another(texts[place], question)
        if kind is not None:
            against[place] += model["kind"] * (not holds(kind, texts[place], question))
    against[order[MOST_READ:]] = against[read].min()
    return against


def _share(sought: Sought, rows: RowNumbers) -> Floats:
    """The part of the question's words, by weight, that each of these rows holds itself."""
    import numpy as np

    words = sought.words
    weights = rarity(len(sought.rows), [len(hits) for hits in words.hits])
    share = np.zeros(len(rows), dtype=np.float32)
    for hits, weight in zip(words.hits, weights, strict=True):
        if len(hits):  # in the order of rows
            share += np.float32(weight) * (hits[np.minimum(np.searchsorted(hits, rows), len(hits) - 1)] == rows)
    return share / np.float32(max(sum(weights), 1e-9))


def _model(*, aspects: bool) -> Mapping[str, float]:
    return constants()["with_aspects" if aspects else "with_meaning"]


@cache
def constants() -> dict[str, dict[str, float]]:
    """What ``floor.toml`` says, by model."""
    text = (files("memorycore.search") / "floor.toml").read_text(encoding="utf-8")
    return {model: {name: float(value) for name, value in told.items()} for model, told in tomllib.loads(text).items()}
