"""What the doctor can put right by itself: only what loses nothing and needs no choice."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memorycore import endpoint
from memorycore.cli.finding import Finding

if TYPE_CHECKING:
    from memorycore.core import MemoryCore
    from memorycore.settings import Settings


def repair(findings: Sequence[Finding], settings: "Settings") -> list[Finding]:
    """Put right what can be; those findings that something was done about."""
    wrong = [finding for finding in findings if finding.level != "pass"]
    done = [finding for finding in wrong if finding.code in _BESIDE]
    for finding in done:
        _BESIDE[finding.code](finding.facts, settings)
    inside = [finding for finding in wrong if finding.code in _INSIDE]
    if inside:
        from memorycore.core import MemoryCore

        with MemoryCore.open(settings.core_options(), long_lived=False) as core:
            for finding in inside:
                _INSIDE[finding.code](finding.facts, core)
    return done + inside


def _close_to_others(facts: Mapping[str, object], _settings: "Settings") -> None:
    Path(str(facts["path"])).chmod(0o600)


def _forget_daemon(_facts: Mapping[str, object], settings: "Settings") -> None:
    left = endpoint.read(settings.data_dir)
    if left is not None:
        endpoint.remove(settings.data_dir, left.pid)


def _try_again(core: "MemoryCore") -> None:
    from memorycore.store import jobs

    with core.db.write() as c:
        jobs.revive(c, core.namespaces, core.rooms.clock())


_BESIDE: Mapping[str, Callable[[Mapping[str, object], "Settings"], None]] = {
    "file_open_to_others": _close_to_others,
    "daemon_left": _forget_daemon,
}
_INSIDE: Mapping[str, Callable[[Mapping[str, object], "MemoryCore"], Any]] = {
    "database_older": lambda _, core: core.touch(),  # opening it has brought it up to date
    "index_gaps": lambda _, core: core.maintain(["integrity"]),
    "log_long": lambda _, core: core.maintain(["checkpoint"]),
    "jobs_given_up": lambda _, core: _try_again(core),
    "untended": lambda _, core: core.maintain(),
    "steps_failed": lambda facts, core: core.maintain(str(facts["steps"]).split(", ")),
}
