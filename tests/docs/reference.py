"""The tables of the reference that say what the code says: ``python -m tests.docs.reference`` writes them anew.

They stand between ``<!-- generated: NAME -->`` and ``<!-- end -->``; a test compares them.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from memorycore import errors, messages
from memorycore.cli.app import command_line
from memorycore.cli.help_page import paragraphs
from memorycore.options import Language
from memorycore.server.tending import TENDING, TOOLSETS
from memorycore.settings import Settings
from memorycore.web import calls
from memorycore.web.given import Given
from tests.docs.pages import pages

_GENERATED = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_OPTIONAL = re.compile(r"\[[^\[\]]*\{[^\[\]]*\]")
WORDS: dict[Language, dict[str, str]] = {
    "en": {
        "argument": "Argument or option", "for": "What for", "parameter": "Parameter", "required": "required",
        "key": "Key", "variable": "Environment", "default": "Default", "derived": "see above",
        "code": "Code", "exit": "Exit", "retry": "Try again", "says": "What it says", "yes": "yes",
        "full": "toolset full", "route": "Route", "method": "Method", "arguments": "Arguments",
        "as_tool": "those of {tool}",
    },
    "zh": {
        "argument": "参数或选项", "for": "用途", "parameter": "参数", "required": "必填",
        "key": "键", "variable": "环境变量", "default": "默认值", "derived": "见上文",
        "code": "代码", "exit": "退出码", "retry": "可重试", "says": "提示内容", "yes": "是",
        "full": "工具集 full", "route": "路由", "method": "方法", "arguments": "参数", "as_tool": "同 {tool}",
    },
}  # fmt: skip
DERIVED = {
    "hot_dir",
    "data_dir",
    "hermes_home",
    "namespace",
    "language",
    "timezone",
    "char_limit_memory",
    "char_limit_user",
}


def table(*heads: str) -> list[str]:
    return [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]


def row(*cells: object) -> str:
    return f"| {' | '.join(str(cell).replace('|', chr(92) + '|').replace(chr(10), ' ') for cell in cells)} |"


def commands(language: Language) -> str:
    words = WORDS[language]
    lines: list[str] = []
    for name, command in _commands(command_line(language), ""):
        lines += [f"### {name}", "", *_prose(str(command.help)), ""]
        parameters = [one for one in command.params if one.name != "help"]
        if parameters:
            lines += table(words["argument"], words["for"])
            lines += [row(f"`{_spelling(one)}`", one.help or "") for one in parameters]
            lines.append("")
    return "\n".join(lines)


def command_names(command: Any) -> list[str]:
    return [name.strip("`") for name, _ in _commands(command, "")]


def _commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    below = getattr(command, "commands", None)
    if below is None:
        yield f"`{path.strip()}`", command
        return
    if command.invoke_without_command and path:
        yield f"`{path.strip()}`", command
    for name, one in below.items():
        yield from _commands(one, f"{path or 'memorycore'} {name}")


def _prose(text: str) -> list[str]:
    """Help text as Markdown: its indented examples become one block of code."""
    lines = paragraphs(text)
    examples = [line.strip() for line in lines if line.startswith("  ")]
    said = "\n\n".join(line for line in lines if line and not line.startswith("  "))
    return [said, *(["", "```text", *examples, "```"] if examples else [])]


def _spelling(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name)
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    return f"{names} {parameter.metavar or ''}".strip()


def settings(language: Language) -> str:
    words = WORDS[language]
    lines = table(words["key"], words["variable"], words["default"], words["for"])
    for declared in fields(Settings):
        if "variables" not in declared.metadata:
            continue
        names = ", ".join(f"`{name}`" for name in declared.metadata["variables"])
        secret = " (`_FILE`)" if declared.metadata["secret"] else ""
        default = words["derived"] if declared.name in DERIVED else _plain(declared.default)
        purpose = messages.text(f"setting.{declared.name}", language)
        lines.append(row(f"`{declared.name}`", names + secret, default, purpose))
    return "\n".join(lines)


def _plain(value: object) -> str:
    if value is None or value == "":
        return "–"
    return f"`{int(value) if isinstance(value, bool) else value}`"


def problems(language: Language) -> str:
    words = WORDS[language]
    lines = table(words["code"], words["exit"], words["retry"], words["says"])
    for kind in _error_classes(errors.MemoryCoreError):
        retry = words["yes"] if kind.retryable else ""
        lines.append(row(f"`{kind.code}`", kind.exit_code, retry, _sentence(kind.code, language)))
    return "\n".join(lines)


def error_codes() -> list[str]:
    return [kind.code for kind in _error_classes(errors.MemoryCoreError)]


def _error_classes(kind: type[errors.MemoryCoreError]) -> Iterator[type[errors.MemoryCoreError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _error_classes(below)


def _sentence(code: str, language: Language) -> str:
    """The sentence without the parts that depend on facts; a fact that it cannot do without is three dots."""
    sentence = _OPTIONAL.sub("", messages.catalogue(language)[code])
    sentence = re.sub(r"\{\w+:[^{}|]+\|([^{}|]+)\}", r"… \1", sentence)
    return re.sub(r"\{\w+\}", "…", sentence).strip()


def reasons(language: Language) -> str:
    words = WORDS[language]
    known = set(error_codes())
    codes = [code for code in messages.catalogue(language) if "." not in code and code not in known]
    return "\n".join(
        [*table(words["code"], words["says"]), *(row(f"`{code}`", _sentence(code, language)) for code in codes)]
    )


def tools(language: Language) -> str:
    """Descriptions as clients see them, which are English; the Chinese page is written by hand."""
    words = WORDS[language]
    lines: list[str] = []
    for tool in TOOLSETS["full"]:
        full = f" ({words['full']})" if tool in TENDING else ""
        lines += [f"### `{tool.name}`{full}", "", tool.description, ""]
        schema = tool.ask.input_schema()
        if not schema["properties"]:
            continue
        lines += table(words["parameter"], words["for"])
        for name, found in schema["properties"].items():
            needed = f" ({words['required']})" if name in schema.get("required", ()) else ""
            default = f" ({found['default']})" if "default" in found else ""
            choice = f" {', '.join(f'`{word}`' for word in found['enum'])}." if "enum" in found else ""
            lines.append(row(f"`{name}`{needed}", f"{found['description']}{default}.{choice}"))
        lines.append("")
    return "\n".join(lines)


def routes(language: Language) -> str:
    words = WORDS[language]
    lines = table(words["route"], words["method"], words["arguments"])
    for name, tool in calls.table(Settings(), Given()).items():
        schema = tool.ask.input_schema()
        names = [
            f"`{argument}`" + (f" ({words['required']})" if argument in schema.get("required", ()) else "")
            for argument in schema["properties"]
        ]
        alike = f"`{tool.name}`" if tool.name != name else ""
        asked = words["as_tool"].replace("{tool}", alike) if alike else ", ".join(names) or "–"
        lines.append(row(f"`/v1/{name}`", "GET, POST" if tool.read_only else "POST", asked))
    return "\n".join(lines)


TABLES: dict[str, Callable[[Language], str]] = {
    "commands": commands, "settings": settings, "errors": problems, "reasons": reasons, "tools": tools,
    "routes": routes,
}  # fmt: skip


def renewed(page: Path) -> str:
    """The page with its generated parts as the code has them now."""
    language: Language = "zh" if "zh" in page.parts or "zh-CN" in page.name else "en"
    content = page.read_text(encoding="utf-8")
    return _GENERATED.sub(lambda found: f"{found[1]}\n{TABLES[found[2]](language).strip()}\n\n{found[3]}", content)


if __name__ == "__main__":
    for one in pages():
        if (new := renewed(one)) != one.read_text(encoding="utf-8"):
            one.write_text(new, encoding="utf-8", newline="\n")
