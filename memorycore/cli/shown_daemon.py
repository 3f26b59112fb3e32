"""The daemon as a person reads about it: whether it runs, where, what it does next."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from memorycore.cli.layout import columns, inside, minute

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memorycore.cli.shell import Shell
    from memorycore.daemon.control import Daemon
    from memorycore.endpoint import Endpoint
    from memorycore.settings import Settings

GLANCE_S = 2.0


def steps_of(shell: "Shell") -> list[dict[str, Any]]:
    """When each maintenance step last ran and runs next; empty where there is no memory yet."""
    from memorycore.core import MemoryCore
    from memorycore.daemon.upkeep import outlook

    if not (shell.settings.data_dir / "memorycore.db").is_file():
        return []
    with MemoryCore(shell.settings.core_options(), long_lived=False) as core:  # without its model
        return [
            {"step": one["step"], **{name: one.get(name) for name in ("last", "outcome", "next")}}
            for one in outlook(core)
            if "last" in one or "next" in one
        ]


def glance(data_dir: Path) -> dict[str, Any]:
    """Whether a daemon leads, since when and where; ``silent`` when it does not answer soon."""
    from memorycore import endpoint
    from memorycore.daemon import control, leader

    leads = leader.current(data_dir)
    if leads is None:
        return {"status": "stopped"}
    where = endpoint.read(data_dir)
    if where is None or where.pid != leads.pid:
        return {"status": "starting", "pid": leads.pid}
    how = "runs" if control.answers(where, within_s=GLANCE_S) else "silent"
    return {"status": how, "pid": leads.pid, "started": leads.started, "url": where.url}


def answer(shell: "Shell", found: "Daemon | None", steps: "Sequence[Mapping[str, Any]]") -> dict[str, Any]:
    """What ``--json`` says. Never the token. ``differs``: in what the daemon is not what this command would start."""
    from memorycore.daemon import logs

    where = None if found is None else found.endpoint
    return {
        "status": "stopped" if found is None else "starting" if where is None else "runs",
        "pid": None if found is None else found.leader.pid,
        "version": None if found is None else found.leader.version,
        "started": None if found is None else found.leader.started,
        "url": None if where is None else where.url,
        "differs": [] if where is None else differences(shell.settings, where),
        "data_dir": str(shell.settings.data_dir),
        "log": str(shell.settings.data_dir / logs.FILE),
        "steps": list(steps),
    }


def status(shell: "Shell", answer: "Mapping[str, Any]") -> None:
    shell.out.print(Text(shell.word(f"daemon.is_{answer['status']}", pid=answer["pid"]), style="bold"))
    rows = [
        (shell.word(f"daemon.label_{name}"), Text(minute(shell, value) if name == "started" else str(value)))
        for name, value in answer.items()
        if name in {"version", "started", "url", "data_dir", "log"} and value is not None
    ]
    shell.out.print(inside(columns(*rows)))
    tell_differences(shell, answer)
    if "problem" in answer:
        shell.out.print(Text(str(answer["problem"]), style="yellow"))
    if answer["steps"]:
        shell.out.print()
        heads = [Text(shell.word(f"daemon.head_{name}"), style="dim") for name in ("step", "last", "next")]
        shell.out.print(inside(columns(heads, *(_row(shell, one) for one in answer["steps"]))))


def tell_differences(shell: "Shell", answer: "Mapping[str, Any]") -> None:
    """In what it is not the daemon that this command would start, and what to do about it."""
    from memorycore.daemon import control

    for difference in answer["differs"]:
        is_newer = difference == "version" and not control.is_older(str(answer["version"]))
        shell.out.print(shell.word(f"daemon.differs_{'newer' if is_newer else difference}"), style="yellow")


def _row(shell: "Shell", one: "Mapping[str, Any]") -> list[Text]:
    outcome = shell.word(f"daemon.outcome_{one['outcome']}") if one["outcome"] else ""
    last = f"{minute(shell, one['last'])} {outcome}".strip() if one["last"] else "–"
    return [Text(one["step"]), Text(last), Text(minute(shell, one["next"]) or "–")]


def differences(ours: "Settings", where: "Endpoint") -> list[str]:
    """In what a running daemon is not the one that these settings would start."""
    from memorycore import __version__
    from memorycore.relay import greeting

    words = {
        "version": __version__, "data_dir": str(ours.data_dir), "hot_dir": str(ours.hot_dir),
        "namespace": ours.namespace, "settings": ours.fingerprint(),
    }  # fmt: skip
    return list(greeting.differing(words, where))
