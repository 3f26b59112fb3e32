"""What a host does to a pointer is done to the pointer, and to a memory only where it wrote the memory's words."""

import json
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft, Memory
from memorycore.domain.text import entry_hash, norm_hash
from memorycore.errors import InvalidInput
from memorycore.lifecycle import hot, retire
from memorycore.lifecycle.retire import Leaving
from memorycore.store import memories, standing
from tests.homes import Home, rule

RULE = "Never deploy the billing service on a Friday without asking Ana."
POINTER = "[recall] billing · Friday"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def core(home: Home) -> Generator[MemoryCore]:
    """Three entries; the one in the middle is a pointer to RULE."""
    home.write_memory_file(rule(1).content, RULE, rule(2).content)
    with home.core() as core:
        core.touch()
        retire_one(core, RULE, POINTER)
        yield core


def retire_one(core: MemoryCore, text: str, pointer: str) -> None:
    leaving = Leaving(memory=named(core, text), how="stub", reason="evicted", pointer=pointer)
    done = retire.rearrange(core.db, core.rooms.tiers["memory"], [leaving], [], core.rooms.cause("test", ""))
    assert done.left


def named(core: MemoryCore, text: str) -> Memory:
    found = core.rooms.named(text)
    assert found is not None, text
    return found


def pointer_of(core: MemoryCore, memory: Memory) -> str:
    with core.db.read() as c:
        found = standing.of(c, memory)
    return found.pointer if found else ""


def reasons(core: MemoryCore, memory: Memory) -> list[str]:
    """Why it was moved or changed, the last first."""
    with core.db.read() as c:
        return [event.reason for event in reversed(memories.events(c, memory.id, core.namespaces))]


def settled(home: Home, core: MemoryCore) -> None:
    """A second look changes nothing more: neither the file nor a row."""
    core.touch()
    before, bytes_before = core.db.data_version(), home.memory_file.read_bytes()
    core.touch()
    assert (core.db.data_version(), home.memory_file.read_bytes()) == (before, bytes_before)


def test_a_removed_pointer_is_a_pointer_removed(home: Home, core: MemoryCore) -> None:
    memory = named(core, RULE)
    home.write_memory_file(rule(1).content, rule(2).content)
    core.touch()
    assert (named(core, RULE).residence, core.trash()["items"]) == ("cold", [])
    assert reasons(core, memory)[0] == "pointer_removed"
    assert core.recall("billing Friday")["results"][0]["id"] == memory.id
    settled(home, core)


def test_a_pointer_in_other_words_still_points(home: Home, core: MemoryCore) -> None:
    for wording in ("[recall]  Billing ·  friday", "[recall] billing · weekend", "recall billing · weekend"):
        home.write_memory_file(rule(1).content, wording, rule(2).content)
        core.touch()
        memory = named(core, RULE)
        assert (memory.residence, pointer_of(core, memory)) == ("stub", wording)
        settled(home, core)
    assert core.rooms.named("[recall] billing · weekend") is None


def test_a_rule_in_its_place_is_the_rule_in_other_words(home: Home, core: MemoryCore) -> None:
    memory = named(core, RULE)
    edited = "Never deploy the billing service on a Friday without asking Ana or Bo."
    home.write_memory_file(rule(1).content, edited, rule(2).content)
    core.touch()
    now = core.rooms.any(memory.id)
    assert (now.content, now.residence) == (edited, "hot")
    assert [item["content"] for item in core.inspect(memory.id)["revisions"]] == [RULE]
    assert reasons(core, memory)[0] == "host_edited"
    settled(home, core)


def test_a_rule_that_names_all_its_topics_is_one_as_well(home: Home, core: MemoryCore) -> None:
    memory = named(core, RULE)
    home.write_memory_file(rule(1).content, "No release of billing when it is Friday.", rule(2).content)
    core.touch()
    assert core.rooms.any(memory.id).content == "No release of billing when it is Friday."


def test_another_text_in_its_place_is_another_memory(home: Home, core: MemoryCore) -> None:
    home.write_memory_file(rule(1).content, "The harbour pilots speak Dutch.", rule(2).content)
    core.touch()
    assert named(core, RULE).residence == "cold"
    assert named(core, "The harbour pilots speak Dutch.").residence == "hot"


