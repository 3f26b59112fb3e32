"""Our two places in the ``config.yaml`` of Hermes: put in and taken out, with every other line as it stands.

Lines are changed where they stand, also where a section stands in one line between braces. Where this does not fit, a
file is written anew by ``ruamel.yaml``, which keeps comments and order. Either way the outcome is read back and must
say exactly what was meant, with no key in it twice that was not before, else the file is refused.
"""

import copy
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from memorycore.errors import InvalidInput

SERVERS, SERVER = "mcp_servers", "memorycore"
SECTION, KEY = "memory", "provider"
_QUOTED = r"""(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\n]|'')*')"""
_SCALAR = re.compile(rf"\s*(?P<value>{_QUOTED}|(?:[^#\n]|(?<=\S)#)*?)(?P<rest>\s*(?:\s#.*)?)$")
_ITEM = re.compile(r"(?P<key>[^:]*:)(?P<gap>\s*)(?P<value>.*?)(?P<tail>\s*)", re.DOTALL)
_SIGN, _QUOTED_OR_SIGN = re.compile("."), re.compile(f"{_QUOTED}|.")
_BEFORE_QUOTE = ("", ":", ",", "[", "{")
_REST_OF_LINE = re.compile(r"[ \t]*(?:#.*)?$", re.MULTILINE)
_INDENT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What stands at one of our two places: a key within a section. None: nothing does."""

    section: str
    key: str
    value: Any = None
    has_section: bool = True


def read(data: bytes | None, *, path: str) -> dict[str, Any]:
    """The whole file as a mapping; empty for none.

    Raises:
        InvalidInput: It cannot be understood.
    """
    import yaml

    try:
        whole: object = yaml.safe_load((data or b"").decode("utf-8-sig"))
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise InvalidInput(field=path, why="hermes_config_unclear", detail=_in_one_line(error)) from error
    if whole is not None and not isinstance(whole, dict):
        raise InvalidInput(field=path, why="hermes_config_unclear", detail="no mapping")
    return cast("dict[str, Any]", whole or {})


def place(whole: Mapping[str, Any], section: str, key: str, *, path: str) -> Place:
    """What stands there now.

    Raises:
        InvalidInput: The section is something else than a mapping.
    """
    below = whole.get(section)
    if below is not None and not isinstance(below, dict):
        raise InvalidInput(field=path, why="hermes_config_unclear", detail=f"{section} is no mapping")
    known = cast("dict[str, Any]", below or {})
    return Place(section=section, key=key, value=known.get(key), has_section=section in whole)


def changed(data: bytes | None, wanted: Place, *, path: str) -> bytes:
    """The file with ``wanted.value`` at that place, or with nothing there when it is None.

    A section that is empty then goes too, if ``wanted.has_section`` says that there was none.

    Raises:
        InvalidInput: It cannot be understood, or not be changed safely.
    """
    before = read(data, path=path)
    now = place(before, wanted.section, wanted.key, path=path)
    meant = _meant(before, wanted)
    if meant == before or now.value == wanted.value is not None:
        return data or b""
    ways = [partial(way, wanted=wanted) for way in (_by_lines, _in_braces, _anew)]
    return rewritten(data or b"", meant, ways, path=path, where=f"{wanted.section}.{wanted.key}")


def rewritten(
    data: bytes, meant: Mapping[str, Any], ways: Iterable[Callable[[str], str]], *, path: str, where: str
) -> bytes:
    """The file after the first of these ways whose outcome says what is meant; a later way is not even tried.

    Args:
        data: The file as it is; its mark of UTF-8 and its line ends stay.
        meant: The whole file as it shall be read.
        ways: Each makes a new text of the text, with line feeds only.
        path: The file, for a complaint.
        where: The place in it that changes, for a complaint.

    Raises:
        InvalidInput: No way fits.
    """
    raw = data.decode("utf-8")
    mark = "\ufeff" if raw.startswith("\ufeff") else ""
    line_end = "\r\n" if "\r\n" in raw else "\n"
    text = raw.removeprefix("\ufeff").replace("\r\n", "\n")
    twice = _keys_twice(text)
    for way in ways:
        outcome = way(text)
        encoded = (mark + outcome.replace("\n", line_end)).encode("utf-8")
        if _says(encoded, meant, path) and _keys_twice(outcome) <= twice:
            return encoded
    raise InvalidInput(field=path, why="hermes_config_unclear", detail=where)


def _says(data: bytes, meant: Mapping[str, Any], path: str) -> bool:
    try:
        return read(data, path=path) == meant
    except InvalidInput:
        return False


def _keys_twice(text: str) -> Counter[str]:
    """Keys that a mapping has more than once. PyYAML takes the last one without a word, other readers refuse."""
    import yaml

    found: Counter[str] = Counter()
    todo: list[Any] = [yaml.compose(text, Loader=yaml.SafeLoader)]
    seen: set[int] = set()
    while todo:
        node = todo.pop()
        if id(node) in seen:  # an alias, perhaps of what it stands in
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            pairs = cast("list[tuple[Any, Any]]", node.value)
            keys = Counter(f"{key.tag} {key.value}" for key, _ in pairs if isinstance(key, yaml.ScalarNode))
            found.update({key: count - 1 for key, count in keys.items() if count > 1})
            todo += [value for _, value in pairs]
        elif isinstance(node, yaml.SequenceNode):
            todo += cast("list[Any]", node.value)
    return found


def _meant(before: Mapping[str, Any], wanted: Place) -> dict[str, Any]:
    after = copy.deepcopy(dict(before))
    below = cast("dict[str, Any]", after.get(wanted.section) or {})
    if wanted.value is not None:
        after[wanted.section] = {**below, wanted.key: wanted.value}
    elif wanted.key in below:
        del below[wanted.key]
        after[wanted.section] = below or None
        if not below and not wanted.has_section:
            del after[wanted.section]
    return after


def _by_lines(text: str, wanted: Place) -> str:
    """Change only the lines of that place; what does not fit comes out wrong and is noticed."""
    lines = text.split("\n")
    top = _line_of(lines, wanted.section, 0, len(lines), "")
    if top is not None:
        return "\n".join(_put(lines, top, wanted) if wanted.value is not None else _taken(lines, top, wanted))
    if wanted.value is None:
        return text
    head = text.rstrip("\n")
    return (head + "\n\n" if head else "") + f"{wanted.section}:\n" + _written(wanted, " " * _INDENT) + "\n"


def _in_braces(text: str, wanted: Place) -> str:
    """Change a section that stands in one line, ``memory: {provider: mem0}  # mine``; anything else stays as it is."""
    section = re.escape(wanted.section)
    found = re.search(rf"""^(?P<head>["']?{section}["']?\s*:)\s*\{{""", text, re.MULTILINE)
    scanned = _parts(text, found.end()) if found else None
    if found is None or scanned is None:
        return text
    parts, end = [part for part in scanned[0] if part.strip()], scanned[1]
    before, after = text[: found.start()], text[end + 1 :]
    at = next((n for n, part in enumerate(parts) if part.partition(":")[0].strip().strip("\"'") == wanted.key), None)
    if wanted.value is None:
        parts = [part for number, part in enumerate(parts) if number != at]
        if not parts:
            return f"{before}{found['head']}{after}"
    elif not parts:
        line, line_end, below = after.partition("\n")
        return f"{before}{found['head']}{line}\n{_written(wanted, ' ' * _INDENT)}{line_end}{below}"
    else:
        parts = _with(parts, at, wanted)
    return f"{text[: found.end()]}{','.join(parts)}{text[end:]}"


