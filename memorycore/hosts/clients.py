"""How each client is told about the server: where its file is, what the block looks like, and how to put it in.

A client's file is somebody else's: it is only changed when it can be read whole, other entries stay, the old bytes
are kept beside it, and the new ones replace them in one step.
"""

import contextlib
import json
import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, cast, get_args

from memorycore.errors import Conflict, InvalidInput, Unreadable, Unwritable
from memorycore.outbound import holds_login

ClientName = Literal["claude-code", "claude-desktop", "cursor", "vscode", "codex", "hermes"]
Syntax = Literal["json", "toml", "yaml"]
CLIENTS: tuple[ClientName, ...] = get_args(ClientName)
SERVER_NAME = "memorycore"
PASSED_ON = ("MEMORYCORE_", "MNEMOSYNE_", "MEMORY_DIR", "HERMES_HOME", "ACTIVITY_LOG_ENABLED")
PASSED_ON_TOO = ("LLM_API_KEY", "LLM_API_KEY_FILE", "LLM_BASE_URL", "LLM_MODEL", "TZ")
SECRET_ENDS = ("_KEY", "_TOKEN")


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """Where a client looks for servers. ``key`` is the map in its file that holds them by name."""

    name: ClientName
    file: Path
    syntax: Syntax
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """How the server is started: an executable and its arguments, never a shell line, so blanks in paths do no harm.

    ``left_out``: names of secrets that are set now and not written down.
    """

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """What ``install`` did. ``backup`` is None when there was no file before or nothing had to change."""

    file: Path
    changed: bool
    backup: Path | None = None


def client(name: str, *, home: Path, env: Mapping[str, str], platform: str = sys.platform) -> Client:
    """The client of that name on this machine; its file need not exist.

    Raises:
        InvalidInput: No client has this name.
    """
    match name:
        case "claude-code":
            return Client(name="claude-code", file=home / ".claude.json", syntax="json", key="mcpServers")
        case "claude-desktop":
            folder = _applications(home, env, platform) / "Claude"
            return Client(
                name="claude-desktop", file=folder / "claude_desktop_config.json", syntax="json", key="mcpServers"
            )
        case "cursor":
            return Client(name="cursor", file=home / ".cursor" / "mcp.json", syntax="json", key="mcpServers")
        case "vscode":
            folder = _applications(home, env, platform) / "Code" / "User"
            return Client(name="vscode", file=folder / "mcp.json", syntax="json", key="servers")
        case "codex":
            folder = Path(env.get("CODEX_HOME") or home / ".codex")
            return Client(name="codex", file=folder / "config.toml", syntax="toml", key="mcp_servers")
        case "hermes":
            folder = Path(env.get("HERMES_HOME") or home / ".hermes")
            return Client(name="hermes", file=folder / "config.yaml", syntax="yaml", key="mcp_servers")
        case _:
            raise InvalidInput(field="NAME", why="unknown value", value=name, allowed=", ".join(CLIENTS))


def _applications(home: Path, env: Mapping[str, str], platform: str) -> Path:
    """Where programs of this system keep their settings."""
    if platform == "darwin":
        return home / "Library" / "Application Support"
    if platform == "win32":
        return Path(env.get("APPDATA") or home / "AppData" / "Roaming")
    return Path(env.get("XDG_CONFIG_HOME") or home / ".config")


def server_entry(found: Client, env: Mapping[str, str], *, hermes_home: Path | None = None) -> Entry:
    """The entry for this client: this interpreter, and what of our environment the child must be told.

    Clients start servers with almost no environment, so every name that is set now and means something to us is
    written down, except secrets: these stay in ``*_FILE`` or in the client's own hands. An address with a login is one.
    """
    known = {name: value for name, value in sorted(env.items()) if value and name.startswith(PASSED_ON)}
    known |= {name: env[name] for name in PASSED_ON_TOO if env.get(name)}
    secret = [name for name, value in known.items() if name.endswith(SECRET_ENDS) or holds_login(value)]
    passed = {name: value for name, value in known.items() if name not in secret}
    if found.name == "hermes":
        passed["HERMES_HOME"] = str(hermes_home or found.file.parent)
    passed["PYTHONUTF8"] = "1"
    return Entry(command=sys.executable, args=("-m", "memorycore.server"), env=passed, left_out=tuple(secret))