def test_a_line_below_a_pointer_does_not_become_the_rule(home: Home, core: MemoryCore) -> None:
    home.write_memory_file(rule(1).content, f"{POINTER}\nThe harbour pilots speak Dutch.", rule(2).content)
    core.touch()
    assert named(core, RULE).residence == "cold"
    assert named(core, f"{POINTER}\nThe harbour pilots speak Dutch.").residence == "hot"


@pytest.mark.parametrize("beside", [True, False])
def test_the_text_itself_in_the_file_is_the_memory_hot_again(home: Home, core: MemoryCore, beside: bool) -> None:  # noqa: FBT001 a parameter of the test
    memory = named(core, RULE)
    home.write_memory_file(rule(1).content, *([POINTER] if beside else []), RULE, rule(2).content)
    core.touch()
    assert named(core, RULE).id == memory.id
    assert named(core, RULE).residence == "hot"
    settled(home, core)
    core.remember(rule(3), actor="test")  # the next write of ours takes a pointer along that nobody needs
    assert home.entries() == [rule(1).content, RULE, rule(2).content, rule(3).content]


def test_the_text_itself_in_the_other_file_leaves_the_pointer_its_memory(home: Home, core: MemoryCore) -> None:
    memory = named(core, RULE)
    home.user_file.write_text(RULE, encoding="utf-8")
    core.touch()
    with core.db.read() as c:
        assert memories.by_id(c, memory.id, core.namespaces) == memory
    assert [row["text"] for row in core.audit("user")["targets"][0]["rows"] if row["id"]] == [RULE]
    assert home.entries() == [rule(1).content, POINTER, rule(2).content]
    settled(home, core)


def test_pointers_in_another_order_are_the_same_pointers(home: Home, core: MemoryCore) -> None:
    retire_one(core, rule(1).content, "[recall] release")
    home.write_memory_file(rule(2).content, POINTER, "[recall] release")
    core.touch()
    assert pointer_of(core, named(core, RULE)) == POINTER
    assert pointer_of(core, named(core, rule(1).content)) == "[recall] release"
    settled(home, core)


def test_an_older_copy_of_the_file_brings_the_pointer_back(home: Home, core: MemoryCore) -> None:
    older = home.memory_file.read_bytes()
    home.write_memory_file(rule(1).content, rule(2).content)
    core.touch()
    home.memory_file.write_bytes(older)
    core.touch()
    memory = named(core, RULE)
    assert (memory.residence, pointer_of(core, memory)) == ("stub", POINTER)
    assert reasons(core, memory)[0] == "pointer_returned"
    assert core.rooms.named(POINTER) is None
    settled(home, core)


def test_a_lost_sidecar_is_written_again(home: Home, core: MemoryCore) -> None:
    sidecar = home.options.hot_dir / "MEMORY.meta.json"
    sidecar.unlink()
    core.touch()
    metas = json.loads(sidecar.read_text("utf-8"))["entries"].values()
    assert [meta["type"] for meta in metas] == ["rule", "stub", "rule"]
    assert [meta.get("cold_id") for meta in metas] == [None, named(core, RULE).id, None]
    settled(home, core)


def test_a_lost_database_leaves_pointers_as_plain_entries(home: Home, core: MemoryCore) -> None:
    memory = named(core, RULE)
    elsewhere = Home(home.root / "elsewhere")
    elsewhere.options.hot_dir.mkdir(parents=True)
    for name in ("MEMORY.md", "MEMORY.meta.json"):
        (elsewhere.options.hot_dir / name).write_bytes((home.options.hot_dir / name).read_bytes())
    with elsewhere.core() as other:
        other.touch()
        plain = named(other, POINTER)
        assert (plain.residence, plain.id == memory.id) == ("hot", False)
        assert elsewhere.entries() == home.entries()
        settled(elsewhere, other)


def test_a_pointer_of_the_predecessor_is_a_text_like_any_other(home: Home) -> None:
    old = '[规则指针]发布前必须检查→recall("发布前必须检查")'
    home.write_memory_file(rule(1).content, old)
    with home.core() as core:
        core.touch()
        assert named(core, old).residence == "hot"
        settled(home, core)


def test_an_emptied_file_takes_no_memory(home: Home, core: MemoryCore) -> None:
    whole = home.memory_file.read_bytes()
    home.memory_file.write_bytes(b"")
    core.touch()
    assert core.trash()["items"] == []
    assert named(core, RULE).residence == "cold"
    home.memory_file.write_bytes(whole)
    core.touch()
    assert [named(core, text).residence for text in (rule(1).content, RULE, rule(2).content)] == ["hot", "stub", "hot"]