def _with(parts: list[str], at: int | None, wanted: Place) -> list[str]:
    """The value in the part with this number, or in one more at the end; blanks and quotes around stay."""
    if at is None:
        last = parts[-1].rstrip()
        return [*parts[:-1], last, f" {wanted.key}: {_in_one_place(wanted.value)}{parts[-1][len(last) :]}"]
    found = _ITEM.fullmatch(parts[at])
    key, gap, stands, tail = found.groups() if found else (f"{parts[at]}:", " ", "", "")
    part = f"{key}{gap if stands else ' '}{_in_one_place(wanted.value, stands)}{tail}"
    return [*parts[:at], part, *parts[at + 1 :]]


def _in_one_place(value: Any, stands: str = "") -> str:
    """A value as it is written between braces."""
    return _scalar(value, stands, "{{k: {}}}") if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _scalar(value: str, stands: str, frame: str) -> str:
    """A text in the quotes of what stands there, else bare where YAML reads it as that text, else in quotes."""
    import yaml

    if stands.startswith("'") and stands != "''":
        return "'" + value.replace("'", "''") + "'"
    try:
        reads: object = yaml.safe_load(frame.format(value))
    except yaml.YAMLError:
        reads = None
    is_quoted = (stands.startswith('"') and stands != '""') or reads != {"k": value}
    return json.dumps(value, ensure_ascii=False) if is_quoted else value


