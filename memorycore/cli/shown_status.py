"""The state of everything on one screen, as a person reads it."""

from typing import TYPE_CHECKING, Any

from rich.text import Text

from memorycore.cli.layout import BAR_CELLS, FILES, bar, columns, inside, minute, thousands, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from memorycore.answers import ColdUsage, HotUsage, Moves, QuestionLog, Status
    from memorycore.answers_upkeep import StepAt, Upkeep
    from memorycore.cli.shell import Shell

MOST_LINES = 24
MOST_PROBLEMS = 3
DISPENSABLE = (
    "upkeep", "version", "namespace", "daemon", "questions", "vector_index", "foreign", "missed", "sessions", "bin",
    "model",
)  # fmt: skip


def status(shell: "Shell", answer: "Status", daemon: "Mapping[str, Any]", *, other_profile: str = "") -> None:
    """The verdict first. What would not fit on a screen is left out, the least needed first; ``--json`` has it.

    ``other_profile``: the one that Hermes uses now, when this is the memory of its home.
    """
    head = list(_head(shell, answer))
    found = {**_facts(shell, answer, daemon), "profile": _profile(shell, other_profile)}
    facts = {name: value for name, value in found.items() if value}
    for name in DISPENSABLE:
        if sum(_lines(shell, part) for part in (*head, _labelled(shell, facts))) <= MOST_LINES:
            break
        facts.pop(name, None)
    for part in (*head, _labelled(shell, facts)):
        shell.out.print(part)


def _lines(shell: "Shell", part: "RenderableType") -> int:
    return len(shell.out.render_lines(part))


def _head(shell: "Shell", answer: "Status") -> "Iterator[RenderableType]":
    """The verdict, other problems, and both files as bars."""
    style = {"ok": "bold green", "degraded": "bold yellow", "needs_you": "bold red"}[answer["level"]]
    yield Text("\n".join(wrapped(answer["verdict"], shell.out.width)), style=style)
    others = [problem for problem in answer["problems"] if problem not in answer["verdict"]]
    for problem in others[:MOST_PROBLEMS]:
        yield inside(columns(("·", Text("\n".join(wrapped(problem, shell.out.width - 4)))), padding=1))
    if len(others) > MOST_PROBLEMS:
        yield inside(Text(shell.word("say.and_more", count=len(others) - MOST_PROBLEMS), style="dim"))
    if not answer["memories"] and answer["level"] == "ok":
        yield inside(Text(shell.word("usage.nothing_yet"), style="dim"))
    yield Text()
    files = answer["usage"]["hot"]
    yield columns(
        *(
            (
                FILES[hot["target"]],
                Text(" " * BAR_CELLS) if _is_unreadable(hot) else bar(shell, hot),
                Text(_filled(shell, hot)),
            )
            for hot in files
        )
    )
    for line in _marks(shell, files):
        yield inside(Text(line, style="dim"))
    yield Text()


def _labelled(shell: "Shell", facts: "Mapping[str, str]") -> "RenderableType":
    return columns(*((shell.word(f"label.{name}"), Text(value)) for name, value in facts.items()))


def _facts(shell: "Shell", answer: "Status", daemon: "Mapping[str, Any]") -> "Mapping[str, str]":
    usage, cold = answer["usage"], answer["usage"]["cold"]
    return {
        "memories": shell.word(
            "usage.memories",
            total=thousands(answer["memories"]),
            cold=thousands(cold["total"]),
            hot=thousands(answer["memories"] - cold["total"]),
            pointers=thousands(answer["pointers"]) if answer["pointers"] else None,
            vectors=thousands(cold["vectors"]),
        ),
        "waiting": shell.word("usage.waiting", pending=cold["pending"], failed=cold["failed"])
        if cold["pending"] or cold["failed"]
        else "",
        "remote": _remote(shell, cold),
        "upkeep": _upkeep(shell, answer["upkeep"]),
        "daemon": shell.word(
            f"usage.daemon_{daemon['status']}",
            since=minute(shell, daemon.get("started")),
            url=daemon.get("url"),
            pid=daemon.get("pid"),
        ),
        "bin": shell.word("usage.bin", count=usage["binned"], due=answer["purge_due"] or None),
        "moves": _moves(shell, answer["moves"]),
        "sessions": shell.word("usage.sessions", count=answer["sessions"]) if answer["sessions"] else "",
        "questions": _questions(shell, usage["questions"]),
        "model": answer["model"],
        "vector_index": "" if answer["vector_index"].startswith("sqlite-vec") else answer["vector_index"],
        "files": answer["hot_dir"],
        "database": shell.word("usage.database", path=answer["data_dir"], size=_megabytes(answer["database_bytes"])),
        "namespace": answer["namespace"],
        "missed": _missed(shell, answer),
        "foreign": ", ".join(answer["foreign"]),
        "version": answer["version"],
    }


