"""What a person wanted gone is not brought back by anything automatic, and always by the person's own words."""

import json
from pathlib import Path
from typing import Any

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.domain.text import norm_hash
from memorycore.store import edges
from memorycore.transfer import from_line
from tests.command_line import CommandLine
from tests.homes import Home

FACT = "The archive key lies with Ms Okafor on the second floor."
RULE = "Always answer in short sentences."


def exported(core: MemoryCore) -> list[Any]:
    return [from_line(json.loads(json.dumps(line))) for line in core.export()]


def grave_of(core: MemoryCore, text: str) -> str | None:
    with core.db.read() as c:
        return edges.tombstone(c, "default", norm_hash(text))


def actions(core: MemoryCore, memory_id: str) -> list[object]:
    return [event["action"] for event in core.inspect(memory_id)["events"]]


def contents(core: MemoryCore, words: str) -> list[str]:
    return [item["content"] for item in core.recall(words)["results"]]


def test_an_older_export_does_not_bring_back_what_was_forgotten(tmp_path: Path) -> None:  # IL-067
    with Home(tmp_path).core() as core:
        memory_id = core.remember(Draft(content=FACT), actor="test").get("id", "")
        older = exported(core)
        core.forget(memory_id, actor="test")
        answers = list(core.remember_many(older, actor="import"))
        core.maintain()
        assert [(one["status"], one["tier"], one.get("id"), one.get("code")) for one in answers] == [
            ("refused", "bin", memory_id, "wanted_gone")
        ]
        assert f"memorycore restore {memory_id}" in answers[0].get("message", "")
        assert contents(core, "archive key Okafor") == []
        assert actions(core, memory_id) == ["added", "trashed", "kept_away"]


def test_a_copy_under_another_id_stays_out_as_well(tmp_path: Path) -> None:  # IL-067
    with Home(tmp_path / "elsewhere").core() as other:
        other.remember(Draft(content=FACT.upper()), actor="test")
        copy = exported(other)
    with Home(tmp_path / "here").core() as core:
        memory_id = core.remember(Draft(content=FACT), actor="test").get("id", "")
        core.forget(memory_id, actor="test")
        assert [one["status"] for one in core.remember_many(copy, actor="import")] == ["refused"]
        assert actions(core, memory_id)[-1] == "kept_away"


def test_the_users_own_words_bring_it_back(tmp_path: Path) -> None:  # IL-067, IL-068
    with Home(tmp_path).core() as core:
        core.remember(Draft(content=FACT), actor="test")
        older = exported(core)
        core.forget(FACT, actor="test")
        assert core.remember(Draft(content=FACT), actor="test")["status"] == "cold_stored"
        assert contents(core, "archive key Okafor") == [FACT]
        assert grave_of(core, FACT) is None
        assert [one["status"] for one in core.remember_many(older, actor="import")] == ["cold_duplicate"]


def test_restore_lifts_the_tombstone(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        memory_id = core.remember(Draft(content=FACT), actor="test").get("id", "")
        core.forget(memory_id, actor="test")
        assert grave_of(core, FACT) == memory_id
        core.restore(memory_id, actor="test")
        assert grave_of(core, FACT) is None


def test_an_entry_that_the_host_removed_is_not_imported_again(tmp_path: Path) -> None:  # IL-067
    home = Home(tmp_path)
    with home.core() as core:
        memory_id = core.remember(Draft(content=RULE, target="memory"), actor="test").get("id", "")
        core.remember(Draft(content="Never deploy on Fridays.", target="memory"), actor="test")
        older = exported(core)
        home.write_memory_file("Never deploy on Fridays.")
        assert [item["reason"] for item in core.trash()["items"]] == ["host_removed"]
        statuses = [one["status"] for one in core.remember_many(older, actor="import")]
        assert statuses == ["refused", "duplicate"]
        assert home.entries() == ["Never deploy on Fridays."]
        home.write_memory_file("Never deploy on Fridays.", RULE)  # by hand it always comes back
        assert core.inspect(memory_id)["state"] == "active"
        assert grave_of(core, RULE) is None


def test_what_was_binned_without_anybodys_wish_is_imported_again(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        core.remember(Draft(content="Tests are green again, done."), actor="test")
        assert [item["reason"] for item in core.trash()["items"]] == ["stale"]
        assert grave_of(core, "Tests are green again, done.") is None


def test_a_bin_that_is_imported_keeps_its_tombstones(tmp_path: Path) -> None:
    with Home(tmp_path / "one").core() as core:
        core.remember(Draft(content=FACT), actor="test")
        older = exported(core)
        core.forget(FACT, actor="test")
        with_bin = exported(core)
    with Home(tmp_path / "two").core() as core:
        list(core.remember_many(with_bin, actor="import"))
        assert [one["status"] for one in core.remember_many(older, actor="import")] == ["refused"]


def test_a_bulk_import_counts_what_it_kept_out(mc: CommandLine, tmp_path: Path) -> None:  # IL-067
    mc("store", FACT)
    mc("export", str(tmp_path / "all.jsonl"))
    mc("forget", FACT)
    ran = mc("store", "--from", str(tmp_path / "all.jsonl"))
    assert ran.code == 0
    assert "refused 1" in ran.err
    assert "wanted this text gone" in " ".join(ran.out.split())