def _parts(text: str, start: int) -> tuple[list[str], int] | None:
    """What stands between braces, split at the commas that belong to these braces, and where the last brace is.

    None: they do not end in this line, or something follows them. A quote within a word is an apostrophe.
    """
    parts, depth, at = [""], 0, start
    while at < len(text):
        opens = text[at] in "\"'" and parts[-1].rstrip()[-1:] in _BEFORE_QUOTE
        found = (_QUOTED_OR_SIGN if opens else _SIGN).match(text, at)
        sign = found[0] if found else "\n"
        if sign == "\n" or (sign == "#" and not parts[-1][-1:].strip()):  # a comment: what follows counts no more
            return None
        if sign == "}" and not depth:
            return (parts, at) if _REST_OF_LINE.match(text, at + 1) else None
        depth += (sign in ("[", "{")) - (sign in ("]", "}"))
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
        at += len(sign)
    return None


def _put(lines: list[str], top: int, wanted: Place) -> list[str]:
    """The lines with the value below the section that begins at ``top``."""
    end = _end_of(lines, top, "")
    margin = _margin(lines[top + 1 : end])
    at = _line_of(lines, wanted.key, top + 1, end, margin)
    if at is None:
        return [*lines[: top + 1], _written(wanted, margin), *lines[top + 1 :]]
    if not isinstance(wanted.value, str):
        return [*lines[:at], _written(wanted, margin), *lines[_end_of(lines, at, margin) :]]
    head, _, rest = lines[at].partition(":")
    found = _SCALAR.match(rest)
    stands, comment = (found["value"], found["rest"]) if found else ("", "")
    return [*lines[:at], f"{head}: {_scalar(wanted.value, stands, 'k: {}')}{comment}", *lines[at + 1 :]]


def _taken(lines: list[str], top: int, wanted: Place) -> list[str]:
    """The lines without the key, and without a section that we made and that is empty then."""
    end = _end_of(lines, top, "")
    margin = _margin(lines[top + 1 : end])
    at = _line_of(lines, wanted.key, top + 1, end, margin)
    if at is None:
        return lines
    last = _end_of(lines, at, margin)
    if wanted.has_section or any(map(_counts, (*lines[top + 1 : at], *lines[last:end]))):
        return [*lines[:at], *lines[last:]]
    first = top - 1 if top and not lines[top - 1].strip() else top
    return [*lines[:first], *lines[last:]]


def _line_of(lines: list[str], key: str, start: int, end: int, margin: str) -> int | None:
    named = re.compile(rf"{margin}[\"']?{re.escape(key)}[\"']?\s*:(\s|$)")
    return next((number for number in range(start, end) if named.match(lines[number])), None)


