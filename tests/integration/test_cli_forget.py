"""``memorycore forget`` and ``trash``, as a person and a script use them."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.command_line import CommandLine
from tests.raw import files_with

BERLIN = ["The Berlin office moves in June.", "The Berlin office has fourteen desks."]


@pytest.fixture
def two(mc: CommandLine) -> CommandLine:
    for text in BERLIN:
        mc("store", text, "--tag", "berlin")
    mc("store", "The printer was bought in Leeds.")
    return mc


def test_a_trial_lists_ids_and_texts(two: CommandLine) -> None:
    ran = two("forget", "--tag", "berlin", "--dry-run")
    assert ran.code == 0
    assert all(text in ran.out for text in BERLIN)
    answer = two("forget", "--query", "berlin office", "--dry-run", "--json").answer
    assert (answer["status"], answer["count"], answer["dry_run"]) == ("trashed", 2, True)
    assert sorted(answer["items"][0]) == ["content", "id", "tier"]
    assert two("trash", "--json").answer["items"] == []


def test_a_script_has_to_say_yes_to_more_than_one(two: CommandLine) -> None:
    ran = two("forget", "--tag", "berlin", "--json")
    assert (ran.code, ran.answer["code"]) == (2, "invalid_input")
    assert "--yes" in ran.answer["message"]
    assert two("trash", "--json").answer["items"] == []
    assert two("forget", "--tag", "berlin", "--yes", "--json").answer["count"] == 2
    assert two("forget", "--query", "Leeds", "--json").answer["count"] == 1, "one needs no yes"


def test_nothing_that_matches_is_no_success(two: CommandLine) -> None:
    ran = two("forget", "--tag", "madrid", "--yes", "--json")
    assert (ran.code, ran.answer["status"]) == (1, "nothing")
    assert two("forget", "--tag", "madrid", "--erase", "--yes").code == 1


@pytest.mark.parametrize(
    "arguments",
    [(), ("x", "--tag", "y"), ("--kind", "nonsense"), ("--before", "soon"), ("--query", "?")],
    ids=["nothing", "both", "no such kind", "no such time", "no word"],
)
def test_what_makes_no_sense_is_refused(two: CommandLine, arguments: tuple[str, ...]) -> None:
    assert two("forget", *arguments).code == 2


def test_before_and_until_end_on_their_day(two: CommandLine) -> None:
    two("store", "The lease was signed by the notary.", "--occurred-at", "2026-03-14")
    assert two("forget", "--before", "2026-03-14", "--dry-run", "--json").answer["count"] == 0
    assert two("forget", "--before", "2026-03-15", "--dry-run", "--json").answer["count"] == 1
    assert two("forget", "--until", "2026-03-14", "--dry-run", "--json").answer["count"] == 1
    assert two("forget", "--since", "1d", "--dry-run", "--json").answer["count"] == 3


def test_a_person_is_asked(two: CommandLine) -> None:
    code, said = typed(two, "n\n", "forget", "--tag", "berlin")
    assert (code, "Move 2 memories to the bin?" in said) == (1, True)
    assert two("trash", "--json").answer["items"] == []
    code, said = typed(two, "y\n", "forget", "--tag", "berlin")
    assert (code, "2 memories moved to the bin" in said) == (0, True)
    assert len(two("trash", "--json").answer["items"]) == 2


def typed(mc: CommandLine, keys: str, *arguments: str) -> tuple[int, str]:
    """Run a command on a terminal and type."""
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", "")} | mc.env
    child = subprocess.Popen(
        [sys.executable, "-m", "memorycore", *arguments], stdin=slave, stdout=slave, stderr=slave, env=environment
    )
    os.close(slave)
    said = b""
    while child.poll() is None or not said:
        try:
            said += os.read(master, 4096)
        except OSError:
            break
        if b"[y/N]" in said and keys:
            time.sleep(0.1)
            os.write(master, keys.encode())
            keys = ""
    os.close(master)
    return child.wait(), said.decode("utf-8", "replace")


def test_the_bin_can_be_asked_for_one_reason(two: CommandLine) -> None:
    two("store", "Tests are green again, done.")
    two("forget", BERLIN[0])
    items = two("trash", "--reason", "user", "--json").answer["items"]
    assert [(item["content"], item["reason"]) for item in items] == [(BERLIN[0], "user")]
    assert two("trash", "--reason", "stale").code == 0
    assert "allowed: stale, user" in " ".join(two("trash", "--reason", "bored").err.split())


def test_a_receipt_says_what_went_and_what_was_searched(two: CommandLine) -> None:
    (memory_id,) = (item["id"] for item in two("recall", "desks", "--json").answer["results"])
    trial = two("forget", memory_id, "--erase", "--dry-run")
    assert (trial.code, BERLIN[1] in trial.out) == (0, True)
    ran = two("forget", memory_id, "--erase")
    assert ran.code == 0
    assert "Erased for good" in ran.out
    assert "found in none" in ran.out
    assert BERLIN[1] not in ran.out
    assert files_with(two.home, b"fourteen desks") == []
    assert two("forget", memory_id, "--erase", "--json").answer["erased"] is True
    assert two("forget", "some other words", "--erase").code == 1


def test_what_is_in_the_bin_can_be_erased_by_its_text(two: CommandLine, tmp_path: Path) -> None:
    two("forget", BERLIN[0])
    assert two("forget", BERLIN[0], "--erase", "--json").answer["status"] == "erased"
    assert two("trash", "--json").answer["items"] == []
    two("export", str(tmp_path / "all.jsonl"))
    assert b"moves in June" not in (tmp_path / "all.jsonl").read_bytes()
