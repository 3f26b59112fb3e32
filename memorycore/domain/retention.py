"""What a hot entry weighs, and what any memory is worth after a time without use.

The weight is an exponentially decayed count of uses (the "combined recency and frequency" of Lee et al., LRFU, 2001):
each strong use adds to what is left of the earlier ones, and the sum halves every ``half_life_days``.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from memorycore.domain.memory import Memory, Policy

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Fading:
    """How memories of one policy fade: R(t) = exp(-(t/S)^beta), S = ``days`` (1 + 0.5 ln(1 + uses)), t days unused.

    Where fading memories may leave at all, one goes ``below`` this value, not before ``after_days``.
    """

    days: float
    beta: float
    below: float = 0.0
    after_days: float = 0.0


# Core memories do not fade, and rules never leave for it.
FADING: Mapping[Policy, Fading] = {
    "rule": Fading(days=365, beta=0.5),
    "fact": Fading(days=60, beta=0.8, below=0.10, after_days=30),
    "episode": Fading(days=10, beta=1.2, below=0.15, after_days=14),
}
USE_HALVES_DAYS = 30.0
KEPT_FROM = 0.9  # the importance, given by somebody, from which on nothing leaves for being unused


def worth(memory: Memory, used: Sequence[datetime], now: datetime) -> float:
    """R(t) (0.40 + 0.30 importance + 0.15 surprise + 0.15 u / (1 + u)), 0..1; u counts uses, halved every 30 days.

    ``used``: its recent uses; the earlier ones are in ``use_count``.
    """
    fading = FADING.get(memory.policy)
    u = sum(0.5 ** (days_since(moment, now) / USE_HALVES_DAYS) for moment in used)
    value = 0.40 + 0.30 * memory.importance + 0.15 * memory.surprise + 0.15 * u / (1 + u)
    if fading is None:
        return value
    lasts = fading.days * (1 + 0.5 * math.log(1 + memory.use_count + len(used)))
    return value * math.exp(-((days_since(last_use(memory, used), now) / lasts) ** fading.beta))


def last_use(memory: Memory, used: Sequence[datetime]) -> datetime:
    """When a memory was last told, changed or used."""
    moments = (memory.created_at, memory.updated_at, memory.last_used_at, *used)
    return max(moment for moment in moments if moment is not None)


def may_fade_away(memory: Memory, used: Sequence[datetime], now: datetime) -> bool:
    """Whether a memory is worth so little by now that it may leave, where that is allowed at all."""
    fading = FADING.get(memory.policy)
    if fading is None or not fading.below or memory.pinned or memory.protected or memory.residence != "cold":
        return False
    if memory.importance_given and memory.importance >= KEPT_FROM:
        return False
    is_old = days_since(last_use(memory, used), now) > fading.after_days
    return is_old and worth(memory, used, now) < fading.below


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
