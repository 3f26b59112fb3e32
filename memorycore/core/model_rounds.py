"""When the language model is asked about single rules of the hot files: now and then, and after a run of overflow.

A process that lives long asks in the background only, so that nothing ever waits for a model there. One that ends after
its command asks at the end of the run that somebody called for, for a bounded time.
"""

import logging
import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from datetime import timedelta

from memorycore.core.dormancy import judge_dormant
from memorycore.core.rooms import Rooms
from memorycore.core.shorten import Shortened, shorten
from memorycore.domain.memory import Target
from memorycore.errors import HotFileError
from memorycore.govern import opinions
from memorycore.hot.tier import HotTier
from memorycore.lifecycle.rows import Cause
from memorycore.lifecycle.way_back import COMPRESSED
from memorycore.llm import ChatEndpoint, open_endpoint
from memorycore.store import progress

_log = logging.getLogger(__name__)
ACTOR = "llm"
ROUND = "model_round"  # the piece of work: when the last round began, or that one is wanted
WANTED = "wanted"
PAUSE = timedelta(hours=1)
RUN_S = 30.0  # so long a run begins new questions; one more may be under way


def after_overflow(rooms: Rooms, runs: Iterable[tuple[HotTier, str]]) -> Mapping[Target, Shortened]:
    """Shorten what may be, as a part of the run over each file; what became of it.

    Empty without a model, and in a process that lives long: there it comes later.
    """
    llm = rooms.options.llm
    if not (llm.active and llm.compress):
        return {}
    if rooms.background is not None:
        with rooms.db.write() as c:
            progress.put(c, rooms.options.namespace, ROUND, WANTED, rooms.clock())
        rooms.background.wake()
        return {}
    endpoint = open_endpoint(llm)
    if endpoint is None or _is_away(rooms):
        return {}
    with closing(endpoint):
        return _shortened(rooms, runs, endpoint, time.monotonic() + RUN_S)


def in_background(rooms: Rooms, endpoint: ChatEndpoint) -> None:
    """One round over both files, if the last one is long enough ago."""
    llm = rooms.options.llm
    if not (llm.compress or llm.ask_dormant) or not _is_time(rooms) or _is_away(rooms):
        return
    with rooms.db.write() as c:
        progress.put(c, rooms.options.namespace, ROUND, "", rooms.clock())
    ends_at = time.monotonic() + RUN_S
    if llm.compress:
        _shortened(rooms, [(tier, rooms.new_id()) for tier in rooms.tiers.values()], endpoint, ends_at)
    if llm.ask_dormant and rooms.options.budget.enabled:
        for tier in rooms.tiers.values():
            try:
                judge_dormant(rooms, tier, endpoint, ends_at=ends_at)
            except HotFileError as error:
                _log.info("no rule was asked about: %s", error.code)


def _shortened(
    rooms: Rooms, runs: Iterable[tuple[HotTier, str]], endpoint: ChatEndpoint, ends_at: float
) -> dict[Target, Shortened]:
    found: dict[Target, Shortened] = {}
    for tier, run in runs:
        cause = Cause(
            actor=ACTOR, at=rooms.clock(), reason=COMPRESSED, run=run, automatic=True,
            facts={"model": rooms.options.llm.model},
        )  # fmt: skip
        try:
            found[tier.target] = shorten(rooms, tier, endpoint, cause, ends_at=ends_at)
        except HotFileError as error:
            _log.info("nothing was shortened: %s", error.code)
            continue
        if found[tier.target].away:
            break
    return found


def _is_time(rooms: Rooms) -> bool:
    with rooms.db.read() as c:
        last = progress.of(c, rooms.options.namespace, ROUND)
    # Of a round in the future the clock went back since.
    return last.at is None or last.value == WANTED or not timedelta() <= rooms.clock() - last.at < PAUSE


def _is_away(rooms: Rooms) -> bool:
    with rooms.db.read() as c:
        return opinions.is_away(c, rooms.options.namespace, rooms.clock())
