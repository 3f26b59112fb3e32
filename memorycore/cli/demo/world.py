"""What the demo tells and asks (``world.toml``), and the words in which it is presented (``words.*.toml``)."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from memorycore.options import Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One thing that the agent is told. ``key`` names it for questions; ``session`` is when it was said."""

    text: str
    target: str = "memory"
    key: str = ""
    session: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """``finds`` is the key of the statement that answers."""

    asks: str
    finds: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A change that somebody makes to a memory file with an editor, and a question about it."""

    of: str
    old: str
    new: str
    asks: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """A statement that takes the place of another one and should not, and a question about both."""

    of: str
    says: str
    asks: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Retirement:
    """Rules for a memory file of ``limit`` characters: one of them, ``retires``, makes room for the last.

    Then somebody asks for it.
    """

    limit: int
    says: tuple[str, ...]
    retires: str
    asks: str


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """``last`` are the statements during which the server is killed."""

    statements: tuple[Statement, ...]
    last: tuple[Statement, ...]
    questions: tuple[Question, ...]
    edit: Edit
    mistake: Mistake
    retirement: Retirement


def load_world() -> World:
    raw = _read("world.toml")
    return World(
        statements=tuple(
            Statement(**said, session=session["name"]) for session in raw["session"] for said in session["says"]
        ),
        last=tuple(Statement(**said, session="last") for said in raw["last"]["says"]),
        questions=tuple(Question(**question) for question in raw["question"]),
        edit=Edit(**raw["edit"]),
        mistake=Mistake(**raw["mistake"]),
        retirement=_retirement(**raw["retirement"]),
    )


def _retirement(*, says: list[str], limit: int, retires: str, asks: str) -> Retirement:
    return Retirement(limit=limit, says=tuple(says), retires=retires, asks=asks)


def load_words(language: Language) -> Mapping[str, str]:
    return _read(f"words.{language}.toml")


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((files("memorycore.cli.demo") / name).read_text(encoding="utf-8"))
