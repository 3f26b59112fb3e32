"""The list ``plugins.enabled`` in the ``config.yaml`` of Hermes: one name put in and taken out, the rest as it stands.

As in ``hermes_config``: lines are changed where they stand, else the file is written anew with its comments, and either
way the outcome is read back and must say exactly what was meant.
"""

import copy
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from memorycore.hosts import hermes_config

SECTION, KEY = "plugins", "enabled"
_IN_BRACES = re.compile(
    rf"""^["']?{SECTION}["']?\s*:\s*\{{[^\n#]*?(?<![\w-])["']?{KEY}["']?:\s*\[(?P<items>[^\]\[\n]*)\]""", re.MULTILINE
)
_FLOW = re.compile(r"^(?P<head>[^\[#]*\[)(?P<items>[^\]\[]*)(?P<tail>\]\s*(?:#.*)?)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """How the list was before our name came: whether its section and it were there, and our name in it."""

    has_section: bool = True
    has_list: bool = True
    has_name: bool = False


def names(data: bytes | None, *, path: str) -> list[str]:
    """The plugins that Hermes is told to load.

    Raises:
        InvalidInput: The file cannot be understood.
    """
    found = hermes_config.place(hermes_config.read(data, path=path), SECTION, KEY, path=path).value
    return [str(name) for name in cast("list[object]", found)] if isinstance(found, list) else []


def before(data: bytes | None, name: str, *, path: str) -> Before:
    """What has to be put back one day."""
    whole = hermes_config.read(data, path=path)
    place = hermes_config.place(whole, SECTION, KEY, path=path)
    listed = cast("list[object]", place.value) if isinstance(place.value, list) else []
    return Before(has_section=place.has_section, has_list=place.value is not None, has_name=name in listed)


def put(data: bytes | None, name: str, *, path: str) -> bytes:
    """The file with ``name`` in the list.

    Raises:
        InvalidInput: It cannot be understood, or not be changed safely.
    """
    whole = hermes_config.read(data, path=path)
    listed = names(data, path=path)
    if name in listed:
        return data or b""
    below = {**cast("dict[str, Any]", whole.get(SECTION) or {}), KEY: [*listed, name]}
    return _changed(data or b"", {**whole, SECTION: below}, name, Before(), path, is_put=True)


def take(data: bytes, name: str, was: Before, *, path: str) -> bytes:
    """The file without ``name``; a list, and a section, that are empty then go if they were not there before.

    Raises:
        InvalidInput: It cannot be understood, or not be changed safely.
    """
    whole = copy.deepcopy(hermes_config.read(data, path=path))
    listed = names(data, path=path)
    if name not in listed or was.has_name:
        return data
    below = cast("dict[str, Any]", whole[SECTION])
    below[KEY] = [one for one in listed if one != name]
    if not below[KEY] and not was.has_list:
        del below[KEY]
        if not below:
            whole[SECTION] = None
            if not was.has_section:
                del whole[SECTION]
    return _changed(data, whole, name, was, path, is_put=False)


def _changed(data: bytes, meant: Mapping[str, Any], name: str, was: Before, path: str, *, is_put: bool) -> bytes:
    ways: tuple[Callable[[str], str], ...] = (
        lambda text: _put_by_lines(text, name) if is_put else _taken_by_lines(text, name, was),
        lambda text: _in_braces(text, name, is_put=is_put),
        lambda text: _anew(text, meant),
    )
    return hermes_config.rewritten(data, meant, ways, path=path, where=f"{SECTION}.{KEY}")


def _in_braces(text: str, name: str, *, is_put: bool) -> str:
    """Change a list within a section that stands in one line, ``plugins: {enabled: [a]}``; else all stays as it is."""
    found = _IN_BRACES.search(text)
    if found is None:
        return text
    items = found["items"]
    if is_put:
        kept = items.rstrip()
        items = f"{kept}, {name}{items[len(kept) :]}" if kept else name
    else:
        items = re.sub(rf",?\s*[\"']?{re.escape(name)}[\"']?(?=\s*(,|$))", "", items)
    return text[: found.start("items")] + items + text[found.end("items") :]


def _put_by_lines(text: str, name: str) -> str:
    lines = text.split("\n")
    top = _line_of(lines, SECTION, 0, len(lines))
    if top is None:
        head = text.rstrip("\n")
        return (head + "\n\n" if head else "") + f"{SECTION}:\n  {KEY}:\n    - {name}\n"
    end = _end_of(lines, top)
    at = _line_of(lines, KEY, top + 1, end)
    if at is None:
        margin = next((_margin(line) for line in lines[top + 1 : end] if _counts(line)), "") or "  "
        return "\n".join([*lines[: top + 1], f"{margin}{KEY}:", f"{margin}  - {name}", *lines[top + 1 :]])
    if (flow := _FLOW.match(lines[at])) is not None:
        items = f"{flow['items'].rstrip()}, {name}" if flow["items"].strip() else name
        return "\n".join([*lines[:at], flow["head"] + items + flow["tail"], *lines[at + 1 :]])
    items = [number for number in range(at + 1, _end_of(lines, at)) if lines[number].lstrip().startswith("- ")]
    if not items:
        margin = _margin(lines[at])
        return "\n".join([*lines[: at + 1], f"{margin}  - {name}", *lines[at + 1 :]])
    last = items[-1]
    return "\n".join([*lines[: last + 1], f"{_margin(lines[items[0]])}- {name}", *lines[last + 1 :]])


def _taken_by_lines(text: str, name: str, was: Before) -> str:
    lines = text.split("\n")
    top = _line_of(lines, SECTION, 0, len(lines))
    at = None if top is None else _line_of(lines, KEY, top + 1, _end_of(lines, top))
    if top is None or at is None:
        return text
    if (flow := _FLOW.match(lines[at])) is not None:
        kept = [one for one in flow["items"].split(",") if one.strip().strip("\"'") != name]
        lines[at] = flow["head"] + ",".join(kept).lstrip() + flow["tail"]
        return "\n".join(lines)
    mine = re.compile(rf"\s*-\s*[\"']?{re.escape(name)}[\"']?\s*(#.*)?$")
    lines = [line for number, line in enumerate(lines) if number <= at or not mine.match(line)]
    if any(line.lstrip().startswith("- ") for line in lines[at + 1 : _end_of(lines, at)]):
        return "\n".join(lines)
    if was.has_list:
        lines[at] = lines[at].rstrip() + " []"
        return "\n".join(lines)
    lines = [*lines[:at], *lines[at + 1 :]]
    if was.has_section or any(map(_counts, lines[top + 1 : _end_of(lines, top)])):
        return "\n".join(lines)
    first = top - 1 if top and not lines[top - 1].strip() else top
    return "\n".join([*lines[:first], *lines[top + 1 :]])


def _line_of(lines: list[str], key: str, start: int, end: int) -> int | None:
    margin = "" if start == 0 else next((_margin(line) for line in lines[start:end] if _counts(line)), "  ")
    named = re.compile(rf"{margin}[\"']?{re.escape(key)}[\"']?\s*:(\s|$)")
    return next((number for number in range(start, end) if named.match(lines[number])), None)


def _end_of(lines: list[str], at: int) -> int:
    """The first line behind what stands below a key; blank lines and comments before the next key belong to that."""
    end, margin = at + 1, len(_margin(lines[at]))
    for number in range(at + 1, len(lines)):
        line = lines[number]
        if not _counts(line):
            continue
        inner = len(_margin(line))
        if inner < margin or (inner == margin and not line.lstrip().startswith("- ")):
            break
        end = number + 1
    return end


def _margin(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _counts(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _anew(text: str, meant: Mapping[str, Any]) -> str:
    """The file written anew, its comments kept."""
    from ruamel.yaml.error import YAMLError

    writer = hermes_config.writer_like(text)
    try:
        whole: Any = writer.load(text) or {}
        if SECTION not in meant:
            whole.pop(SECTION, None)
        elif whole.get(SECTION) is None or meant[SECTION] is None:
            whole[SECTION] = meant[SECTION]
        elif KEY in meant[SECTION]:
            whole[SECTION][KEY] = meant[SECTION][KEY]
        else:
            whole[SECTION].pop(KEY, None)
        out = io.StringIO()
        writer.dump(whole, out)
    except (YAMLError, AttributeError, KeyError, TypeError):
        return text
    return out.getvalue()