def block(found: Client, entry: Entry) -> str:
    """The text to paste into the client's file, ready to work."""
    if found.syntax == "toml":
        return _toml_block(found, entry)
    content = {found.key: {SERVER_NAME: _content(found, entry)}}
    if found.syntax == "yaml":
        return _yaml(content)
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def install(found: Client, entry: Entry, *, now: datetime) -> Installed:
    """Put the entry into the client's file, in place of an older one of ours; the same again changes nothing.

    Raises:
        InvalidInput: The file is there and cannot be understood; it was left as it is.
        Conflict: The client changed its file meanwhile.
        Unreadable, Unwritable: The system refuses.
    """
    target = Path(os.path.realpath(found.file))  # a link stays a link; what it names is replaced
    before = _bytes(target)
    after = _merged(found, entry, before)
    if after == before:
        return Installed(file=found.file, changed=False)
    backup = _replace(target, before, after, now=now)
    return Installed(file=found.file, changed=True, backup=backup)


def written_command(found: Client) -> str | None:
    """What the client starts as our server, by its file; None without an entry, or when nothing can be made of it."""
    import yaml

    read = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}[found.syntax]
    try:
        content: Any = read((_bytes(found.file) or b"").decode("utf-8-sig"))
        command = content[found.key][SERVER_NAME]["command"]
    except (Unreadable, ValueError, yaml.YAMLError, LookupError, TypeError):
        return None
    return command if isinstance(command, str) else None


def _content(found: Client, entry: Entry) -> dict[str, Any]:
    content: dict[str, Any] = {"command": entry.command, "args": list(entry.args), "env": dict(entry.env)}
    if found.name in {"vscode", "claude-code"}:
        content = {"type": "stdio", **content}
    if found.name == "hermes":
        content |= {"timeout": 30, "connect_timeout": 20, "tools": {"resources": False, "prompts": False}}
    return content


def _merged(found: Client, entry: Entry, before: bytes | None) -> bytes:
    try:
        text = (before or b"").decode("utf-8-sig")
        line_end = "\r\n" if "\r\n" in text else "\n"
        text = text.replace("\r\n", "\n")
        merge = {"json": _merged_json, "toml": _merged_toml, "yaml": _merged_yaml}[found.syntax]
        merged = merge(found, entry, text)
    except (UnicodeDecodeError, ValueError) as error:
        raise InvalidInput(field=str(found.file), why="unparsable", detail=str(error)) from error
    return before if before is not None and merged == text else merged.replace("\n", line_end).encode("utf-8")


def _merged_json(found: Client, entry: Entry, text: str) -> str:
    whole: object = json.loads(text) if text.strip() else {}
    if not isinstance(whole, dict):
        raise ValueError("no JSON object")  # noqa: TRY004 one error for every file that does not fit
    content = cast("dict[str, Any]", whole)
    servers = content.setdefault(found.key, {})
    if not isinstance(servers, dict):
        raise ValueError(f"{found.key} is no object")  # noqa: TRY004 as above
    ours = _content(found, entry)
    if cast("dict[str, Any]", servers).get(SERVER_NAME) == ours:
        return text
    cast("dict[str, Any]", servers)[SERVER_NAME] = ours
    return json.dumps(content, ensure_ascii=False, indent=_indent(text)) + "\n"


def _indent(text: str) -> int | str:
    """The file's own indentation, so that the difference stays small."""
    found = re.search(r"\n([ \t]+)\S", text)
    return (found[1] if "\t" in found[1] else len(found[1])) if found else 2


