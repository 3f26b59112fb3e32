"""Texts leave a hot file and come back in one write, and each is somewhere at every moment."""

from collections.abc import Generator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft, Memory
from memorycore.domain.retention import Standing
from memorycore.domain.text import entry_hash
from memorycore.errors import HotFileError
from memorycore.hot.sidecar import EntryMeta
from memorycore.hot.tier import HotTier
from memorycore.lifecycle import hot, retire
from memorycore.lifecycle.retire import Leaving, Rearranged
from memorycore.options import HotLimit, thresholds_of
from memorycore.store import all_rows, standing
from memorycore.store.intents import How
from tests.homes import Home, rule

POINTER = "[recall] release · number"
OTHER = "[recall] gate"
FOLD = "[recall +2] release · gate"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def core(home: Home) -> Generator[MemoryCore]:
    with home.core() as core:
        for number in range(3):
            core.remember(rule(number), actor="test")
        yield core


def tier_of(core: MemoryCore) -> HotTier:
    return core.rooms.tiers["memory"]


def named(core: MemoryCore, text: str) -> Memory:
    found = core.rooms.named(text)
    assert found is not None
    return found


def numbered(core: MemoryCore, number: int) -> Memory:
    return named(core, rule(number).content)


def leave(core: MemoryCore, hows: Mapping[int, How], *, fold: str | None = None, pointer: str = POINTER) -> Rearranged:
    """Let the rules of these numbers leave the file."""
    leaving = [
        Leaving(memory=numbered(core, number), how=how, reason="evicted", pointer=pointer if how == "stub" else "")
        for number, how in hows.items()
    ]
    return retire.rearrange(core.db, tier_of(core), leaving, [], core.rooms.cause("test", ""), fold=fold)


def come(core: MemoryCore, memory: Memory, leaving: Mapping[int, How] | None = None) -> Rearranged:
    """Let a memory come into the file, and rules leave it for that."""
    cause = core.rooms.cause("test", "restored_by_recall")
    with core.db.write() as c:
        begun = hot.begin(c, tier_of(core), memory, "add", cause)
    out = [Leaving(memory=numbered(core, at), how=how, reason="evicted") for at, how in (leaving or {}).items()]
    return retire.rearrange(core.db, tier_of(core), out, [begun], cause, resident_days=7)


def stood(core: MemoryCore, memory: Memory) -> Standing:
    with core.db.read() as c:
        found = standing.of(c, memory)
    assert found is not None
    return found


def meta_of(core: MemoryCore, text: str) -> EntryMeta:
    return tier_of(core).look().sidecar.entries[entry_hash(text)]


def snapshots(home: Home) -> int:
    return len([path for path in (home.options.data_dir / "snapshots").rglob("*") if path.is_file()])


def test_a_pointer_stands_where_the_text_stood_and_the_text_is_found(home: Home, core: MemoryCore) -> None:
    done = leave(core, {1: "stub"})
    memory = numbered(core, 1)
    assert (done.left, done.wrote) == ({memory.id}, True)
    assert done.usage == f"{len(home.memory_file.read_text('utf-8'))}/5000"
    assert home.entries() == [rule(0).content, POINTER, rule(2).content]
    assert (memory.residence, memory.state) == ("stub", "active")
    assert memory.seq in [seq for seq, _ in core.rooms.find_cold("check number 1", 5)]
    core.touch()
    assert numbered(core, 1) == memory


def test_the_sidecar_names_the_memory_of_a_pointer(core: MemoryCore) -> None:
    leave(core, {1: "stub"})
    meta, memory = meta_of(core, POINTER), numbered(core, 1)
    assert (meta.type, meta.cold_id, meta.id) == ("stub", memory.id, memory.id)
    assert stood(core, memory).pointer == POINTER
    assert stood(core, memory).retired_at == core.rooms.clock()