def test_an_entry_that_was_lost_for_a_while_weighs_what_it_weighed(home: Home, core: MemoryCore) -> None:
    with core.db.read() as c:
        before = standing.of(c, named(core, rule(1).content))
    whole = home.memory_file.read_bytes()
    home.memory_file.write_bytes(b"")
    core.touch()
    home.clock.forward(days=3)
    home.memory_file.write_bytes(whole)
    core.touch()
    with core.db.read() as c:
        assert standing.of(c, named(core, rule(1).content)) == before


def test_a_line_that_stands_for_many_is_nobodys(home: Home, core: MemoryCore) -> None:
    home.write_memory_file(*home.entries(), "[recall +3] tea · grid")
    core.touch()
    assert core.rooms.named("[recall +3] tea · grid") is None
    settled(home, core)
    home.write_memory_file(*home.entries()[:3])
    core.touch()
    assert core.trash()["items"] == []


@pytest.mark.parametrize("given", [POINTER, "[Recall] billing ·  friday"])
def test_a_pointer_that_is_stored_is_known_already(home: Home, core: MemoryCore, given: str) -> None:
    for dry_run in (True, False):
        answer = core.remember(Draft(content=given, importance=0.95), actor="test", dry_run=dry_run)
        assert (answer["status"], answer.get("id")) == ("cold_duplicate", named(core, RULE).id)
    assert home.entries() == [rule(1).content, POINTER, rule(2).content]


@pytest.mark.parametrize("given", ["[recall] tense · entry", "[召回] 发票、茶", "[recall +3] invoices · tea"])
def test_a_pointer_to_nothing_is_refused(home: Home, core: MemoryCore, given: str) -> None:
    for dry_run in (True, False):
        answer = core.remember(Draft(content=given), actor="test", dry_run=dry_run)
        assert answer["status"] == "refused"
        assert ("noise", "refused") in [(one["gate"], one["action"]) for one in answer.get("gates", [])]
    assert (answer.get("code"), "points" in answer.get("message", "")) == ("pointer", True)
    assert core.rooms.named(given) is None


@pytest.mark.parametrize("wording", ["[recall] billing Friday", "[Recall] what Ana says on deployments"])
def test_a_pointer_that_kept_only_its_mark_still_points(home: Home, core: MemoryCore, wording: str) -> None:
    memory = named(core, RULE)
    home.write_memory_file(rule(1).content, wording, rule(2).content)
    core.touch()
    assert (named(core, RULE).residence, pointer_of(core, memory)) == ("stub", wording)
    assert core.rooms.named(wording) is None
    settled(home, core)


@pytest.mark.parametrize("text", ["[recall] Never push to main", "[recall] Ana left. Ask Ben."])
def test_a_mark_before_a_rule_or_a_sentence_makes_no_pointer(home: Home, core: MemoryCore, text: str) -> None:
    home.write_memory_file(rule(1).content, text, rule(2).content)
    core.touch()
    assert (named(core, RULE).residence, named(core, text).residence) == ("cold", "hot")
    settled(home, core)


@pytest.mark.parametrize("given", ["[recall] tense · entry", "[召回] 发票、茶", "[recall +3] invoices · tea"])
def test_no_memory_becomes_a_pointer_by_an_update_or_an_import(home: Home, core: MemoryCore, given: str) -> None:
    memory = named(core, rule(1).content)
    with pytest.raises(InvalidInput) as caught:
        core.update(memory.id, content=given, actor="test")
    assert caught.value.facts["why"] == "pointer"
    exported = replace(memory, id="m-elsewhere", content=given, norm_hash=norm_hash(given))
    (answer,) = core.remember_many([exported], actor="test")
    assert (answer["status"], answer.get("code")) == ("refused", "pointer")
    assert core.rooms.named(given) is None
    assert rule(1).content in home.entries()


OLDER = "[recall] release"  # what the pointer of either rule may be, when that of the other is not there


def come_back(core: MemoryCore, text: str) -> None:
    cause = core.rooms.cause("test", "")
    with core.db.write() as c:
        begun = hot.begin(c, core.rooms.tiers["memory"], named(core, text), "add", cause)
    retire.rearrange(core.db, core.rooms.tiers["memory"], [], [begun], cause)


