"""The sidecar: whatever stands in it, reading goes on, and what we do not know is kept."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memorycore.domain.text import entry_hash
from memorycore.hot.sidecar import EntryMeta, Sidecar, parse_sidecar, render_sidecar, sidecar_path

KEY = entry_hash("Use metric units.")
WRITTEN = datetime(2026, 3, 1, 8, 30, tzinfo=UTC)


def read_back(sidecar: Sidecar) -> Sidecar:
    return parse_sidecar(render_sidecar(sidecar))


def as_bytes(table: object) -> bytes:
    return json.dumps(table).encode()


def entry(**fields: object) -> bytes:
    return as_bytes({"version": 2, "entries": {KEY: {"type": "rule", "written_at": "2026-03-01T08:30:00Z", **fields}}})


def test_the_sidecar_lies_beside_its_file_and_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").symlink_to(tmp_path / "elsewhere" / "notes.md")
    assert sidecar_path(tmp_path / "MEMORY.md") == tmp_path / "MEMORY.meta.json"


def test_every_field_comes_back() -> None:
    meta = EntryMeta(
        type="stub",
        written_at=WRITTEN,
        origin="overflow",
        id="0197",
        kind="preference",
        policy="rule",
        protected=("red_line",),
        importance=0.95,
        updated_at=WRITTEN.replace(microsecond=120_000),
        last_active_at=WRITTEN,
        weight=2.5,
        weight_at=WRITTEN,
        resident_until=WRITTEN,
        pinned=True,
        cold_id="remote:7",
        session_id="晨会",
    )
    sidecar = Sidecar(entries={KEY: meta})
    assert read_back(sidecar) == sidecar


def test_a_version_1_file_is_read_and_becomes_version_2() -> None:
    old = as_bytes(
        {
            KEY: {
                "type": "state",
                "written_at": "2025-11-02T10:00:00.123456+00:00",
                "updated_at": "2025-11-03T10:00:00+00:00",
                "origin": "retype_overflow",
                "importance": 0.8,
            },
            "scanned_up_to": 4711,
        }
    )
    sidecar = parse_sidecar(old)
    meta = sidecar.entries[KEY]
    assert (meta.type, meta.origin, meta.importance) == ("state", "retype_overflow", 0.8)
    assert meta.written_at == datetime(2025, 11, 2, 10, 0, 0, 123456, tzinfo=UTC)
    written = json.loads(render_sidecar(sidecar))
    assert (written["version"], written["scanned_up_to"], list(written["entries"])) == (2, 4711, [KEY])
    assert not sidecar.damaged


def test_unknown_fields_are_kept_at_both_levels() -> None:
    table = {"version": 3, "of_tomorrow": [1, {"a": None}], "entries": json.loads(entry(colour="blue"))["entries"]}
    written = json.loads(render_sidecar(parse_sidecar(as_bytes(table))))
    assert written["of_tomorrow"] == [1, {"a": None}]
    assert written["entries"][KEY]["colour"] == "blue"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("importance", "high"),
        ("importance", 7),
        ("importance", True),
        ("weight", -1),
        ("weight", 10**400),
        ("kind", "poem"),
        ("policy", 3),
        ("protected", "yes"),
        ("protected", [1]),
        ("pinned", "true"),
        ("updated_at", "yesterday"),
        ("updated_at", "0001-01-01T00:00:00+14:00"),
        ("resident_until", 1764460800),
        ("session_id", None),
        ("session_id", "\ud83d"),
    ],
)
def test_a_value_that_cannot_be_read_is_kept_as_it_is(name: str, value: object) -> None:
    sidecar = parse_sidecar(entry(**{name: value}))
    assert sidecar.entries[KEY].type == "rule"
    assert json.loads(render_sidecar(sidecar))["entries"][KEY][name] == value


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_numbers_that_json_does_not_have_are_not_written(number: str) -> None:
    sidecar = parse_sidecar(entry(mark="#").replace(b'"#"', number.encode()))
    assert json.loads(render_sidecar(sidecar))["entries"][KEY]["mark"] is None


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"version": 2}',
        b'{"version": 2, "entries": []}',
        b"[" * 100_000,
        b'{"version": ' + b"9" * 5000 + b"}",
        as_bytes({"version": 2, "entries": {}, "deep": json.loads("[" * 40 + "]" * 40)}),
    ],
)
def test_a_damaged_file_reads_as_empty_and_says_so(data: bytes) -> None:
    sidecar = parse_sidecar(data)
    assert not sidecar.entries
    assert sidecar.damaged


@pytest.mark.parametrize("data", [b"", b" \n"])
def test_no_bytes_are_no_damage(data: bytes) -> None:
    assert parse_sidecar(data) == Sidecar()


@pytest.mark.parametrize(
    "broken",
    [
        {"no hash": {"type": "rule", "written_at": "2026-03-01"}},
        {"0" * 64: "text"},
        {"0" * 64: {"type": "rule"}},
        {"0" * 64: {"type": "poem", "written_at": "2026-03-01"}},
    ],
)
def test_one_broken_entry_does_not_take_the_others_with_it(broken: dict[str, Any]) -> None:
    table = json.loads(entry())
    table["entries"].update(broken)
    sidecar = parse_sidecar(as_bytes(table))
    assert list(sidecar.entries) == [KEY]
    assert sidecar.damaged