def test_everything_leaves_and_comes_in_one_write(home: Home, core: MemoryCore) -> None:
    leave(core, {0: "stub"})
    before = snapshots(home)
    core.remember(Draft(content="Always check gate 7.", target="memory"), actor="test")
    done = come(core, numbered(core, 0), {1: "cold", 2: "bin"})
    assert snapshots(home) == before + 2  # one write for the new text, one for all of these
    assert home.entries() == [rule(0).content, "Always check gate 7."]
    assert done.placed == {numbered(core, 0).id}
    assert numbered(core, 1).residence == "cold"
    assert [(item["content"], item["reason"]) for item in core.trash()["items"]] == [(rule(2).content, "evicted")]


def test_what_comes_back_is_as_new_and_remembers_that_it_was_away(home: Home, core: MemoryCore) -> None:
    leave(core, {1: "stub"})
    home.clock.forward(days=40)
    come(core, numbered(core, 1))
    now, back = home.clock(), stood(core, numbered(core, 1))
    assert (back.weight, back.weighed_at, back.restored_at, back.retired_at) == (1.0, now, now, None)
    meta = meta_of(core, rule(1).content)
    assert (meta.type, meta.cold_id, meta.weight_at) == ("rule", numbered(core, 1).id, now)
    assert meta.resident_until == back.resident_until
    assert home.entries() == [rule(number).content for number in range(3)]


def test_several_pointers_become_one_line_that_has_no_row(home: Home, core: MemoryCore) -> None:
    leave(core, {0: "stub"}, pointer=POINTER)
    leave(core, {1: "stub"}, pointer=OTHER)
    leave(core, {0: "cold", 1: "cold"}, fold=FOLD)
    assert sorted(home.entries()) == sorted([rule(2).content, FOLD])
    core.touch()
    assert sorted(home.entries()) == sorted([rule(2).content, FOLD])
    assert core.rooms.named(FOLD) is None
    assert stood(core, numbered(core, 0)).pointer == POINTER
    leave(core, {}, fold="")
    assert home.entries() == [rule(2).content]


@pytest.mark.parametrize("changed", ["row", "entry", "pinned", "hidden"])
def test_what_was_changed_meanwhile_is_left_alone(home: Home, core: MemoryCore, changed: str) -> None:
    planned = Leaving(memory=numbered(core, 1), how="cold", reason="evicted")
    if changed == "row":
        core.update(planned.memory.id, content="Always run another check.", actor="test")
    elif changed == "entry":
        home.write_memory_file(rule(0).content, "Never release without check number 1.", rule(2).content)
    elif changed == "pinned":
        core.update(planned.memory.id, pinned=True, actor="test")
    else:
        home.write_memory_file(rule(0).content, "The deploy password is hunter2-Xq9!vv.", rule(2).content)
        core.touch()
        masked = next(hit for hit in core.recall("deploy password")["results"])
        planned = replace(planned, memory=core.rooms.any(masked["id"]))
    before = home.entries()
    done = retire.rearrange(core.db, tier_of(core), [planned], [], core.rooms.cause("test", ""))
    why = {"row": "changed", "entry": "changed"}.get(changed, changed)
    assert (done.left, done.kept) == (frozenset(), {planned.memory.id: why})
    assert home.entries() == before


def test_what_another_process_is_changing_is_left_alone(home: Home, core: MemoryCore) -> None:
    cause = core.rooms.cause("test", "user")
    with core.db.write() as c:
        hot.begin(c, tier_of(core), numbered(core, 1), "remove", cause)
    assert leave(core, {1: "cold"}).kept == {numbered(core, 1).id: "busy"}
    assert rule(1).content in home.entries()


def test_a_text_that_the_store_cannot_give_back_does_not_leave(home: Home, core: MemoryCore) -> None:
    memory = numbered(core, 1)
    with core.db.write() as c:
        c.execute("DELETE FROM memory_text WHERE rowid = ?", (memory.seq,))
    assert leave(core, {1: "stub"}).kept == {memory.id: "unsafe"}
    assert rule(1).content in home.entries()
    with core.db.read() as c:
        assert all_rows(c, "all_open_intents", {"namespace": "default"}) == []