def _toml_block(found: Client, entry: Entry) -> str:
    lines = [
        f"[{found.key}.{SERVER_NAME}]",
        f"command = {_quoted(entry.command)}",
        f"args = [{', '.join(_quoted(part) for part in entry.args)}]",
        "startup_timeout_sec = 20",
        "",
        f"[{found.key}.{SERVER_NAME}.env]",
        *(f"{name} = {_quoted(value)}" for name, value in entry.env.items()),
    ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # a JSON string is a TOML basic string, and a YAML one


def _merged_toml(found: Client, entry: Entry, text: str) -> str:
    """Cut our own tables out of the text and append them again: comments and order of the rest stay."""
    servers: object = tomllib.loads(text).get(found.key, {})
    if not isinstance(servers, dict):
        raise ValueError(f"{found.key} is no table")  # noqa: TRY004 as in _merged_json
    ours = tomllib.loads(_toml_block(found, entry))[found.key][SERVER_NAME]
    if cast("dict[str, object]", servers).get(SERVER_NAME) == ours:
        return text
    own = re.compile(rf"\[\s*{found.key}\s*\.\s*[\"']?{SERVER_NAME}[\"']?\s*(?:\..*)?\]\s*(?:#.*)?")
    kept: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            inside = own.fullmatch(line.strip()) is not None
        if not inside:
            kept.append(line)
    rest = "\n".join(kept).rstrip()
    merged = (rest + "\n\n" if rest else "") + _toml_block(found, entry)
    written = tomllib.loads(merged).get(found.key, {}).get(SERVER_NAME)
    if written != ours:
        raise ValueError(f"{found.key}.{SERVER_NAME} is written in a way that cannot be replaced safely")
    return merged


def _yaml(content: object) -> str:
    import yaml

    return yaml.safe_dump(content, allow_unicode=True, sort_keys=False, default_flow_style=False, width=1000)


def _merged_yaml(found: Client, entry: Entry, text: str) -> str:
    """Replace our own lines below the key; every other line stays as it is, comments included."""
    import yaml

    try:
        whole: object = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    content = cast("dict[str, Any]", whole if whole is not None else {})
    servers: object = content.get(found.key) if isinstance(whole, dict | None) else ""
    if not isinstance(servers, dict | None):
        raise ValueError(f"{found.key} is no mapping")  # noqa: TRY004 as in _merged_json
    ours = _content(found, entry)
    if cast("dict[str, Any]", servers or {}).get(SERVER_NAME) == ours:
        return text
    expected = {**content, found.key: {**cast("dict[str, Any]", servers or {}), SERVER_NAME: ours}}
    merged = _with_yaml_lines(text, found.key, _yaml({SERVER_NAME: ours}))
    if yaml.safe_load(merged) != expected:  # flow style, anchors, tabs ...: better no change than a wrong one
        raise ValueError(f"{found.key} is written in a way that cannot be changed safely")
    return merged


def _with_yaml_lines(text: str, key: str, ours: str) -> str:
    lines = text.splitlines()
    start = next(
        (number for number, line in enumerate(lines) if re.match(rf"{key}\s*:\s*(#.*|\{{\}}\s*)?$", line)), None
    )
    if start is None:
        head = "\n".join(lines).rstrip()
        return (head + "\n\n" if head else "") + f"{key}:\n" + _indented(ours, "  ")
    end = next((n for n in range(start + 1, len(lines)) if re.match(r"[^\s#]", lines[n])), len(lines))
    while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
        end -= 1  # blank lines and comments before the next key belong to it
    first = next((line for line in lines[start + 1 : end] if line.strip() and not line.lstrip().startswith("#")), "  x")
    margin = first[: len(first) - len(first.lstrip())]
    below: list[str] = []
    inside = False
    for line in lines[start + 1 : end]:
        if line.startswith(margin) and line[len(margin) :][:1] not in {"", " ", "\t", "#"}:
            inside = re.match(rf"[\"']?{SERVER_NAME}[\"']?\s*:", line[len(margin) :]) is not None
        if not inside:
            below.append(line)
    block_lines = _indented(ours, margin).splitlines()
    return "\n".join([*lines[:start], f"{key}:", *below, *block_lines, *lines[end:]]) + "\n"


def _indented(text: str, margin: str) -> str:
    return "".join(margin + line + "\n" for line in text.splitlines())


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unreadable(path=str(path), why=error.strerror or str(error)) from error


def _replace(path: Path, before: bytes | None, after: bytes, *, now: datetime) -> Path | None:
    """Keep the old bytes beside the file, then put the new ones in its place in one step, with the same mode."""
    backup = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = 0o600 if before is None else path.stat().st_mode & 0o7777
        if before is not None:
            backup = path.with_name(f"{path.name}.before-memorycore-{now:%Y%m%d-%H%M%S-%f}")
            _write_new(backup, before, mode)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(after)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(mode)
            if _bytes(path) != before:
                raise Conflict(path=str(path))
            Path(name).replace(path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                Path(name).unlink()
    except OSError as error:
        raise Unwritable(path=str(path), why=error.strerror or str(error), mode="-") from error
    return backup


def _write_new(path: Path, content: bytes, mode: int) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