def rows_in_file(core: MemoryCore) -> dict[str, str]:
    """What each row that has an entry says, by the hash of the entry."""
    tier = core.rooms.tiers["memory"]
    with core.db.read() as c:
        known = memories.select(c, "file_memories", namespace=tier.namespace, hot_tier=tier.id)
    return {memory.entry_key: memory.content for memory in known}


@pytest.mark.parametrize("is_other_back", [False, True], ids=["other is a pointer", "other is back"])
def test_an_older_file_with_a_pointer_that_was_given_to_another_since_points_as_it_did(
    home: Home, core: MemoryCore, *, is_other_back: bool
) -> None:
    retire_one(core, rule(1).content, OLDER)
    older = home.entries()
    come_back(core, rule(1).content)
    retire_one(core, rule(2).content, OLDER)
    if is_other_back:
        come_back(core, rule(2).content)
    home.write_memory_file(*older, "Never paint the quay.")
    settled(home, core)
    assert (named(core, rule(1).content).residence, named(core, rule(2).content).residence) == ("stub", "hot")
    assert core.trash()["items"] == []
    assert rows_in_file(core).keys() == set(map(entry_hash, home.entries()))


def test_a_pointer_that_is_back_takes_its_memory_out_of_the_bin_when_the_file_had_lost_it(
    home: Home, core: MemoryCore
) -> None:
    retire_one(core, rule(1).content, OLDER)
    with_pointer = home.entries()
    come_back(core, rule(1).content)
    home.write_memory_file(rule(2).content)
    core.touch()
    assert rule(1).content in {item["content"] for item in core.trash()["items"]}
    home.write_memory_file(*with_pointer)
    settled(home, core)
    assert (named(core, rule(1).content).residence, core.trash()["items"]) == ("stub", [])


@pytest.mark.parametrize("stands_too", [False, True], ids=["pointer alone", "pointer and text"])
def test_a_pointer_that_is_back_points_to_the_memory_that_has_its_text_now(
    home: Home, core: MemoryCore, *, stands_too: bool
) -> None:
    first = named(core, rule(1).content)
    retire_one(core, first.content, OLDER)
    older = home.entries()
    come_back(core, first.content)
    home.write_memory_file(rule(2).content)
    core.touch()
    again = core.remember(rule(1), actor="test")
    assert again.get("id") not in {None, first.id}
    home.write_memory_file(*older, *([first.content] if stands_too else []))
    settled(home, core)
    now = named(core, first.content)
    assert (now.id, now.residence) == (again.get("id"), "hot" if stands_too else "stub")
    assert [item["id"] for item in core.trash()["items"]] == [first.id]
    known = rows_in_file(core)
    assert sorted(known.values()) == sorted([first.content, RULE, rule(2).content])
    assert known.keys() <= set(map(entry_hash, home.entries()))


def test_of_two_lines_that_stood_for_one_memory_one_does(home: Home, core: MemoryCore) -> None:
    memory = named(core, rule(1).content)
    for line in (OLDER, "[recall] release · number"):
        retire_one(core, memory.content, line)
        come_back(core, memory.content)
    home.write_memory_file(rule(2).content)
    core.touch()
    home.write_memory_file(OLDER, "[recall] release · number", rule(2).content)
    settled(home, core)
    assert named(core, memory.content).residence == "stub"
    assert rows_in_file(core).keys() == set(map(entry_hash, home.entries()))


def test_a_pointer_stays_out_of_use_when_its_memory_was_forgotten(home: Home, core: MemoryCore) -> None:
    older = home.entries()
    core.forget(named(core, RULE).id, actor="test")
    home.write_memory_file(*older)
    core.touch()
    assert [item["content"] for item in core.trash()["items"]] == [RULE]


def test_whose_words_stand_as_the_pointer_of_another_is_cold_and_not_lost(home: Home, core: MemoryCore) -> None:
    home.write_memory_file(*home.entries(), OLDER)  # nobody's pointer: a text like any other
    core.touch()
    retire_one(core, OLDER, "[recall] note #5c4b")
    retire_one(core, rule(2).content, OLDER)
    come_back(core, OLDER)
    settled(home, core)
    assert rows_in_file(core).keys() == set(map(entry_hash, home.entries()))
    assert named(core, OLDER).residence == "cold"
