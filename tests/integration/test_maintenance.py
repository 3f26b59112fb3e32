"""The steps of maintenance: what each does, that it can be undone, and that nothing is done twice."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memorycore.core import MemoryCore, RecallFilters
from memorycore.domain.memory import Draft, Source
from memorycore.govern.steps.capacity import STEPS_OF_A_PASS
from memorycore.options import CoreOptions, MaintenanceOptions
from memorycore.store import step_runs
from memorycore.store.memories import by_id
from tests.command_line import CommandLine
from tests.homes import START, Home, fact, rule


def run(core: MemoryCore, step: str, *, dry_run: bool = False) -> Mapping[str, Any]:
    return core.maintain([step], dry_run=dry_run)["steps"][0]


def care(home: Home, **changes: Any) -> None:
    home.options = replace(home.options, maintenance=replace(home.options.maintenance, **changes))


def state(core: MemoryCore, memory_id: str) -> str:
    with core.db.read() as c:
        found = by_id(c, memory_id, core.namespaces)
    return "" if found is None else found.state


def status_of_source(core: MemoryCore, memory_id: str) -> str:
    with core.db.read() as c:
        found = by_id(c, memory_id, core.namespaces)
    return "" if found is None or found.source is None else found.source.status


def remembered(core: MemoryCore, text: str, **more: Any) -> str:
    return str(core.remember(Draft(content=text, **more), actor="test")["id"])  # type: ignore[typeddict-item]


def by_contract(core: MemoryCore, text: str) -> str:
    """A text that came in beside admission: nobody compared it with the others."""
    return core.cold.remember(text)


def test_a_step_that_somebody_runs_is_left_to_them_until_their_time_is_over(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        with core.db.write() as c:
            held = step_runs.lease(c, "default", "purge", "another", home.clock())
        assert held is not None
        assert run(core, "purge")["outcome"] == "busy"
        assert "purge" not in core.due_steps()
        home.clock.forward(seconds=step_runs.LEASE.total_seconds() + 1)
        assert run(core, "purge")["outcome"] == "done"


def test_a_leader_that_was_paused_writes_nothing_more(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        for number in range(3):
            core.forget(remembered(core, fact(number).content), actor="test")
        home.clock.forward(days=31)
        paused: list[str] = []

        def report(_: object) -> None:
            """While this process sleeps, another takes the step over."""
            home.clock.forward(hours=2)
            with core.db.write() as c:
                assert step_runs.lease(c, "default", "purge", "successor", home.clock()) or paused
            paused.append("slept")

        answer = core.maintain(["purge"], report=report)["steps"][0]
        assert answer["outcome"] == "lost"
        assert len(core.trash()["items"]) == 3


def test_what_is_due_follows_the_pace_and_a_clock_that_was_set_back(tmp_path: Path) -> None:
    home = Home(tmp_path)
    care(home, every={"dedup": timedelta(hours=1), "purge": None}, cron={"backup": "30 3 * * sun"})
    with home.core() as core:
        assert not {"purge", "backup"} & set(core.due_steps())
        core.maintain()
        assert core.due_steps() == []
        home.clock.forward(hours=1)
        assert "dedup" in core.due_steps()
        assert "decay" not in core.due_steps()
        home.clock.forward(days=-30)
        assert "decay" in core.due_steps()
        assert {"reconcile", "dedup"} <= set(core.catch_up(budget_s=30))


def test_memories_with_one_text_become_one_and_undo_keeps_them_apart(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        first = remembered(core, "The boiler in Leeds was serviced in May.")
        second = by_contract(core, "The boiler in Leeds  was serviced in may.")
        assert run(core, "dedup", dry_run=True)["would_merge"] == 1
        done = run(core, "dedup")
        assert (done["merged"], state(core, first), state(core, second)) == (1, "active", "trashed")
        assert run(core, "dedup")["merged"] == 0
        assert core.undo(actor="test", run=str(done["undo"]).rpartition(" ")[2])["status"] == "undone"
        assert state(core, second) == "active"
        assert run(core, "dedup")["merged"] == 0
        home.clock.forward(days=31)
        assert run(core, "dedup")["merged"] == 1


def test_memories_that_say_the_same_in_other_words_are_merged_and_contradictions_wait(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        first = remembered(core, "The staging database runs on port 5432.")
        again = by_contract(core, "The staging database is running on port 5432.")
        other = by_contract(core, "The staging database runs on port 6000.")
        found = run(core, "consolidate")
        assert (state(core, first), state(core, again), state(core, other)) == ("active", "trashed", "active")
        assert found["merged"] == 1
        waiting = run(core, "conflicts")
        assert waiting["disputed"] + waiting["proposed"] >= 1
        assert len(core.review()["items"]) >= 1
        assert run(core, "conflicts")["disputed"] == 0


@pytest.mark.parametrize(("how", "expected"), [("propose", "active"), ("off", "active"), ("merge", "trashed")])
def test_what_becomes_of_the_same_said_twice_is_a_setting(tmp_path: Path, how: str, expected: str) -> None:
    home = Home(tmp_path)
    care(home, consolidate=how)
    with home.core() as core:
        remembered(core, "The staging database runs on port 5432.")
        again = by_contract(core, "The staging database is running on port 5432.")
        run(core, "consolidate")
        assert state(core, again) == expected
        assert len(core.review()["items"]) == (how == "propose")


def test_what_is_over_is_no_answer_and_stays_for_looking_back(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        until = START + timedelta(days=10)
        cold = remembered(core, "The office in Porto is closed for repairs.", valid_until=until)
        hot = remembered(core, "Always run the long test before a merge.", valid_until=until, target="memory")
        mine = remembered(core, "The draft lies in tray four.", scope="session", session_id="s1")
        assert run(core, "expire")["ended"] == 0
        home.clock.forward(days=15)
        done = run(core, "expire")
        assert (state(core, cold), state(core, hot), state(core, mine)) == ("expired", "expired", "trashed")
        assert (done["ended"], done["binned"], home.entries()) == (2, 1, [])
        assert core.recall("office Porto repairs")["results"] == []
        back = core.recall("office Porto repairs", filters=RecallFilters(as_of=START + timedelta(days=1)))
        assert [found["id"] for found in back["results"]] == [cold]
        assert core.maintain(["integrity"])["steps"][0]["repaired"] is False
        assert core.undo(actor="test", run=str(done["undo"]).rpartition(" ")[2])["status"] == "undone"
        assert state(core, cold) == "active"
        assert run(core, "expire")["ended"] == 0


def test_nothing_leaves_for_being_unused_by_default(tmp_path: Path) -> None:  # IL-234, IL-235
    home = Home(tmp_path)
    with home.core() as core:
        kept = [remembered(core, fact(number).content, importance=0.9) for number in range(3)]
        plain = remembered(core, "The heron nests behind the mill.")
        home.clock.forward(days=400)
        found = run(core, "decay")
        assert (found["faded"], found["binned"]) == (1, 0)
        assert [state(core, one) for one in (*kept, plain)] == ["active"] * 4
        assert core.recall("heron mill")["results"][0]["id"] == plain


# Days without use after which a memory goes, where that is switched on: as docs/maintenance.md has them.
@pytest.mark.parametrize(
    ("more", "days"),
    [
        ({}, 117),
        ({"importance": 0.2}, 102),
        ({"importance": 0.7}, 126),
        ({"policy": "episode"}, 15),
        ({"importance": 0.9}, None),
        ({"policy": "rule"}, None),
        ({"policy": "core"}, None),
    ],
)
def test_where_it_is_switched_on_the_documented_times_hold(
    tmp_path: Path, more: dict[str, Any], days: int | None
) -> None:
    home = Home(tmp_path)
    care(home, decay_bin=True)
    with home.core() as core:
        one = remembered(core, "The heron nests behind the mill.", **({"importance": 0.5} | more))
        went = None
        for day in range(1, 500):
            home.clock.now = START + timedelta(days=day)
            if (days is None or day >= days - 3) and run(core, "decay")["binned"]:
                went = day
                break
            if days is None:
                home.clock.now = START + timedelta(days=499)
                assert run(core, "decay")["binned"] == 0
                break
        assert went == days
        assert state(core, one) == ("active" if days is None else "trashed")


def test_a_source_that_says_something_else_now_is_marked_stale(tmp_path: Path) -> None:
    home = Home(tmp_path)
    page = tmp_path / "notes.txt"
    page.write_text("the kiln fires at 1200 degrees", encoding="utf-8")
    known = hashlib.sha256(page.read_bytes()).hexdigest()
    with home.core() as core:
        one = remembered(core, "The kiln fires at 1200 degrees.", source=Source(uri=page.as_uri(), sha256=known))
        far = remembered(core, "The canal is 9 km long.", source=Source(uri="https://example.org/canal"))
        assert run(core, "verify")["verified"] == 1
        assert status_of_source(core, one) == "verified"
        page.write_text("the kiln fires at 900 degrees", encoding="utf-8")
        assert run(core, "verify")["stale"] == 1
        home.clock.forward(days=100)
        page.unlink()
        assert run(core, "verify")["outcome"] == "done"
        assert status_of_source(core, far) == "unverified"
        assert run(core, "verify", dry_run=True)["outcome"] == "planned"


def test_a_run_out_of_time_goes_on_where_it_stopped(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        for number in range(120):
            core.forget(remembered(core, fact(number).content), actor="test")
        home.clock.forward(days=31)
        outcomes: list[str] = []
        while "done" not in outcomes:
            outcomes.append(str(core.maintain(["purge"], time_box_s=0.000_1)["steps"][:1] and "partial"))
            answer = core.maintain(["purge"], time_box_s=0.02)["steps"]
            outcomes += [str(step["outcome"]) for step in answer]
            assert len(outcomes) < 400
        assert core.trash()["items"] == []
        purged = core.history(limit=500)["events"]
        assert sum(event["action"] == "purged" for event in purged) == 120


def test_a_large_tier_gets_one_pass_and_is_then_left_in_peace(tmp_path: Path) -> None:
    home = Home(tmp_path)
    care(home, soft_entries=20, hard_entries=40)
    with home.core() as core:
        for number in range(15):
            remembered(core, fact(number).content)
        assert run(core, "capacity")["level"] == "normal"
        for number in range(15, 25):
            remembered(core, fact(number).content)
        assert run(core, "capacity")["queued"] is True
        assert {"dedup", "consolidate", "expire", "decay", "purge"} <= set(core.due_steps())
        assert core.status()["upkeep"]["jobs"]["tidy"]["waiting"] == 1
        core.maintain()
        home.clock.forward(minutes=6)
        again = run(core, "capacity")
        assert (again["queued"], again["healthy"]) == (False, True)
        remembered(core, fact(25).content)
        assert run(core, "capacity")["queued"] is False
        remembered(core, fact(26).content)
        assert run(core, "capacity")["queued"] is True


def test_above_the_hard_mark_passes_follow_each_other_while_they_help(tmp_path: Path) -> None:
    home = Home(tmp_path)
    care(home, soft_entries=10, hard_entries=20)
    with home.core() as core:
        for number in range(14):
            remembered(core, fact(number).content)
            by_contract(core, fact(number).content.upper())
        assert run(core, "capacity")["level"] == "hard"
        core.maintain(STEPS_OF_A_PASS)
        home.clock.forward(minutes=6)
        after = run(core, "capacity")
        assert (after["total"], after["level"], after["freed"], after["queued"]) == (14, "soft", 14, True)
        home.clock.forward(minutes=6)
        core.maintain(STEPS_OF_A_PASS)
        assert (run(core, "capacity")["queued"], core.status()["upkeep"]["capacity"]["healthy"]) == (False, True)


def test_options_have_a_pace_for_each_step_by_default() -> None:
    assert CoreOptions(hot_dir=Path("/h"), data_dir=Path("/d")).maintenance == MaintenanceOptions()


def test_a_dry_run_of_everything_changes_nothing(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        for number in range(3):
            remembered(core, fact(number).content)
        by_contract(core, fact(1).content)
        core.remember(rule(1), actor="test")
        with core.db.read() as c:
            before = c.execute("SELECT sum(change_seq), count(*) FROM memory").get
        assert {step["outcome"] for step in core.maintain(dry_run=True)["steps"]} == {"planned"}
        with core.db.read() as c:
            assert c.execute("SELECT sum(change_seq), count(*) FROM memory").get == before
            assert c.execute("SELECT count(*) FROM step_run").get == 0


def test_what_waits_for_another_cold_store_is_called_by_its_name(mc: CommandLine) -> None:
    elsewhere = {"MEMORYCORE_COLD_BACKEND": "remote", "MNEMOSYNE_URL": "http://127.0.0.1:9/mcp"}
    mc("store", "The printer in room 12 was bought in Leeds in 2019.", **elsewhere)
    assert "1 change waits for the cold store elsewhere" in mc("maintain", "remote", **elsewhere).out


@pytest.mark.parametrize("step", ["dedup", "conflicts", "expire", "decay", "consolidate"])
def test_undo_of_a_run_gives_back_what_was_before(tmp_path: Path, step: str) -> None:
    home = Home(tmp_path)
    care(home, decay_bin=True)
    with home.core() as core:
        until = START + timedelta(days=5)
        for text in (fact(1).content, "The staging database runs on port 5432.", "Tickets are open until Friday."):
            remembered(core, text, valid_until=until if "until" in text else None)
        for text in (
            fact(1).content.upper(),
            "The staging database is running on port 5432.",
            "The staging database runs on port 6000.",
        ):
            by_contract(core, text)
        remembered(core, "Always run the long test before a merge.", valid_until=until, target="memory")
        remembered(core, "The heron nests behind the mill.", policy="episode")
        home.clock.forward(days=100)
        core.touch()
        before, entries = everything(core), set(home.entries())
        done = run(core, step)
        assert done["outcome"] == "done"
        assert core.undo(actor="test", run=str(done["undo"]).rpartition(" ")[2])["status"] == "undone"
        assert everything(core) == before
        assert set(home.entries()) == entries
        assert core.maintain(["integrity"])["steps"][0]["repaired"] is False


def everything(core: MemoryCore) -> list[dict[str, object]]:
    """Every memory with all it has, but for what only counts changes."""
    counts = {"change_seq", "updated_at", "version"}
    with core.db.read() as c:
        found = c.execute("SELECT * FROM memory ORDER BY id")
        names = [str(column[0]) for column in found.description]
        return [{name: value for name, value in zip(names, row, strict=True) if name not in counts} for row in found]