def test_a_file_that_cannot_be_used_keeps_what_it_has(home: Home, core: MemoryCore) -> None:
    whole = home.memory_file.read_bytes()
    memory = numbered(core, 1)
    home.memory_file.write_bytes(whole + b"\xff")
    planned = Leaving(memory=memory, how="cold", reason="evicted")
    with pytest.raises(HotFileError):
        retire.rearrange(core.db, tier_of(core), [planned], [], core.rooms.cause("test", ""))
    assert core.rooms.any(memory.id).residence == "hot"
    home.memory_file.write_bytes(whole)
    core.touch()
    assert home.entries() == [rule(number).content for number in range(3)]


def test_what_finds_no_room_below_the_ceiling_stays_a_pointer(home: Home, core: MemoryCore) -> None:
    leave(core, {1: "stub"})
    small = replace(tier_of(core), ceiling=len(home.memory_file.read_text("utf-8")) + 10)
    cause = core.rooms.cause("test", "restored_by_recall")
    with core.db.write() as c:
        begun = hot.begin(c, small, numbered(core, 1), "add", cause)
    done = retire.rearrange(core.db, small, [], [begun], cause)
    assert (done.placed, done.wrote) == (frozenset(), False)
    assert numbered(core, 1).residence == "stub"
    assert POINTER in home.entries()


def test_a_file_that_a_host_filled_above_the_ceiling_still_becomes_shorter(home: Home) -> None:
    home.options = replace(
        home.options,
        hot_limits=dict.fromkeys(("memory", "user"), HotLimit(chars=200)),
        thresholds=dict.fromkeys(("memory", "user"), thresholds_of(200)),
    )
    home.write_memory_file(*(rule(number).content for number in range(4)))
    with home.core() as core:
        core.touch()
        assert len(home.memory_file.read_text("utf-8")) > tier_of(core).ceiling == 180
        assert core.remember(rule(9), actor="test")["status"] != "refused"
        leave(core, {0: "stub", 1: "cold"})
        assert len(home.memory_file.read_text("utf-8")) <= 180


def test_the_same_pointer_never_stands_for_two(home: Home, core: MemoryCore) -> None:
    leave(core, {0: "stub", 1: "stub"})
    assert home.entries() == [POINTER, rule(2).content]
    assert [numbered(core, number).residence for number in range(3)] == ["stub", "cold", "hot"]


def last_event(core: MemoryCore, memory: Memory) -> int:
    return core.history(memory_id=memory.id)["events"][0]["event"]


@pytest.mark.parametrize("how", ["stub", "cold"])
def test_the_full_text_comes_back_when_its_leaving_is_undone(home: Home, core: MemoryCore, how: How) -> None:
    leave(core, {1: how})
    memory = numbered(core, 1)
    (told,) = core.undo(event=last_event(core, memory), actor="test")["events"]
    assert (told["status"], told.get("tier")) == ("undone", "hot")
    places = {"stub": [0, 1, 2], "cold": [0, 2, 1]}[how]
    assert home.entries() == [rule(number).content for number in places]
    assert leave(core, {1: how}).kept == {memory.id: "undone"}


def test_an_undone_undo_lets_it_leave_again(home: Home, core: MemoryCore) -> None:
    leave(core, {1: "stub"})
    event = last_event(core, numbered(core, 1))
    core.undo(event=event, actor="test")
    undone = next(line for line in core.history()["events"] if line["action"] == "undone")
    core.undo(event=undone["event"], actor="test")
    assert home.entries() == [rule(0).content, POINTER, rule(2).content]
    assert numbered(core, 1).residence == "stub"


def test_a_restore_that_is_undone_leaves_the_pointer_again(home: Home, core: MemoryCore) -> None:
    leave(core, {1: "stub"})
    come(core, numbered(core, 1))
    core.undo(event=last_event(core, numbered(core, 1)), actor="test")
    assert home.entries() == [rule(0).content, POINTER, rule(2).content]
    assert numbered(core, 1).residence == "stub"