def _profile(shell: "Shell", name: str) -> str:
    return shell.word("usage.other_profile", name=name) if name else ""


def _remote(shell: "Shell", cold: "ColdUsage") -> str:
    """The service that has copies, and what waits for it."""
    if "remote" not in cold:
        return ""
    told = cold["remote"]
    return shell.word("usage.remote", url=told["url"], waiting=told["waiting"] or None, failed=told["failed"] or None)


def _missed(shell: "Shell", answer: "Status") -> str:
    """Calls of programs that got no answer in time, the most frequent first."""
    if "missed" not in answer:
        return ""
    found = answer["missed"]
    most = sorted(found["counts"].items(), key=lambda one: -one[1])
    return shell.word(
        "usage.missed", what=", ".join(f"{call} {count}" for call, count in most), since=found["since"][:10]
    )


def _marks(shell: "Shell", files: "Sequence[HotUsage]") -> "Iterator[str]":
    """Who says how much a file holds, and its marks: once, where they are the same for both."""
    marks = [
        shell.word("usage.marks", soft=thousands(hot["soft"]), hard=thousands(hot["hard"]), aim=thousands(hot["aim"]))
        for hot in files
    ]
    origin = shell.word(f"limit.{files[0]['limit_from']}")
    if len(set(marks)) == 1:
        yield f"{origin} · {marks[0]}"
    else:
        yield origin
        yield from (f"{FILES[hot['target']]}: {mark}" for hot, mark in zip(files, marks, strict=True))


def _moves(shell: "Shell", moves: "Moves") -> str:
    """What left and came back, and the two commands that show it and take the last of it back."""
    if not moves["left"] and not moves["returned"]:
        return ""
    told = shell.word("usage.moves", **moves)
    undo = moves.get("undo")
    return f"{told}\n{shell.word('say.undo', command=undo)}" if undo else told


def _questions(shell: "Shell", log: "QuestionLog") -> str:
    off = "" if log["noted"] else shell.word("usage.questions_off")
    if not log["count"]:
        return off or shell.word("usage.questions_none")
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


def _upkeep(shell: "Shell", found: "Upkeep") -> str:
    """When the store was tended and will be; that it is large, where it is."""
    last, soon = found.get("last"), found.get("next")
    told = [
        shell.word("usage.last_step", step=last["step"], at=minute(shell, last["at"])) if last else "",
        _next_step(shell, soon) if soon else "",
        shell.word(f"usage.{'large_healthy' if found['capacity']['healthy'] else 'large'}")
        if found["capacity"]["level"] != "normal"
        else "",
    ]
    return " · ".join(part for part in told if part)


def _next_step(shell: "Shell", soon: "StepAt") -> str:
    if soon.get("due"):
        return shell.word("usage.due_step", step=soon["step"])
    return shell.word("usage.next_step", step=soon["step"], at=minute(shell, soon["at"])[-5:])


def _is_unreadable(hot: "HotUsage") -> bool:
    """Other problems are those of a file that was read, and has entries."""
    return bool(hot.get("problem")) and not hot["entries"]


def _megabytes(size: int) -> str:
    return f"{size / 1024**2:.1f} MB"
