"""What the judge answers: one of five relations, with the evidence for it."""

from dataclasses import dataclass
from typing import Literal

Relation = Literal["same", "refines", "supersedes", "disputes", "different"]
_SNIPPET_CHARS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One sign the verdict rests on. ``code`` is stable, its sentence is ``evidence.<code>`` in the messages."""

    code: str
    old: str = ""
    new: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How a new text stands to an old one."""

    relation: Relation
    evidence: tuple[Evidence, ...] = ()
    limited: bool = False
    """The new text is an exception to the old one for a time, task or place (edge ``exception_to``)."""
    undecided: bool = False
    """Rules saw too little: a language model may be asked."""


def evidence(code: str, old: str = "", new: str = "") -> Evidence:
    return Evidence(code=code, old=old[:_SNIPPET_CHARS], new=new[:_SNIPPET_CHARS])


def verdict(relation: Relation, *signs: Evidence, undecided: bool = False) -> Verdict:
    return Verdict(relation=relation, evidence=signs, undecided=undecided)
