from datetime import UTC, datetime, timedelta

import pytest

from memorycore.domain.spans import moment_before
from memorycore.errors import InvalidInput

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "ago"),
    [
        ("30m", timedelta(minutes=30)),
        ("30min", timedelta(minutes=30)),
        ("1h", timedelta(hours=1)),
        ("2d", timedelta(days=2)),
        ("1w", timedelta(weeks=1)),
        (" 1H 30M ", timedelta(hours=1, minutes=30)),
        ("45s", timedelta(seconds=45)),
        ("0m", timedelta()),
    ],
)
def test_a_span_is_that_long_before_now(text: str, ago: timedelta) -> None:
    assert moment_before(text, NOW) == NOW - ago


def test_a_date_or_a_time_is_itself() -> None:
    assert moment_before("2026-02-01", NOW) == datetime(2026, 2, 1, tzinfo=UTC)
    assert moment_before("2026-02-01T10:30:00+08:00", NOW) == datetime(2026, 2, 1, 2, 30, tzinfo=UTC)


def test_a_span_longer_than_time_is_its_beginning() -> None:
    assert moment_before("999999w", NOW) == datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "soon", "1x", "m30", "-1h", "1.5h"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        moment_before(text, NOW)
