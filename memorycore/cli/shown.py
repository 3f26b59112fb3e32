"""Answers as a person reads them: short sentences, aligned columns, no boxes, nothing that colour alone says."""

from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.text import Text

from memorycore import messages
from memorycore.cli.layout import (
    at_slashes,
    columns,
    dim,
    facts_line,
    inside,
    point,
    sentence_of,
)
from memorycore.cli.shown_recall import found as shown_found

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from memorycore.answers import (
        Bin,
        Changed,
    )
    from memorycore.cli.bulk import Bad
    from memorycore.cli.shell import Shell
    from memorycore.errors import MemoryCoreError
    from memorycore.settings import Settings, Shown


def bad_line(shell: "Shell", bad: "Bad") -> None:
    from memorycore.cli.bulk import bad_answer

    answer = bad_answer(bad, shell)
    if shell.as_json:
        shell.emit({**answer, "results": []})
    else:
        shell.err.print(shell.word("say.bad_line", line=bad.number, message=answer["message"]), style="red")


def changed(shell: "Shell", answer: "Changed") -> None:
    if answer.get("dry_run"):
        shell.out.print(shell.word("say.trial"), style="yellow")
    if answer["status"] == "candidates":
        found = answer.get("candidates", [])
        shell.out.print(shell.word("say.candidates" if found else "say.no_candidates"), style="bold")
        for number, item in enumerate(found, 1):
            shown_found(shell, number, item)
        return
    until = (answer.get("until") or "")[:10]
    shell.out.print(shell.word(f"status.{answer['status']}", until=until), style="bold")
    before, after = answer.get("before"), answer.get("after")
    if before is not None and after is not None and before != after:
        shell.out.print(inside(Text(f"- {before}", style="red")))
        shell.out.print(inside(Text(f"+ {after}", style="green")))
    elif text := after if after is not None else before:
        shell.out.print(inside(Text(text)))
    for reason in answer.get("reasons", []):
        point(shell, sentence_of(reason))
    dim(shell, answer.get("id", ""))
    if undo := answer.get("undo"):
        dim(shell, shell.word("say.undo", command=undo))


def binned(shell: "Shell", answer: "Bin") -> None:
    if not answer["items"]:
        shell.out.print(shell.word("say.bin_empty"))
        return
    for number, item in enumerate(answer["items"], 1):
        shell.out.print(columns((f"{number:>2}.", Text(item["content"])), padding=1))
        why = shell.word(f"bin.{item['reason']}") if messages.has(f"bin.{item['reason']}", "en") else item["reason"]
        until = shell.word("say.until", until=item["until"][:10])
        facts_line(shell, [why, item["trashed_at"][:10], until], item["id"])
    shell.out.print(shell.word("say.restore"), style="dim")


def settings(shell: "Shell", found: "Settings", *, verbose: bool) -> None:
    """Every value and where it came from; ``verbose`` adds what it is for."""
    rows: list[tuple[RenderableType, ...]] = []
    described = found.describe()
    room = shell.out.width - max(len(one.key) for one in described) - 2
    for one in described:
        origin = "· " + shell.word(f"origin.{one.origin.kind}", detail=one.origin.detail)
        value = _setting_value(shell, one)
        between = " " if cell_len(f"{value} {origin}") <= room else "\n"
        style = "" if one.origin.kind == "default" else "bold"
        rows.append(
            (
                one.key,
                Text(between).join(
                    [Text(at_slashes(value, room), style=style), Text(at_slashes(origin, room), style="dim")]
                ),
            )
        )
        if verbose:
            shell.out.print(columns(rows.pop()))
            dim(shell, f"{one.variable}: {shell.word(f'setting.{one.key}')}")
    shell.out.print(columns(*rows), end="")
    for name in found.without_effect:
        shell.out.print(shell.word("say.without_effect", name=name), style="yellow")


def _setting_value(shell: "Shell", one: "Shown") -> str:
    if one.secret:
        return shell.word("say.secret_set" if one.value else "say.not_set")
    if one.value is None or one.value == "":
        return shell.word("say.automatic" if one.value is None or one.key == "timezone" else "say.not_set")
    return {True: "1", False: "0"}[one.value] if isinstance(one.value, bool) else str(one.value)


def settings_answer(shell: "Shell", found: "Settings", problems: "Sequence[MemoryCoreError]") -> dict[str, Any]:
    """Every setting; before them the first problem, as any refusal says it, and the sentences of all."""
    listed = [
        {
            "key": one.key,
            "variable": one.variable,
            "value": None if one.secret else one.value,
            **({"secret": True, "set": bool(one.value)} if one.secret else {}),
            "origin": one.origin.kind,
            "from": one.origin.detail,
        }
        for one in found.describe()
    ]
    answer: dict[str, Any] = {"settings": listed, "without_effect": list(found.without_effect)}
    if not problems:
        return answer
    sentences = [messages.error_text(problem, shell.language) for problem in problems]
    return {**messages.problem(problems[0], shell.language), "problems": sentences, **answer}