def test_a_folded_pointer_comes_back_when_that_is_undone(home: Home, core: MemoryCore) -> None:
    leave(core, {1: "stub"})
    leave(core, {1: "cold"})
    core.undo(event=last_event(core, numbered(core, 1)), actor="test")
    assert home.entries() == [rule(0).content, rule(2).content, POINTER]
    assert numbered(core, 1).residence == "stub"


def test_in_a_full_file_room_is_made_for_an_undone_leaving(home: Home, core: MemoryCore) -> None:
    leave(core, {1: "stub"})
    filler = [f"Note {number} of the host: {'harbour ' * 40}" for number in range(12)]
    home.write_memory_file(*home.entries(), *map(str.strip, filler))
    core.touch()
    (told,) = core.undo(event=last_event(core, numbered(core, 1)), actor="test")["events"]
    assert (told["status"], told.get("tier")) == ("undone", "hot")
    assert rule(1).content in home.entries()
    assert POINTER not in home.entries()


def test_forgetting_takes_the_pointer_along_and_restoring_brings_the_text(home: Home, core: MemoryCore) -> None:
    leave(core, {1: "stub"})
    memory = numbered(core, 1)
    core.forget(memory.id, actor="test")
    assert home.entries() == [rule(0).content, rule(2).content]
    assert core.restore(memory.id, actor="test").get("tier") == "hot"
    assert home.entries() == [rule(0).content, rule(2).content, rule(1).content]


def test_restoring_an_active_one_puts_it_in_the_place_of_its_pointer(home: Home, core: MemoryCore) -> None:
    leave(core, {1: "stub"})
    assert core.restore(numbered(core, 1).id, actor="test").get("tier") == "hot"
    assert home.entries() == [rule(number).content for number in range(3)]


def test_a_new_wording_gets_a_new_pointer_and_stays_outside(home: Home, core: MemoryCore) -> None:
    leave(core, {1: "stub"})
    core.update(numbered(core, 1).id, content="Always ask the harbour master about cranes.", actor="test")
    memory = named(core, "Always ask the harbour master about cranes.")
    assert memory.residence == "stub"
    assert POINTER not in home.entries()
    assert stood(core, memory).pointer == home.entries()[1]
    core.touch()
    assert core.rooms.any(memory.id) == memory


def test_what_a_newer_text_ends_gives_it_the_place_of_its_pointer(home: Home, core: MemoryCore) -> None:
    old = core.remember(Draft(content="Always answer in English.", target="memory"), actor="test").get("id", "")
    planned = Leaving(memory=core.rooms.any(old), how="stub", reason="evicted", pointer=OTHER)
    retire.rearrange(core.db, tier_of(core), [planned], [], core.rooms.cause("test", ""))
    core.remember(Draft(content="From now on, always answer in German.", target="memory"), actor="test")
    assert home.entries()[3] == "From now on, always answer in German."
    assert OTHER not in home.entries()
    assert core.rooms.any(old).state == "superseded"


def test_erasing_leaves_nothing_of_a_pointer(home: Home, core: MemoryCore) -> None:
    leave(core, {1: "stub"}, pointer="[recall] Quillfeather · heron")
    leave(core, {1: "cold", 0: "stub"}, fold="[recall +1] Quillfeather")
    assert core.erase(numbered(core, 1).id, actor="test")["status"] == "erased"
    held = [path for path in home.root.rglob("*") if path.is_file() and b"uillfeather" in path.read_bytes()]
    assert held == []
    assert POINTER in home.entries()


def test_whatever_is_written_brings_the_sidecar_up_to_how_entries_stand(home: Home, core: MemoryCore) -> None:
    stays = numbered(core, 0)
    home.clock.forward(days=1)
    with core.db.write() as c:
        standing.put(c, stays.namespace, stays.seq, replace(stood(core, stays), weight=2.5, weighed_at=home.clock()))
    leave(core, {1: "cold"})
    meta = meta_of(core, rule(0).content)
    assert (meta.weight, meta.weight_at) == (2.5, home.clock())
