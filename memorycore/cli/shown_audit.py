"""The audit as a table for a person: each entry, why it is there, what comes next, and when it was used last."""

from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from memorycore import messages
from memorycore.cli.layout import FILES, bar, columns, dim, inside, point, thousands

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memorycore.answers import Audited, AuditRow, AuditTarget, QuestionLog
    from memorycore.cli.shell import Shell

NUMBER_CELLS = 3
NEXT_CELLS = 19  # "about 12 Oct unless"
USED_CELLS = 8  # the head, in both languages
BETWEEN = 2


def audited(shell: "Shell", answer: "Audited", *, verbose: bool) -> None:
    for target in answer["targets"]:
        _heading(shell, target)
        if target["rows"]:
            table = _table(shell, target["rows"])
            for number, row in enumerate(target["rows"], 1):
                _add(shell, table, number, row, verbose=verbose)
            shell.out.print(table)
        shell.out.print()
    noted = [_questions(shell, answer["questions"])] if answer["questions"]["noted"] else []
    for sentence in (*noted, *answer["degraded"]):
        point(shell, sentence)


def _heading(shell: "Shell", target: "AuditTarget") -> None:
    name = FILES[target["target"]]
    if target.get("problem") and not target["entries"]:  # it could not be read: zeros would be no truth
        shell.out.print(Text(f"{name}   {shell.word('usage.unreadable')}", style="bold"))
    else:
        size = shell.word(
            "usage.hot",
            chars=thousands(target["chars"]),
            limit=thousands(target["limit"]),
            percent=target["percent"],
            entries=target["entries"],
        )
        shell.out.print(columns((Text(name, style="bold"), bar(shell, target), Text(size, style="bold"))))
        budget = shell.word(
            "audit.budget",
            rules=thousands(target["rule_chars"]),
            budget=thousands(target["rule_budget_chars"]),
            pointers=thousands(target["pointer_chars"]) if target["pointer_chars"] else None,
            aim=thousands(target["aim"]),
            soft=thousands(target["soft"]),
            hard=thousands(target["hard"]),
        )
        dim(shell, budget)
    shell.out.print(inside(Text(target["path"], style="dim", overflow="fold")))
    if problem := target.get("problem"):
        shell.out.print(inside(Text(problem, style="red")))


def _questions(shell: "Shell", log: "QuestionLog") -> str:
    """What the weights rest on: how many questions, and from which likeness one counts."""
    since = (log["oldest"] or "")[:10] or None
    score = None if log["threshold"] is None else f"{log['threshold']:.2f}"
    return shell.word("audit.questions", count=thousands(log["count"]), since=since, score=score)


def _table(shell: "Shell", rows: "Sequence[AuditRow]") -> Table:
    """Where everything stays, the entries get the room that dates would take."""
    soon = NEXT_CELLS if any(row["plan"] != "stays" for row in rows) else USED_CELLS
    table = Table.grid(padding=(0, BETWEEN, 0, 0))
    table.add_column(justify="right", no_wrap=True, width=NUMBER_CELLS)
    table.add_column(width=shell.out.width - NUMBER_CELLS - soon - USED_CELLS - 3 * BETWEEN, overflow="fold")
    table.add_column(width=soon, overflow="fold")
    table.add_column(width=USED_CELLS, overflow="fold", no_wrap=True)
    heads = (shell.word(f"audit.head_{name}") for name in ("entry", "next", "used"))
    table.add_row("", *(Text(head, style="dim underline") for head in heads))
    return table


def _add(shell: "Shell", table: Table, number: int, row: "AuditRow", *, verbose: bool) -> None:
    now = datetime.now(UTC)
    told = [Text(row["text"]), Text(_why(shell, row), style="dim")]
    if verbose:
        told.append(Text(_numbers(row), style="dim"))
    zone = shell.settings.zone()
    used = Text(_day(shell, row["last_active_at"], now, zone), style="dim")
    table.add_row(f"{number}.", Group(*told), Text(_next(shell, row)), used)


def _why(shell: "Shell", row: "AuditRow") -> str:
    facts = [shell.word(f"type.{row['type']}"), _age(shell, row["age_days"]), row["why"]]
    facts += [_flag(shell, code) for code in row["flags"]]
    return " · ".join(fact for fact in facts if fact)


def _next(shell: "Shell", row: "AuditRow") -> str:
    if row["plan"] == "stays":
        return shell.word("audit.stays")
    day = datetime.fromisoformat(row.get("plan_day", ""))
    return shell.word(f"audit.soon_{row['plan']}", day=messages.day(day, shell.language))


def _day(shell: "Shell", moment: str | None, now: datetime, zone: tzinfo) -> str:
    """``today``, ``12 Oct``, or the year where that is another one."""
    if not moment:
        return "–"
    day, today = datetime.fromisoformat(moment).astimezone(zone), now.astimezone(zone)
    if day.date() >= today.date():
        return shell.word("audit.today")
    return messages.day(day, shell.language) if day.year == today.year else f"{day:%Y-%m}"


def _age(shell: "Shell", days: int) -> str:
    return shell.word("say.days", days=days) if days else shell.word("say.written_today")


def _flag(shell: "Shell", code: str) -> str:
    """In words what an entry is warned of; of what only the store needs to know, nothing."""
    if code in {"masked", "left"}:
        return ""
    if code.startswith("scanner_"):
        return shell.word("scanner", rule=code.removeprefix("scanner_"))
    own = f"audit.{code}"
    return shell.word(own if messages.has(own, shell.language) else code)


def _numbers(row: "AuditRow") -> str:
    numbers = {
        "id": row["id"] or "–", "sha256": row["sha256"][:16], "kind": row["kind"], "policy": row["policy"],
        "origin": row["origin"], "chars": row["chars"], "importance": f"{row['importance']:.2f}",
        "weight": f"{row['weight']:.2f}", "effective_weight": f"{row['effective_weight']:.2f}",
        "last_active_at": row["last_active_at"] or "–", "resident_until": row["resident_until"] or "–",
        "sink_candidate": row["sink_candidate"],
    }  # fmt: skip
    line = " · ".join(f"{name} {value}" for name, value in numbers.items())
    return line if row["plan"] == "stays" else f"{row['next']}\n{line}"
