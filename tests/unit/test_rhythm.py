"""How somebody may write when maintenance runs."""

from pathlib import Path

import pytest

from memorycore.errors import SettingsError
from memorycore.settings import load_settings
from memorycore.settings.rhythm import interval_s, rhythms


def schedule(home: Path, text: str) -> str:
    return load_settings({"HOME": str(home), "MEMORYCORE_SCHEDULE": text}).schedule


def test_rhythms_come_out_in_one_order_and_spelling(tmp_path: Path) -> None:
    written = "dedup=OFF ; backup = 30  4 * * SUN;checkpoint= 10m;"
    assert schedule(tmp_path, written) == "backup = 30 4 * * sun; checkpoint = 10m; dedup = off"
    assert rhythms(schedule(tmp_path, written)) == {"backup": "30 4 * * sun", "checkpoint": "10m", "dedup": "off"}
    assert schedule(tmp_path, "") == ""


def test_the_config_file_may_hold_them_as_a_table(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[schedule]\nbackup = "1d"\ndecay = "off"\n', encoding="utf-8")
    assert load_settings({"HOME": str(tmp_path)}, config).schedule == "backup = 1d; decay = off"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("backup", "not_a_rhythm"),
        ("= 1d", "not_a_schedule"),
        ("backup = soon", "not_a_rhythm"),
        ("backup = 1w", "not_a_rhythm"),
        ("backup = * * * *", "not_a_rhythm"),
        ("backup = 0 0 * * 0", "weekday_by_number"),
        ("backup = 0 0 * * mon-5", "weekday_by_number"),
        ("checkpoint = 1s", "too_often"),
    ],
)
def test_what_cannot_be_a_rhythm_says_why(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(SettingsError) as caught:
        schedule(tmp_path, text)
    assert (caught.value.facts["key"], caught.value.facts["why"]) == ("MEMORYCORE_SCHEDULE", why)


@pytest.mark.parametrize("raw", [{"backup": 5}, [1], 7, {"Backup!": "1d"}])
def test_a_table_holds_words(raw: object) -> None:
    with pytest.raises(ValueError, match="not_a_schedule"):
        rhythms(raw)


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("15m", 900), ("6h", 21_600), ("2d", 172_800), ("x", None)])
def test_an_interval_is_a_number_of_seconds(text: str, seconds: int | None) -> None:
    assert interval_s(text) == seconds
