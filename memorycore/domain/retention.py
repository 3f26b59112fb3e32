"""What a hot entry weighs: how often it was used lately, and whether it is protected.

The weight is an exponentially decayed count of uses (the "combined recency and frequency" of Lee et al., LRFU, 2001):
each strong use adds to what is left of the earlier ones, and the sum halves every ``half_life_days``.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

NEW_WEIGHT = 1.0
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a memory stands in its hot file, or stood when it left.

    The weight was ``weight`` at ``weighed_at``, the last strong use. ``touched_at``: the last use, strong or weak.
    Until ``resident_until`` it stays unless there is no other way. ``pointer``: the text that stands in the file for
    it, or stood there; beside a text that is in the file itself, one that is to go. ``compared``: the norm hash of the
    wording that overflow last compared with the others.
    """

    weighed_at: datetime
    touched_at: datetime
    resident_until: datetime
    weight: float = NEW_WEIGHT
    pointer: str = ""
    retired_at: datetime | None = None
    restored_at: datetime | None = None
    compared: str = ""


def fresh(now: datetime, *, resident_days: float) -> Standing:
    """How an entry stands that is new in the file, or back in it."""
    return Standing(weighed_at=now, touched_at=now, resident_until=now + timedelta(days=resident_days))


def arrived(known: Standing | None, now: datetime, *, resident_days: float, was_there: bool) -> Standing:
    """How a memory stands that is in its file from now on, after it ``was_there`` or not.

    One that was there and never left stands as before: its file was lost for a while, or only seemed so.
    """
    new = fresh(now, resident_days=resident_days)
    if known is None:
        return new
    if was_there and known.retired_at is None:
        return known
    return replace(new, restored_at=now, compared=known.compared)


def left(known: Standing | None, now: datetime, *, pointer: str = "") -> Standing:
    """How a memory stands whose text leaves its file. The pointer of an earlier time is kept where there is no new."""
    stood = known or fresh(now, resident_days=0)
    return replace(stood, retired_at=now, pointer=pointer or stood.pointer)


def days_since(moment: datetime, now: datetime) -> float:
    """Days that have passed; none where the clock was set back."""
    return max(0.0, (now - moment) / DAY)


def weight_now(standing: Standing, now: datetime, *, half_life_days: float) -> float:
    return standing.weight * 0.5 ** (days_since(standing.weighed_at, now) / half_life_days)


def effective_weight(
    standing: Standing, now: datetime, *, protected: bool, half_life_days: float, protected_times: float
) -> float:
    """What an entry weighs now: weight · 0.5^(days since the last strong use / half-life), more when protected.

    Protection multiplies, it never exempts.
    """
    times = protected_times if protected else 1.0
    return weight_now(standing, now, half_life_days=half_life_days) * times


def used(standing: Standing, now: datetime, *, adds: float, half_life_days: float) -> Standing:
    """After a strong use: what is left of the weight, and ``adds``; it halves from now on."""
    left = weight_now(standing, now, half_life_days=half_life_days)
    return replace(standing, weight=left + adds, weighed_at=now, touched_at=now)


def brushed(standing: Standing, now: datetime, *, adds: float) -> Standing:
    """After a weak use: a little more weight, which halves as before."""
    return replace(standing, weight=standing.weight + adds, touched_at=now)
