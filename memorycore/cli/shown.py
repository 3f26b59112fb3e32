"""Answers as a person reads them: short sentences, aligned columns, no boxes, nothing that colour alone says."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from memorycore import messages

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memorycore.answers import (
        Audited,
        AuditRow,
        AuditTarget,
        Bin,
        Changed,
        Found,
        HotUsage,
        Recalled,
        Status,
        Stored,
        Story,
    )
    from memorycore.cli.bulk import Bad
    from memorycore.cli.shell import Shell
    from memorycore.errors import MemoryCoreError
    from memorycore.settings import Settings, Shown

FILES = {"memory": "MEMORY.md", "user": "USER.md"}
PREVIEW_CHARS = 50
STATUS_CELLS = 13  # the longest word of messages' table short, in both languages
MOST_PROBLEMS = 5
BAR_CELLS = 20


def stored(shell: "Shell", answer: "Stored") -> None:
    if answer.get("dry_run"):
        shell.out.print(shell.word("say.trial"), style="yellow")
    file = FILES.get(answer.get("target", "memory"), "MEMORY.md")
    shell.out.print(shell.word(f"status.{answer['status']}", file=file) + _type(shell, answer), style="bold")
    for reason in answer["reasons"]:
        if not reason.startswith("known_already"):  # the status said it
            _point(shell, sentence_of(reason))
    if note := answer.get("note"):
        _point(shell, note)
    if answer.get("pending"):
        _point(shell, shell.word("say.pending"))
    facts = [answer.get("id", ""), answer.get("usage", "")]
    _dim(shell, " · ".join(fact for fact in facts if fact))
    if undo := answer.get("undo"):
        _dim(shell, shell.word("say.undo", command=undo))


def _type(shell: "Shell", answer: "Stored") -> str:
    words = [shell.word(f"type.{answer['type']}")] if answer["type"] else []
    if answer["protected"]:
        words.append(shell.word("type.protected"))
    return shell.word("say.in_brackets", words=shell.word("say.comma").join(words)) if words else ""


def stored_line(shell: "Shell", answer: Mapping[str, Any], content: str) -> None:
    """One line for one line of ``store --from``."""
    where = shell.word(f"short.{answer['status']}")
    text = answer["message"] if "code" in answer else preview(content)
    shell.out.print(_columns((f"{answer['line']:>5}", where + " " * (STATUS_CELLS - cell_len(where)), text)))


def counts(shell: "Shell", found: Mapping[str, int]) -> None:
    """How many lines went where."""
    total = sum(found.values())
    parts = [f"{shell.word(f'short.{status}')} {number}" for status, number in sorted(found.items())]
    shell.err.print(shell.word("say.lines", total=total, parts=" · ".join(parts)))


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
            _found(shell, number, item)
        return
    until = (answer.get("until") or "")[:10]
    shell.out.print(shell.word(f"status.{answer['status']}", until=until), style="bold")
    before, after = answer.get("before"), answer.get("after")
    if before is not None and after is not None and before != after:
        shell.out.print(_inside(Text(f"- {before}", style="red")))
        shell.out.print(_inside(Text(f"+ {after}", style="green")))
    elif text := after if after is not None else before:
        shell.out.print(_inside(Text(text)))
    for reason in answer.get("reasons", []):
        _point(shell, sentence_of(reason))
    _dim(shell, answer.get("id", ""))
    if undo := answer.get("undo"):
        _dim(shell, shell.word("say.undo", command=undo))


def recalled(shell: "Shell", answer: "Recalled") -> None:
    for number, item in enumerate(answer["results"], 1):
        _found(shell, number, item)
    if not answer["results"]:
        shell.out.print(shell.word("say.nothing_found"))
    if note := answer.get("note"):
        shell.out.print(note)
    for memory_id in answer.get("in_bin", []):
        shell.out.print(shell.word("say.in_bin", id=memory_id))
    for part in answer.get("degraded", []):
        what = shell.word(f"degraded.{part}") if messages.has(f"degraded.{part}", "en") else part
        shell.out.print(shell.word("say.degraded", what=what), style="yellow")
    if "took_ms" in answer:
        took = f"{answer['took_ms']:.0f}"
        model = f"{answer.get('model_ms', 0):.0f}"
        shell.out.print(shell.word("say.took", count=len(answer["results"]), ms=took, model_ms=model), style="dim")


def question(shell: "Shell", query: str) -> None:
    shell.out.print(Text(f"? {query}", style="bold"))


def _found(shell: "Shell", number: int, item: "Found") -> None:
    shell.out.print(_columns((f"{number:>2}.", Text(item["content"])), padding=1))
    tier = shell.word(f"tier.{item['tier']}")
    file = FILES.get(item.get("target", ""), "") if item["tier"] == "hot" else ""
    date = (item.get("occurred_at") or item.get("created_at") or "")[:10]
    weak = shell.word("say.weak") if item.get("weak") else ""
    by = item.get("author", "")
    _facts(shell, [tier, file, date, by, *item.get("tags", []), f"{item['score']:.2f}", weak], item["id"])
    parts = {
        _explained(shell, name): f"{value:.3f}" if isinstance(value, float) else value_of(value)
        for name, value in item.get("why", {}).items()
    }
    if parts:
        shell.out.print(_inside(Text(_pairs(parts), style="dim"), by=4))


def _explained(shell: "Shell", name: str) -> str:
    code = f"explain.{name}"
    return shell.word(code) if messages.has(code, shell.language) else name


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
    shell.out.print(_columns((f"{number:>2}.", Text(row["text"])), padding=1))
    type_word = shell.word(f"type.{row['type']}")
    facts = [type_word, _age(shell, row["age_days"]), row["why"], row["next"], *row["flags"]]
    shell.out.print(_inside(Text(" · ".join(fact for fact in facts if fact), style="dim"), by=4))
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
        shell.out.print(_inside(Text(line, style="dim"), by=4))


def story(shell: "Shell", answer: "Story") -> None:
    shell.out.print(Text(answer["content"], style="bold"))
    facts: dict[str, object] = {
        "id": answer["id"], "state": answer["state"], "residence": answer["residence"], **answer["fields"],
        "refs": answer["refs"], "vector": answer["vector"],
    }  # fmt: skip
    rows = [(name, value_of(value)) for name, value in facts.items() if value not in (None, "", [], ())]
    shell.out.print(_inside(_columns(*rows)))
    if answer["revisions"]:
        shell.out.print(Text(shell.word("say.revisions"), style="bold"))
        earlier = ((minute(item.get("from")), str(item.get("content", ""))) for item in answer["revisions"])
        shell.out.print(_inside(_columns(*earlier)))
    if answer["events"]:
        shell.out.print(Text(shell.word("say.events"), style="bold"))
        shell.out.print(_inside(_columns(*(_event(shell, item) for item in answer["events"]))))


def _event(shell: "Shell", item: Mapping[str, object]) -> tuple[str, str]:
    said = {"at", "action", "actor", "reason"}
    action = f"event.{item.get('action')}"
    what = shell.word(action) if messages.has(action, "en") else str(item.get("action"))
    rest = _pairs({name: value for name, value in item.items() if name not in said})
    facts = (what, str(item.get("actor", "")), str(item.get("reason", "")), rest)
    return minute(item.get("at")), " · ".join(fact for fact in facts if fact)


def minute(moment: object) -> str:
    """``2026-03-14 09:30`` of an ISO time in UTC."""
    return str(moment or "")[:16].replace("T", " ")


def _pairs(item: Mapping[str, object]) -> str:
    return " · ".join(f"{name} {value_of(value)}" for name, value in item.items() if value not in (None, "", {}, []))


def value_of(value: object) -> str:
    if isinstance(value, Mapping):
        return _pairs(value)  # type: ignore[arg-type]
    if isinstance(value, list | tuple):
        return ", ".join(str(part) for part in value)  # type: ignore[misc]
    return str(value)


def binned(shell: "Shell", answer: "Bin") -> None:
    if not answer["items"]:
        shell.out.print(shell.word("say.bin_empty"))
        return
    for number, item in enumerate(answer["items"], 1):
        shell.out.print(_columns((f"{number:>2}.", Text(item["content"])), padding=1))
        why = shell.word(f"bin.{item['reason']}") if messages.has(f"bin.{item['reason']}", "en") else item["reason"]
        until = shell.word("say.until", until=item["until"][:10])
        _facts(shell, [why, item["trashed_at"][:10], until], item["id"])
    shell.out.print(shell.word("say.restore"), style="dim")


def status(shell: "Shell", answer: "Status") -> None:
    """At most 24 lines; the verdict comes first."""
    style = {"ok": "bold green", "degraded": "bold yellow", "needs_you": "bold red"}[answer["level"]]
    shell.out.print(Text(answer["verdict"], style=style))
    for problem in answer["problems"][:MOST_PROBLEMS]:
        if problem not in answer["verdict"]:
            _point(shell, problem)
    shell.out.print()
    usage, cold = answer["usage"], answer["usage"]["cold"]
    rows: list[tuple[RenderableType, ...]] = [
        (FILES[hot["target"]], _bar(shell, hot), Text(_filled(shell, hot))) for hot in usage["hot"]
    ]
    shell.out.print(_columns(*rows))
    origin = usage["hot"][0]["limit_from"]
    _dim(shell, shell.word(f"limit.{origin}"))
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
        "model": answer["model"],
        "vector_index": "" if answer["vector_index"].startswith("sqlite-vec") else answer["vector_index"],
        "files": answer["hot_dir"],
        "database": shell.word("usage.database", path=answer["data_dir"], size=_megabytes(answer["database_bytes"])),
        "namespace": answer["namespace"],
        "foreign": ", ".join(answer["foreign"]),
        "version": answer["version"],
    }
    shell.out.print()
    shell.out.print(_columns(*((shell.word(f"label.{name}"), Text(value)) for name, value in facts.items() if value)))


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
                    [Text(_at_slashes(value, room), style=style), Text(_at_slashes(origin, room), style="dim")]
                ),
            )
        )
        if verbose:
            shell.out.print(_columns(rows.pop()))
            _dim(shell, f"{one.variable}: {shell.word(f'setting.{one.key}')}")
    shell.out.print(_columns(*rows), end="")
    for name in found.without_effect:
        shell.out.print(shell.word("say.without_effect", name=name), style="yellow")


def _at_slashes(text: str, room: int) -> str:
    """A path that is too long for one line goes on after a slash, not in the middle of a name."""
    lines = [""]
    for part in re.split(r"(?<=[/\\])", text):
        if lines[-1] and cell_len(lines[-1] + part) > room:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


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


def sentence_of(reason: str) -> str:
    """What stands behind the code in ``code: sentence``."""
    code, colon, sentence = reason.partition(": ")
    return sentence if colon and code.replace("_", "").isalnum() else reason


def preview(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= PREVIEW_CHARS else line[: PREVIEW_CHARS - 1] + "…"


def thousands(number: int) -> str:
    return f"{number:,}"


def _columns(*rows: "Iterable[RenderableType]", padding: int = 2) -> Table:
    """Rows in columns of their own width. A long path goes on in the next line: one that is cut is of no use."""
    table = Table.grid(padding=(0, padding))
    for row in map(tuple, rows):
        while len(table.columns) < len(row):
            table.add_column(overflow="fold")
        table.add_row(*row)
    return table


def _inside(what: "RenderableType", *, by: int = 2) -> Padding:
    return Padding(what, (0, 0, 0, by), expand=False)


def _point(shell: "Shell", sentence: str) -> None:
    shell.out.print(_inside(_columns(("·", Text(sentence)), padding=1)))


def _facts(shell: "Shell", facts: Iterable[str], memory_id: str) -> None:
    """One line of facts and the id, which moves to a line of its own rather than be cut."""
    line = " · ".join(fact for fact in facts if fact)
    whole = f"{line} · {memory_id}"
    for part in [whole] if cell_len(whole) + 4 <= shell.out.width else [line, memory_id]:
        shell.out.print(_inside(Text(part, style="dim"), by=4))


def _dim(shell: "Shell", line: str) -> None:
    if line:
        shell.out.print(_inside(Text(line, style="dim")))
