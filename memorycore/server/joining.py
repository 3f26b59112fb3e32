"""The start of a stdio server: whether a daemon serves this client, or this process does it alone.

Everything heavy is imported only where this process serves alone.
"""

import os
import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from memorycore import __version__
from memorycore.errors import DaemonGone, NotAvailable, SettingsError
from memorycore.relay import link as links
from memorycore.relay.greeting import Wanted
from memorycore.relay.link import ChildLink, Link, Refused
from memorycore.relay.relay import Relay, Ways, say

if TYPE_CHECKING:
    from memorycore.settings import Settings

START = "memorycore daemon start"
WAIT_S = 2.0
REQUIRED_WAIT_S = 10.0
LOOK_EVERY_S = 0.03


def relay_of(session: str, arguments: Sequence[str], pipe_out: int) -> Relay | None:
    """A relay to the daemon that has this very memory; None where this process is to serve alone.

    ``session`` names this client, also for whoever serves it later; ``arguments`` are those of this process.

    Raises:
        NotAvailable: ``MEMORYCORE_DAEMON=require``, and there is no daemon that fits.
        SettingsError: A server that requires a daemon cannot read its settings.
    """
    from memorycore.settings import load_settings

    try:
        settings = load_settings(os.environ)
    except SettingsError:
        if os.environ.get("MEMORYCORE_DAEMON", "").strip().lower() == "require":
            raise
        return None  # the first answer says what is wrong
    if settings.daemon == "off":
        return None
    wanted = _wanted(settings, session)
    link = _first(wanted, settings)
    if link is None:
        return None
    required = settings.daemon == "require"
    ways = Ways(
        find=partial(links.find, wanted),
        is_coming=partial(links.is_coming, wanted.data_dir),
        alone=None if required else partial(_alone, settings, wanted, arguments),
        problem=partial(_problem, settings),
    )
    return Relay(link, ways, pipe_out)


def _wanted(settings: "Settings", session: str) -> Wanted:
    return Wanted(
        version=__version__,
        data_dir=str(settings.data_dir),
        hot_dir=str(settings.hot_dir),
        namespace=settings.namespace,
        settings=settings.fingerprint(),
        toolset=settings.toolset,
        language=settings.language,
        session=session,
    )


def _first(wanted: Wanted, settings: "Settings") -> Link | None:
    try:
        link = _waited_for(wanted, REQUIRED_WAIT_S if settings.daemon == "require" else WAIT_S)
    except Refused as refused:
        if settings.daemon == "require":
            facts = _facts(refused, wanted)
            raise NotAvailable(what="memorycore daemon", why=refused.code, instead=START, **facts) from None
        _say(settings, refused.code, **_facts(refused, wanted))
        return None
    if link is None and settings.daemon == "require":
        raise NotAvailable(what="memorycore daemon", why="no_daemon", instead=START, path=wanted.data_dir)
    if link is None and links.is_coming(wanted.data_dir):
        _say(settings, "daemon_silent")
    return link


def _waited_for(wanted: Wanted, most_s: float) -> Link | None:
    """The daemon; one that has just been started is given a moment, since whoever serves alone does so for long."""
    until = time.monotonic() + most_s
    while (link := links.find(wanted)) is None and links.is_coming(wanted.data_dir) and time.monotonic() < until:
        time.sleep(LOOK_EVERY_S)
    return link


def _alone(settings: "Settings", wanted: Wanted, arguments: Sequence[str], refused: Refused | None) -> Link:
    """A server of its own for a client whose daemon went away.

    Raises:
        OSError: No process can be started now.
    """
    from memorycore import messages

    if refused is None:
        say(messages.text("server.daemon_gone", settings.language))
    else:
        _say(settings, refused.code, **_facts(refused, wanted))
    command = [sys.executable, "-m", "memorycore.server", *arguments, "--session", wanted.session]
    return ChildLink(command, {**os.environ, "MEMORYCORE_DAEMON": "off"})


def _say(settings: "Settings", code: str, **facts: object) -> None:
    """Why this process serves alone, beside a daemon."""
    from memorycore import messages

    why = messages.text(f"why.{code}", settings.language, **facts)
    say(messages.text("server.alone", settings.language, why=why))


def _facts(refused: Refused, wanted: Wanted) -> dict[str, object]:
    name = refused.code.removeprefix("other_")
    return {
        "pid": refused.found.pid,
        "theirs": getattr(refused.found, name, None),
        "ours": getattr(wanted, name, None),
    }


def _problem(settings: "Settings") -> dict[str, object]:
    from memorycore import messages

    return dict(messages.problem(DaemonGone(), settings.language))
