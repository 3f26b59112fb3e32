"""Answers as a person reads them: short sentences, aligned columns, no boxes, nothing that colour alone says."""

from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.text import Text

from memorycore import messages
from memorycore.cli.layout import (
    FILES,
    at_slashes,
    columns,
    dim,
    facts_line,
    inside,
    point,
    sentence_of,
    thousands,
)
from memorycore.cli.shown_recall import found as shown_found

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from memorycore.answers import (
        Audited,
        AuditRow,
        AuditTarget,
        Bin,
        Changed,
        HotUsage,
        QuestionLog,
        Status,
    )
    from memorycore.cli.bulk import Bad
    from memorycore.cli.shell import Shell
    from memorycore.errors import MemoryCoreError
    from memorycore.settings import Settings, Shown

MOST_PROBLEMS = 5
BAR_CELLS = 20


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


def audited(shell: "Shell", answer: "Audited", *, verbose: bool) -> None:
    for target in answer["targets"]:
        shell.out.print(Text(_heading(shell, target), style="bold"))
        shell.out.print(Text(target["path"], style="dim"), overflow="fold")
        if problem := target.get("problem"):
            shell.out.print(problem, style="red")
        for number, row in enumerate(target["rows"], 1):
            _audit_row(shell, number, row, verbose=verbose)
        shell.out.print()


def _heading(shell: "Shell", target: "AuditTarget") -> str:
    if target.get("problem") and not target["entries"]:  # it could not be read: zeros would be no truth
        return f"{FILES[target['target']]}   {shell.word('usage.unreadable')}"
    return shell.word(
        "audit.heading",
        file=FILES[target["target"]],
        chars=thousands(target["chars"]),
        limit=thousands(target["limit"]),
        percent=target["percent"],
        entries=target["entries"],
        rules=thousands(target["rule_chars"]),
        budget=thousands(target["rule_budget_chars"]),
    )


def _age(shell: "Shell", days: int) -> str:
    return shell.word("say.days", days=days) if days else shell.word("say.written_today")


def _audit_row(shell: "Shell", number: int, row: "AuditRow", *, verbose: bool) -> None:
    shell.out.print(columns((f"{number:>2}.", Text(row["text"])), padding=1))
    type_word = shell.word(f"type.{row['type']}")
    facts = [type_word, _age(shell, row["age_days"]), row["why"], row["next"]]
    facts += [_flag(shell, code) for code in row["flags"]]
    shell.out.print(inside(Text(" · ".join(fact for fact in facts if fact), style="dim"), by=4))
    if verbose:
        active = row["last_active_at"] or "–"
        numbers = {
            "id": row["id"] or "–", "sha256": row["sha256"][:16], "kind": row["kind"], "policy": row["policy"],
            "origin": row["origin"], "chars": row["chars"], "importance": f"{row['importance']:.2f}",
            "weight": f"{row['weight']:.2f}", "effective_weight": f"{row['effective_weight']:.2f}",
            "last_active_at": active, "resident_until": row["resident_until"] or "–",
            "sink_candidate": row["sink_candidate"],
        }  # fmt: skip
        line = " · ".join(f"{name} {value}" for name, value in numbers.items())
        shell.out.print(inside(Text(line, style="dim"), by=4))


def _flag(shell: "Shell", code: str) -> str:
    """In words what an entry is warned of; of what only the store needs to know, nothing."""
    if code in {"masked", "left"}:
        return ""
    if code.startswith("scanner_"):
        return shell.word("scanner", rule=code.removeprefix("scanner_"))
    own = f"audit.{code}"
    return shell.word(own if messages.has(own, shell.language) else code)


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


def status(shell: "Shell", answer: "Status") -> None:
    """At most 24 lines; the verdict comes first."""
    style = {"ok": "bold green", "degraded": "bold yellow", "needs_you": "bold red"}[answer["level"]]
    shell.out.print(Text(answer["verdict"], style=style))
    for problem in answer["problems"][:MOST_PROBLEMS]:
        if problem not in answer["verdict"]:
            point(shell, problem)
    shell.out.print()
    usage, cold = answer["usage"], answer["usage"]["cold"]
    rows: list[tuple[RenderableType, ...]] = [
        (FILES[hot["target"]], _bar(shell, hot), Text(_filled(shell, hot))) for hot in usage["hot"]
    ]
    shell.out.print(columns(*rows))
    origin = usage["hot"][0]["limit_from"]
    dim(shell, shell.word(f"limit.{origin}"))
    facts = {
        "memories": shell.word(
            "usage.memories",
            total=thousands(answer["memories"]),
            cold=thousands(cold["total"]),
            hot=thousands(answer["memories"] - cold["total"]),
            vectors=thousands(cold["vectors"]),
        ),
        "waiting": shell.word("usage.waiting", pending=cold["pending"], failed=cold["failed"])
        if cold["pending"] or cold["failed"]
        else "",
        "bin": shell.word("usage.bin", count=usage["binned"], due=answer["purge_due"] or None),
        "questions": _questions(shell, usage["questions"]),
        "model": answer["model"],
        "vector_index": "" if answer["vector_index"].startswith("sqlite-vec") else answer["vector_index"],
        "files": answer["hot_dir"],
        "database": shell.word("usage.database", path=answer["data_dir"], size=_megabytes(answer["database_bytes"])),
        "namespace": answer["namespace"],
        "foreign": ", ".join(answer["foreign"]),
        "version": answer["version"],
    }
    shell.out.print()
    shell.out.print(columns(*((shell.word(f"label.{name}"), Text(value)) for name, value in facts.items() if value)))


def _questions(shell: "Shell", log: "QuestionLog") -> str:
    off = "" if log["noted"] else shell.word("usage.questions_off")
    if not log["count"]:
        return off
    known = shell.word("usage.questions", count=thousands(log["count"]), since=(log["oldest"] or "")[:10])
    return f"{known} · {off}" if off else known


def _filled(shell: "Shell", hot: "HotUsage") -> str:
    if _is_unreadable(hot):
        return shell.word("usage.unreadable")
    return shell.word(
        "usage.hot",
        chars=thousands(hot["chars"]),
        limit=thousands(hot["limit"]),
        percent=hot["percent"],
        entries=hot["entries"],
    )


def _is_unreadable(hot: "HotUsage") -> bool:
    """Other problems are those of a file that was read, and has entries."""
    return bool(hot.get("problem")) and not hot["entries"]


def _bar(shell: "Shell", hot: "HotUsage") -> Text:
    if _is_unreadable(hot):
        return Text(" " * BAR_CELLS)
    in_unicode = (shell.out.encoding or "").lower().startswith("utf")
    full, empty = ("█", "░") if in_unicode else ("#", ".")
    filled = min(BAR_CELLS, round(BAR_CELLS * hot["chars"] / hot["limit"]))
    style = "red" if hot["chars"] >= hot["hard"] else "yellow" if hot["chars"] >= hot["soft"] else "green"
    return Text(full * filled, style=style) + Text(empty * (BAR_CELLS - filled), style="dim")


def _megabytes(size: int) -> str:
    return f"{size / 1024**2:.1f} MB"


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