def _end_of(lines: list[str], at: int, margin: str) -> int:
    """The first line after a key that is not its own; blank lines and comments before the next key belong to that."""
    end = at + 1
    for number in range(at + 1, len(lines)):
        line = lines[number]
        if not _counts(line):
            continue
        inner = line[len(margin) :]
        if not line.startswith(margin) or not inner.startswith((" ", "\t", "- ")):
            break
        end = number + 1
    return end


def _counts(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _margin(lines: list[str]) -> str:
    first = next(filter(_counts, lines), " " * _INDENT)
    return first[: len(first) - len(first.lstrip())] or " " * _INDENT


def _written(wanted: Place, margin: str) -> str:
    if isinstance(wanted.value, str):
        return f"{margin}{wanted.key}: {_scalar(wanted.value, '', 'k: {}')}"
    return "\n".join([f"{margin}{wanted.key}:", *_block(wanted.value, margin + " " * _INDENT)])


def _block(value: Mapping[str, Any], margin: str) -> list[str]:
    """A mapping as lines. A JSON string is a YAML string whatever YAML takes words like ``off`` for."""
    lines: list[str] = []
    for key, inner in value.items():
        if isinstance(inner, dict) and inner:
            lines += [f"{margin}{key}:", *_block(cast("dict[str, Any]", inner), margin + " " * _INDENT)]
        else:
            lines.append(f"{margin}{key}: {json.dumps(inner, ensure_ascii=False)}")
    return lines


def _anew(text: str, wanted: Place) -> str:
    from ruamel.yaml.comments import CommentedMap
    from ruamel.yaml.error import YAMLError

    writer = writer_like(text)
    try:
        whole: Any = writer.load(text)
        below: Any = whole.get(wanted.section)
        if wanted.value is None:
            del below[wanted.key]
            if not below:
                whole[wanted.section] = None
            if not below and not wanted.has_section:
                del whole[wanted.section]
        elif below:
            below[wanted.key] = _quoted(wanted.value)
        else:
            whole[wanted.section] = CommentedMap({wanted.key: _quoted(wanted.value)})
        out = io.StringIO()
        writer.dump(whole, out)
    except (YAMLError, AttributeError, KeyError, TypeError) as error:
        raise InvalidInput(
            field=f"{wanted.section}.{wanted.key}", why="hermes_config_unclear", detail=_in_one_line(error)
        ) from error
    return out.getvalue()


def writer_like(text: str) -> Any:
    """A ``ruamel.yaml.YAML`` that writes as this text is written, as far as it can: quotes, long lines, indentation."""
    from ruamel.yaml import YAML

    writer: Any = YAML()
    writer.preserve_quotes = True
    writer.width = 1 << 20
    writer.explicit_start = text.startswith("---")
    inner = re.search(r"^[^\s#-][^\n:]*:[^\n]*\n(?:[ \t]*(?:#[^\n]*)?\n)*( +)[^\s#-]", text, re.MULTILINE)
    listed = re.search(r"^( *)[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\n\1( *)- ", text, re.MULTILINE)
    offset = len(listed[2]) if listed else 0
    writer.indent(mapping=len(inner[1]) if inner else _INDENT, sequence=offset + 2, offset=offset)
    return writer


def _in_one_line(error: Exception) -> str:
    """What a reader of YAML complains of, and where."""
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
    return f"{problem}, line {mark.line + 1}" if mark is not None else str(problem)


def _quoted(value: Any) -> Any:
    """Every text in quotes: YAML 1.1, which Hermes reads, takes a bare ``off`` for no."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    match value:
        case str():
            return DoubleQuotedScalarString(value)
        case dict():
            return {key: _quoted(inner) for key, inner in cast("dict[str, Any]", value).items()}
        case list():
            return [_quoted(inner) for inner in cast("list[Any]", value)]
        case _:
            return value
