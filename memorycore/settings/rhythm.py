"""How often each maintenance step runs, as somebody wrote it: ``backup = 30 4 * * sun; dedup = 12h; decay = off``."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import cast

from memorycore.errors import SettingsError
from memorycore.settings.unfit import UnfitError

OFF = "off"
UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
LEAST_S = 10
_STEP = re.compile(r"[a-z][a-z_]*")
_INTERVAL = re.compile(r"(\d{1,6})([smhd])")
_CRON_FIELDS = 5


def schedule(raw: object) -> str:
    """The rhythms in one order and one spelling. From config.toml also as a table, ``[schedule]``.

    Raises:
        UnfitError: It is no list of ``step = rhythm``, or a rhythm is none.
    """
    return "; ".join(f"{step} = {rhythm}" for step, rhythm in sorted(rhythms(raw).items()))


def rhythms(raw: object) -> dict[str, str]:
    """The rhythm of each step that is named."""
    if isinstance(raw, Mapping):
        pairs = list(cast("Mapping[str, object]", raw).items())
    elif isinstance(raw, str):
        parts = [part for part in raw.split(";") if part.strip()]
        pairs = [(name, rhythm) for name, _, rhythm in (part.partition("=") for part in parts)]
    else:
        raise UnfitError("not_a_schedule")
    found: dict[str, str] = {}
    for name, rhythm in pairs:
        step = name.strip()
        if not _STEP.fullmatch(step) or not isinstance(rhythm, str):
            raise UnfitError("not_a_schedule")
        found[step] = _rhythm(step, rhythm)
    return found


def paces_and_times(text: str) -> tuple[dict[str, timedelta | None], dict[str, str]]:
    """How often steps run, None for those that are off; and of those with times of the day, their cron fields.

    Raises:
        SettingsError: There is no such step.
    """
    from memorycore.govern.steps.table import STEPS

    paces: dict[str, timedelta | None] = {}
    times: dict[str, str] = {}
    for step, rhythm in rhythms(text).items():
        if step not in STEPS:
            raise SettingsError(key="schedule", why="not_one_of", value=step, allowed=", ".join(STEPS))
        seconds = interval_s(rhythm)
        if seconds is None and rhythm != OFF:
            times[step] = rhythm
        else:
            paces[step] = None if seconds is None else timedelta(seconds=seconds)
    return paces, times


def interval_s(rhythm: str) -> int | None:
    """The seconds of ``15m``, ``6h``, ``1d``; None for anything else."""
    found = _INTERVAL.fullmatch(rhythm)
    return int(found[1]) * UNITS_S[found[2]] if found else None


def _rhythm(step: str, raw: str) -> str:
    words = raw.lower().split()
    rhythm = " ".join(words)
    if rhythm == OFF:
        return rhythm
    if (seconds := interval_s(rhythm)) is not None:
        if seconds < LEAST_S:
            raise UnfitError("too_often", step=step, least=LEAST_S)
        return rhythm
    if len(words) != _CRON_FIELDS:
        raise UnfitError("not_a_rhythm", step=step)
    # Whether Sunday is 0, 6 or 7 depends on whom one asks; the scheduler counts from Monday, cron from Sunday.
    if any(sign.isdecimal() for sign in words[-1]):
        raise UnfitError("weekday_by_number", step=step)
    return rhythm
