"""history and undo on the command line, and the undo tool of the full toolset."""

from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.command_line import CommandLine
from tests.wire import Wire, server_env

OLD, NEW = "The public API listens on port 8443.", "The public API now listens on port 9443."
SHORT, LONG = "Always use ruff.", "Always use ruff, with a line length of 120."


def test_a_store_names_the_command_that_takes_its_consequence_back(mc: CommandLine) -> None:
    mc("store", OLD)
    command = mc("store", NEW, "--json").answer["undo"]
    assert command.startswith("memorycore undo ")
    undone = mc(*command.split()[1:], "--json").answer
    assert (undone["status"], undone["events"][0]["text"]) == ("undone", OLD)
    found = {item["content"] for item in mc("recall", "port of the public API", "--json").answer["results"]}
    assert {OLD, NEW} <= found


@pytest.mark.parametrize(
    ("language", "replaced", "undone"),
    [("en", "A newer text took its place", "Undone"), ("zh", "被更新的内容取代", "已撤销")],
)
def test_a_person_reads_what_happened_in_80_columns(mc: CommandLine, language: str, replaced: str, undone: str) -> None:
    for text in (OLD, NEW, SHORT, LONG):
        mc("store", text)
    printed = mc("history", MEMORYCORE_LANG=language, COLUMNS="80").out
    assert replaced in printed
    for line in (f"- {OLD}", f"+ {NEW}", f"- {SHORT}", f"+ {LONG}", "memorycore undo "):
        assert line in printed
    said = mc("undo", "--last", MEMORYCORE_LANG=language, COLUMNS="80").out
    assert undone in said
    assert f"+ {SHORT}" in said
    assert [line for line in (printed + said).splitlines() if cell_len(line) > 80] == []


def test_a_conflict_shows_both_texts_and_ends_with_four(mc: CommandLine) -> None:
    mc("store", SHORT, "--target", "memory")
    event = mc("store", LONG, "--target", "memory", "--json").answer["undo"].split()[-1]
    mc.write_hot("MEMORY.md", b"Always use ruff, with a line length of 100.")
    ran = mc("undo", event)
    assert ran.code == 4
    assert "Not undone" in ran.out
    assert "now: Always use ruff, with a line length of 100." in ran.out
    assert f"earlier: {SHORT}" in ran.out


def test_a_trial_changes_nothing(mc: CommandLine) -> None:
    mc("store", OLD)
    mc("store", NEW)
    tried = mc("undo", "--since", "1h", "--dry-run")
    assert tried.code == 0
    assert "A trial, nothing was changed" in tried.out
    assert "Would be undone" in tried.out
    assert mc("undo", "--since", "1h", "--dry-run", "--json").answer["status"] == "would_undo"


def test_the_history_of_one_memory_since_a_time_or_only_what_was_automatic(mc: CommandLine) -> None:
    first = mc("store", OLD, "--json").answer["id"]
    mc("store", NEW)
    of_first = mc("history", first, "--json").answer["events"]
    assert [line["action"] for line in of_first] == ["superseded", "added"]
    assert len(mc("history", "--since", "2d", "--limit", "1", "--json").answer["events"]) == 1
    assert mc("history", "--since", "2999-01-01", "--json").answer["events"] == []
    automatic = mc("history", "--automatic", "--json").answer["events"]
    assert [line["action"] for line in automatic] == ["superseded"]
    run = of_first[0]["run"]
    assert [one["event"] for one in mc("undo", "--run", run, "--json").answer["events"]] == [of_first[0]["event"]]


@pytest.mark.parametrize(
    "arguments", [(), ("1", "--last"), ("77",), ("--run", "nobody's"), ("--since", "soon")], ids=" ".join
)  # fmt: skip
def test_what_names_nothing_is_one_sentence(mc: CommandLine, arguments: tuple[str, ...]) -> None:
    ran = mc("undo", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "Nothing was changed." in " ".join(ran.err.split())


def test_an_empty_memory_has_no_history_and_nothing_to_undo(mc: CommandLine) -> None:
    assert mc("history").out == "Nothing has happened yet.\n"
    ran = mc("undo", "--last")
    assert (ran.code, ran.out) == (0, "There is nothing to undo.\n")


def test_the_days_for_which_it_sticks_are_a_setting(mc: CommandLine) -> None:
    mc("store", OLD)
    newer = mc("store", NEW, "--json").answer
    mc("undo", "--last", MEMORYCORE_UNDO_STICKY_DAYS="0")
    mc("forget", newer["id"])
    assert mc("store", NEW, "--json").answer["status"] == "superseded"


def test_the_full_toolset_has_undo_and_the_core_one_has_not(tmp_path: Path) -> None:
    listed: dict[str, set[str]] = {}
    for name in ("core", "full"):
        env = server_env(tmp_path, MEMORYCORE_TOOLSET=name, MEMORYCORE_EMBED_MODEL="none")
        with Wire(env) as wire:
            wire.initialize()
            listed[name] = {tool["name"] for tool in wire.request("tools/list")["tools"]}
            if name == "core":
                unknown = wire.request("tools/call", {"name": "memorycore_undo", "arguments": {}})
                assert unknown["isError"]
                continue
            wire.call("memorycore_store_fact", content=OLD)
            wire.call("memorycore_store_fact", content=NEW)
            assert wire.call("memorycore_undo", last=True, dry_run=True)["status"] == "would_undo"
            undone = wire.call("memorycore_undo", since="1h")
            assert (undone["status"], undone["events"][0]["text"]) == ("undone", OLD)
            event = undone["events"][0]["event"]
            assert wire.call("memorycore_undo", event=event)["events"][0]["code"] == "undone_already"
            assert wire.call("memorycore_undo")["ok"] is False
    assert "memorycore_undo" in listed["full"] - listed["core"]
    assert listed["core"] < listed["full"]
