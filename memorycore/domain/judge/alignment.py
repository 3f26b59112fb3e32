"""What differs between two assertions, token by token."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from rapidfuzz.distance import Indel

from memorycore.domain.assertion import CONTENT, SOFT, Assertion, Term

LONGEST = 600
"""Terms that are aligned; longer texts are documents and compared as a whole."""


class Run(NamedTuple):
    """One place where the texts differ: terms of the old text, of the new text, or both.

    ``before`` and ``after`` are the terms around it in the new text (in the old one when nothing is new).
    """

    old: tuple[Term, ...]
    new: tuple[Term, ...]
    before: Term | None
    after: Term | None

    @property
    def kind(self) -> Literal["replaced", "added", "removed"]:
        return "replaced" if self.old and self.new else "added" if self.new else "removed"

    @property
    def in_subject(self) -> bool:
        return all(term.subject for term in (self.old or self.new)) and all(
            term.subject for term in (self.new or self.old)
        )

    @property
    def in_condition(self) -> bool:
        return any(term.condition for term in (*self.old, *self.new))


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Two assertions laid side by side."""

    runs: tuple[Run, ...]
    soft: tuple[Run, ...]
    """Where only small words stand in the place of others."""
    shared: tuple[tuple[Term, Term], ...]
    moved: tuple[Term, ...]
    """Terms of the new text that stand elsewhere in the old one."""

    @property
    def flipped(self) -> tuple[tuple[Term, Term], ...]:
        """Shared terms that one text denies and the other does not."""
        return tuple(pair for pair in self.shared if pair[0].denied != pair[1].denied)

    def of(self, kind: str) -> tuple[Run, ...]:
        return tuple(run for run in self.runs if run.kind == kind)


def difference(old: Assertion, new: Assertion) -> Difference:
    """Align by the longest common subsequence of keys (rapidfuzz, Hyyrö's bit-parallel algorithm)."""
    mine, yours = old.terms[:LONGEST], new.terms[:LONGEST]
    codes = Indel.opcodes([term.key for term in mine], [term.key for term in yours])
    shared: list[tuple[Term, Term]] = []
    gaps: list[list[int]] = []
    for code in codes:
        if code.tag == "equal":
            shared += zip(mine[code.src_start : code.src_end], yours[code.dest_start : code.dest_end], strict=True)
        elif gaps and gaps[-1][1] == code.src_start and gaps[-1][3] == code.dest_start:
            gaps[-1][1], gaps[-1][3] = code.src_end, code.dest_end
        else:
            gaps.append([code.src_start, code.src_end, code.dest_start, code.dest_end])
    runs = [_run(mine, yours, gap) for gap in gaps]
    moved, runs = _without_moved(runs, shared)
    runs = [part for run in _paired(runs) for part in _split_at_predicate(run)]
    return Difference(
        runs=tuple(stripped for run in runs if (stripped := _content_only(run)) is not None),
        soft=tuple(run for run in runs if _is_soft(run)),
        shared=tuple(pair for pair in shared if pair[0].kind in CONTENT),
        moved=tuple(moved),
    )


def _run(mine: tuple[Term, ...], yours: tuple[Term, ...], gap: list[int]) -> Run:
    around, start, end = (yours, gap[2], gap[3]) if gap[3] > gap[2] else (mine, gap[0], gap[1])
    return Run(
        old=mine[gap[0] : gap[1]],
        new=yours[gap[2] : gap[3]],
        before=around[start - 1] if start else None,
        after=around[end] if end < len(around) else None,
    )


def _without_moved(runs: list[Run], shared: list[tuple[Term, Term]]) -> tuple[list[Term], list[Run]]:
    """Take out content that stands on both sides, only elsewhere; it joins what is shared."""
    left: dict[str, list[Term]] = {}
    for run in runs:
        for term in run.old:
            if term.kind in CONTENT:
                left.setdefault(term.key, []).append(term)
    moved: list[Term] = []
    gone: set[int] = set()
    for run in runs:
        for term in run.new:
            if left.get(term.key):
                other = left[term.key].pop(0)
                moved.append(term)
                shared.append((other, term))
                gone |= {id(other), id(term)}
    if not gone:
        return moved, runs
    kept = [
        Run(
            old=tuple(term for term in run.old if id(term) not in gone),
            new=tuple(term for term in run.new if id(term) not in gone),
            before=run.before,
            after=run.after,
        )
        for run in runs
    ]
    return moved, [run for run in kept if run.old or run.new]


def _paired(runs: list[Run]) -> list[Run]:
    """One thing gone here and one of its kind come there is a replacement."""
    differing = [(run, kept) for run in runs if (kept := _content_only(run)) is not None]
    old = [run for run, kept in differing if kept.kind == "removed"]
    new = [run for run, kept in differing if kept.kind == "added"]
    if len(differing) != 2 or len(old) != 1 or len(new) != 1:  # noqa: PLR2004 the two
        return runs
    kinds = [{term.kind for term in (*run.old, *run.new) if term.kind in CONTENT} for run in (*old, *new)]
    if kinds[0] != kinds[1]:
        return runs
    pair = Run(old=old[0].old, new=new[0].new, before=new[0].before, after=new[0].after)
    return [pair, *(run for run in runs if run not in (old[0], new[0]))]


def _split_at_predicate(run: Run) -> list[Run]:
    """Subject and predicate both replaced are two differences, also when no shared word stands between."""
    if any(len({term.subject for term in terms}) < 2 for terms in (run.old, run.new)):  # noqa: PLR2004 both sides
        return [run]
    old, new = (
        [tuple(term for term in terms if term.subject == side) for side in (True, False)]
        for terms in (run.old, run.new)
    )
    return [
        Run(old=old[0], new=new[0], before=run.before, after=None),
        Run(old=old[1], new=new[1], before=None, after=run.after),
    ]


def _content_only(run: Run) -> Run | None:
    """Small words left out, unless nothing else stands on one side of a replacement."""
    old = [term for term in run.old if term.kind in CONTENT]
    new = [term for term in run.new if term.kind in CONTENT]
    if not old and not new:
        return None
    if len(old) == len(run.old) and len(new) == len(run.new):
        return run
    return Run(old=tuple(old), new=tuple(new), before=run.before, after=run.after)


def _is_soft(run: Run) -> bool:
    """Both sides have small words and nothing else."""
    return bool(run.old and run.new) and all(term.kind in SOFT for term in (*run.old, *run.new))
