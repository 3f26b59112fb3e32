"""Spans of time as people type them: ``30m``, ``1h``, ``2d``, ``1w``, and together ``1h30m``."""

import re
from datetime import UTC, datetime, timedelta, tzinfo

from memorycore.domain.memory import parse_time
from memorycore.errors import InvalidInput

_SPAN = re.compile(r"(?:(\d{1,6})w)?(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m(?:in)?)?(?:(\d{1,6})s)?")
_UNITS = ("weeks", "days", "hours", "minutes", "seconds")
_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)


def moment_before(text: str, now: datetime, *, zone: tzinfo = UTC, name: str = "since") -> datetime:
    """The moment that lies so long before ``now``; an ISO date or time is that moment itself.

    Raises:
        InvalidInput: It is neither.
    """
    value = "".join(text.lower().split())
    found = _SPAN.fullmatch(value)
    if value and found:
        given = {unit: int(part or 0) for unit, part in zip(_UNITS, found.groups(), strict=True)}
        try:
            return max(now - timedelta(**given), _EARLIEST)
        except OverflowError:
            return _EARLIEST
    try:
        return parse_time(text, zone=zone, name=name)
    except InvalidInput as error:
        raise InvalidInput(field=name, why="no_span", value=text) from error
