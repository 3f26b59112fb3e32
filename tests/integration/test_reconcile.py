"""What others do to the hot files is noticed at the next touch, and nothing of it is undone."""

from pathlib import Path

import pytest

from memorycore.domain.memory import Draft
from tests.homes import Home, fact, rule


def test_first_contact_moves_nothing_and_keeps_the_bytes(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write_memory_file("User prefers tea.", "2025-11-03 decided to use Postgres.", "Deploy host is alpha.")
    found = home.memory_file.read_bytes()
    with home.core() as core:
        rows = core.audit("memory")["targets"][0]["rows"]
        assert home.memory_file.read_bytes() == found
        assert [row["origin"] for row in rows] == ["legacy"] * 3
        assert all(row["resident_until"] == "2026-03-09T09:00:00Z" for row in rows)
        assert len(core.recall("Postgres")["results"]) >= 1
    kept = list((home.options.data_dir / "snapshots").rglob("*"))
    assert any(path.is_file() and path.read_bytes() == found for path in kept)


def test_a_text_written_by_hand_is_found_and_stamped(tmp_path: Path) -> None:  # IL-041
    home = Home(tmp_path)
    with home.core() as core:
        core.remember(rule(1), actor="test")
        home.write_memory_file(*home.entries(), "The staging host is called heron.")
        found = core.recall("heron")["results"][0]
        assert found["tier"] == "hot"
        events = core.inspect(found["id"])["events"]
        assert [(event["action"], event["actor"], event["reason"]) for event in events] == [
            ("added", "host", "host_added")
        ]


def test_an_edit_by_hand_keeps_id_and_history(tmp_path: Path) -> None:  # IL-041
    home = Home(tmp_path)
    with home.core() as core:
        stored = core.remember(Draft(content="Always answer in short sentences.", target="memory"), actor="test")
        home.write_memory_file("Always answer in very short sentences, please.")
        story = core.inspect(stored.get("id", ""))
        assert story["content"] == "Always answer in very short sentences, please."
        assert [revision["content"] for revision in story["revisions"]] == ["Always answer in short sentences."]
        assert core.recall("please")["results"][0]["id"] == stored.get("id")


def test_a_text_removed_by_hand_goes_to_the_bin_and_can_come_back(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        kept, gone = (core.remember(rule(number), actor="test").get("id", "") for number in (1, 2))
        home.write_memory_file(rule(1).content)
        assert [item["id"] for item in core.trash()["items"]] == [gone]
        assert core.trash()["items"][0]["reason"] == "host_removed"
        assert [hit["id"] for hit in core.recall("check number")["results"]] == [kept]
        assert core.restore(gone, actor="test").get("tier") == "hot"
        assert home.entries() == [rule(1).content, rule(2).content]


def test_an_emptied_file_is_taken_for_damage(tmp_path: Path) -> None:  # IL-026
    home = Home(tmp_path)
    with home.core() as core:
        ids = [core.remember(rule(number), actor="test").get("id", "") for number in range(3)]
        home.memory_file.write_bytes(b"")
        assert {hit["id"] for hit in core.recall("check number")["results"]} == set(ids)
        assert core.trash()["items"] == []
        assert [core.restore(one, actor="test").get("tier") for one in ids] == ["hot"] * 3


def test_the_last_entry_may_be_removed(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        only = core.remember(rule(1), actor="test").get("id", "")
        home.memory_file.write_bytes(b"")
        assert [item["id"] for item in core.trash()["items"]] == [only]


def test_a_restored_older_copy_is_noticed_by_its_content(tmp_path: Path) -> None:  # IL-007
    home = Home(tmp_path)
    with home.core() as core:
        core.remember(Draft(content="Never ship on Fridays.", target="memory"), actor="test")
        before = home.memory_file.stat()
        home.memory_file.write_bytes(b"Never ship on Mondays.")
        import os

        os.utime(home.memory_file, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert core.audit("memory")["targets"][0]["rows"][0]["text"] == "Never ship on Mondays."


@pytest.mark.parametrize("broken", [b"Tea\xff is good", b"\xd3\xc3\xbb\xa7\xcf\xb2"])
def test_a_file_that_cannot_be_decoded_is_left_alone_and_the_rest_goes_on(tmp_path: Path, broken: bytes) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        cold = core.remember(fact(1), actor="test")
        home.memory_file.parent.mkdir(parents=True, exist_ok=True)
        home.memory_file.write_bytes(broken)
        stored = core.remember(rule(1), actor="test")
        assert stored["status"] == "cold_stored_fallback"
        assert "MEMORY.md" in stored.get("note", "")
        assert home.memory_file.read_bytes() == broken
        assert core.recall("printer Leeds")["results"][0]["id"] == cold.get("id")
        assert core.remember(Draft(content="I prefer green tea.", target="user"), actor="test")["status"] == "stored"
        assert core.status()["level"] == "needs_you"
        assert "offset" in core.status()["problems"][0]


def test_a_cold_text_that_the_host_writes_into_the_file_stays_one_memory(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        cold = core.remember(fact(1), actor="test")
        home.write_memory_file(fact(1).content)
        results = core.recall("printer room 1")["results"]
        assert [(hit["id"], hit["tier"]) for hit in results] == [(cold.get("id"), "hot")]


def test_only_the_two_files_are_read(tmp_path: Path) -> None:  # IL-042
    home = Home(tmp_path)
    home.write_memory_file("Deploy host is alpha.")
    for number in range(10):
        (home.options.hot_dir / f"MEMORY.md.bak.{number}").write_text("Deploy host is beta.", encoding="utf-8")
    (home.options.hot_dir / ".mem_x.tmp").write_text("Deploy host is gamma.", encoding="utf-8")
    with home.core() as core:
        assert len(core.recall("deploy host")["results"]) == 1
        assert len(list(home.options.hot_dir.glob("*.bak.*"))) == 10


def test_a_second_look_at_an_unchanged_file_changes_nothing(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write_memory_file("Deploy host is alpha.", "User prefers tea.")
    with home.core() as core:
        core.touch()
        before = core.db.data_version()
        core.touch()
        assert core.db.data_version() == before
