"""Which files an import reads: those that are named, those in a folder that is named, else those of the predecessor.

A file is known by what is in it, not by its name.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from memorycore.errors import InvalidInput, Unreadable
from memorycore.hot.tier import FILE_NAMES
from memorycore.store.predecessor import is_database
from memorycore.transfer.found import What
from memorycore.transfer.lines import MARK

STORES = ("mnemosyne.db", "mnemosyne.sqlite", "beam.db")
LOGS = ("trash.json", "activity.jsonl")
OWN_STORE = "memorycore.db"
SUBFOLDERS = ("", "memories", "data")
_HEAD_BYTES = 64 * 1024
_LINES_LOOKED_AT = 20
_META = ".meta.json"
_ENTRIES = re.compile(rb'^\s*\{\s*"entries"\s*:')


def in_folder(folder: Path) -> list[Path]:
    """Files of a folder that may be imported: of a Hermes home, a folder with memory files, the predecessor's data."""
    names = (*FILE_NAMES.values(), *STORES, *LOGS)
    return [path for part in SUBFOLDERS for name in names if (path := folder / part / name).is_file()]


def left_behind(folders: Iterable[Path]) -> list[Path]:
    """Files of the predecessor in folders that are ours now, each once."""
    found = (path for folder in folders for name in (*STORES, *LOGS) if (path := folder / name).is_file())
    return list({os.path.realpath(path): path for path in found}.values())


def files_of(named: Iterable[Path]) -> list[Path]:
    """What is named, with the files of named folders in place of these, each once. A folder without any stays."""
    found: list[Path] = []
    for path in named:
        inside = (in_folder(path) if path.is_dir() else []) or [path]
        found += [_its_entries(one) for one in inside]
    return list({os.path.realpath(path): path for path in found}.values())


def _its_entries(path: Path) -> Path:
    """The memory file that a sidecar is about."""
    return path.with_name(path.name.removesuffix(_META) + ".md") if path.name.endswith(_META) else path


def what_is(path: Path) -> What:
    """What a file holds.

    Raises:
        InvalidInput: Nothing that can be imported, or our own store.
        Unreadable: The system refuses.
    """
    if path.is_dir():
        raise InvalidInput(field=str(path), why="nothing_to_import")
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise Unreadable(path=str(path), why="not a regular file")
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise Unreadable(path=str(path), why=error.strerror or str(error)) from error
    if path.name == OWN_STORE:
        raise InvalidInput(field=str(path), why="own_store")
    if is_database(head):
        return "store"
    if path.suffix.lower() == ".md":
        return "hot"
    if _ENTRIES.match(head.removeprefix(b"\xef\xbb\xbf")):
        return "bin"
    if (what := next(_kinds_of_lines(head), None)) is not None:
        return what
    known: dict[str, What] = {"trash.json": "bin", "activity.jsonl": "questions"}
    if path.name in known:  # whatever became of it
        return known[path.name]
    raise InvalidInput(field=str(path), why="nothing_to_import")


def _kinds_of_lines(head: bytes) -> Iterator[What]:
    for raw in head.splitlines()[:_LINES_LOOKED_AT]:
        try:
            line: object = json.loads(raw.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            continue
        fields = cast("dict[str, Any]", line) if isinstance(line, dict) else {}
        if MARK in fields:
            yield "lines"
        elif {"ts", "query"} <= fields.keys():
            yield "questions"
