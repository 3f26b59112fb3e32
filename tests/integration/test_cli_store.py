"""store, update, forget, restore: one at a time and many at once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import CommandLine, lines

RULE = "Never deploy on Fridays without asking me first"
FACT = "The lease of the office ends in May 2031"


def ref_id(answer: dict[str, str]) -> tuple[str, str]:
    return answer["ref"], answer["id"]


def test_a_rule_goes_into_the_memory_file_and_a_fact_does_not(mc: CommandLine) -> None:
    rule, fact = mc("store", RULE, "--json").answer, mc("store", FACT, "--json").answer
    assert (rule["status"], rule["tier"], rule["type"]) == ("stored", "hot", "rule")
    assert (fact["status"], fact["tier"]) == ("cold_stored", "cold")
    assert (mc.hot / "MEMORY.md").read_text(encoding="utf-8") == RULE
    assert all(": " in reason for reason in rule["reasons"] + fact["reasons"])


def test_a_person_reads_where_it_went_and_how_to_undo_it(mc: CommandLine) -> None:
    english, chinese = mc("store", RULE), mc("store", "请一直用中文回答我", MEMORYCORE_LANG="zh")
    assert english.out.startswith("Stored in MEMORY.md (rule")
    assert "undo: memorycore forget " in english.out
    assert chinese.out.startswith("已写入 ")
    assert "撤销：memorycore forget " in chinese.out


def test_the_file_that_could_not_be_used_is_named(mc: CommandLine) -> None:
    mc.hot.mkdir(parents=True, exist_ok=True)
    (mc.hot / "USER.md").write_bytes(b"tea\xff")
    said = mc("store", "I prefer oat milk in my tea", MEMORYCORE_LANG="en").out
    assert said.startswith("Stored, cold: it could not go into USER.md")
    assert "the byte at offset 3" in " ".join(said.split())
    chinese = mc("store", "我更喜欢喝绿茶", "--target", "user", MEMORYCORE_LANG="zh").out
    assert "USER.md" in chinese.splitlines()[0]
    assert "偏移量3处" in "".join(chinese.split())


def test_text_comes_from_stdin_in_utf8_whatever_the_console_speaks(mc: CommandLine) -> None:
    answer = mc("store", "-", "--json", stdin="一句“引号”和 😀 的话")
    assert answer.code == 0
    assert mc("inspect", answer.answer["id"], "--json").answer["content"] == "一句“引号”和 😀 的话"


def test_a_trial_stores_nothing(mc: CommandLine) -> None:
    ran = mc("store", RULE, "--dry-run", "--json")
    assert ran.answer["dry_run"] is True
    assert not (mc.hot / "MEMORY.md").exists()
    assert mc("recall", RULE, "--json").answer["results"] == []


@pytest.mark.parametrize(
    ("arguments", "code", "exit_code"),
    [
        (["store", "  "], "invalid_input", 2),
        (["store"], "invalid_input", 2),
        (["store", "x", "--from", "y"], "invalid_input", 2),
        (["store", "x", "--importance", "7"], "invalid_input", 2),
        (["store", "x", "--kind", "opinion"], "invalid_input", 2),
        (["store", "x", "--occurred-at", "yesterday"], "invalid_input", 2),
        (["store", "x" * 70_000], "too_long", 2),
        (["inspect", "no-such-id"], "not_found", 3),
        (["update", "no-such-id", "--text", "x"], "not_found", 3),
        (["restore", "no-such-id"], "not_found", 3),
        (["store", "--from", "no-such-file.jsonl"], "invalid_input", 2),
    ],
)
def test_a_refusal_is_a_sentence_or_an_object_and_an_exit_code(
    mc: CommandLine, arguments: list[str], code: str, exit_code: int
) -> None:
    for_people, for_scripts = mc(*arguments), mc(*arguments, "--json")
    assert for_people.code == for_scripts.code == exit_code
    assert for_people.out == ""
    assert "Traceback" not in for_people.err
    assert (for_scripts.answer["ok"], for_scripts.answer["code"]) == (False, code)
    assert " ".join(for_people.err.split()) == " ".join(for_scripts.answer["message"].split())


def test_every_line_is_answered_in_order_and_a_bad_one_with_its_number(mc: CommandLine) -> None:
    content = b"\xef\xbb\xbf" + lines([{"content": RULE, "id": "r1", "lang": "en", "why": "an unknown field"}])
    content += b'{"content": "cut in ha\n\n' + lines([
        {"content": "", "id": "r3"},
        {"content": "x", "importance": "high", "id": 4},
        {"content": FACT, "id": 5, "tags": "home, office", "importance": None},
    ])  # fmt: skip
    content += b'{"content": "\xff"}\n' + lines(
        [["no object"], {"content": "I like tea", "target": "user", "id": "r8"}]
    )
    ran = mc("store", "--from", "-", "--json", stdin=content)
    assert ran.code == 1
    assert [answer["line"] for answer in ran.answers] == [1, 2, 4, 5, 6, 7, 8, 9]
    assert [answer.get("ref") for answer in ran.answers] == ["r1", None, "r3", "4", "5", None, None, "r8"]
    bad = [answer for answer in ran.answers if answer["status"] == "error"]
    assert [answer["line"] for answer in bad] == [2, 4, 5, 7, 8]
    assert all(answer["code"] == "invalid_input" and answer["message"] for answer in bad)
    good = {"ref", "id", "status", "tier", "route", "type", "protected", "reasons"}
    assert all(good <= answer.keys() for answer in ran.answers if answer["status"] != "error")


def test_options_hold_for_lines_that_do_not_say_it_themselves(mc: CommandLine) -> None:
    rows = lines([{"content": RULE, "author": "Li"}, {"content": FACT, "author": None}])
    ids = [answer["id"] for answer in mc("store", "--from", "-", "--author", "Mei", "--json", stdin=rows).answers]
    assert [mc("inspect", one, "--json").answer["fields"]["author"] for one in ids] == ["Li", "Mei"]


def test_a_trial_of_many_stores_nothing(mc: CommandLine) -> None:
    ran = mc(
        "store", "--from", "-", "--dry-run", "--json", stdin=lines([{"content": RULE, "id": 1}, {"content": FACT}])
    )
    assert [answer["dry_run"] for answer in ran.answers] == [True, True]
    assert mc("status", "--json").answer["memories"] == 0


def test_a_second_run_stores_nothing_twice(mc: CommandLine) -> None:
    rows = lines(
        [
            {"content": RULE, "id": "a"},
            {"content": FACT, "id": "b"},
            {"content": "Fixed the login bug, done.", "id": "c"},
        ]
    )
    first = mc("store", "--from", "-", "--json", stdin=rows).answers
    second = mc("store", "--from", "-", "--json", stdin=rows).answers
    assert [answer["id"] for answer in first] == [answer["id"] for answer in second]
    assert {answer["status"] for answer in second} <= {"duplicate", "cold_duplicate", "stale"}
    assert mc("status", "--json").answer["memories"] == 2


def test_equal_texts_are_one_memory_that_keeps_all_references(mc: CommandLine) -> None:
    rows = lines([{"content": FACT, "id": "one"}, {"content": FACT + " ", "id": "two"}])
    ids = {answer["id"] for answer in mc("store", "--from", "-", "--json", stdin=rows).answers}
    assert len(ids) == 1
    found = mc("recall", "office lease", "--json").answer["results"]
    assert [(item["ref"], item["refs"]) for item in found] == [("one", ["one", "two"])]


def test_a_file_that_people_watch_is_one_line_each_and_a_count(mc: CommandLine) -> None:
    path = mc.home / "facts.jsonl"
    path.write_bytes(lines([{"content": RULE}, {"content": FACT}]) + b"{\n")
    ran = mc("store", "--from", str(path))
    assert ran.code == 1
    assert [line.split()[:2] for line in ran.out.splitlines()[:2]] == [["1", "hot"], ["2", "cold"]]
    assert ran.err.startswith("3 lines:")


def test_changes_are_made_shown_and_taken_back(mc: CommandLine) -> None:
    memory_id = mc("store", RULE, "--json").answer["id"]
    changed = mc("update", memory_id, "--text", "Never deploy on Fridays")
    assert f"- {RULE}" in changed.out
    assert "+ Never deploy on Fridays" in changed.out
    assert (mc.hot / "MEMORY.md").read_text(encoding="utf-8") == "Never deploy on Fridays"
    assert mc("update", memory_id, "--pin", "--tag", "ops", "--json").answer["status"] == "updated"
    assert mc("inspect", memory_id, "--json").answer["fields"]["pinned"] is True
    assert mc("forget", memory_id, "--json").answer["status"] == "trashed"
    assert (mc.hot / "MEMORY.md").read_bytes() == b""
    assert [item["id"] for item in mc("trash", "--json").answer["items"]] == [memory_id]
    assert mc("restore", memory_id, "--json").answer["status"] == "restored"
    assert (mc.hot / "MEMORY.md").read_text(encoding="utf-8") == "Never deploy on Fridays"


def test_words_that_only_resemble_a_memory_remove_nothing(mc: CommandLine) -> None:
    mc("store", FACT)
    ran = mc("forget", "office lease", "--json")
    assert (ran.code, ran.answer["status"]) == (1, "candidates")
    assert [item["content"] for item in ran.answer["candidates"]] == [FACT]
    assert mc("forget", FACT, "--json").answer["status"] == "trashed"


def test_the_directories_are_those_of_the_environment(mc: CommandLine) -> None:
    chosen = {"MEMORY_DIR": str(mc.home / "My Memory"), "MEMORYCORE_DATA_DIR": str(mc.home / "Data of Me")}
    mc("store", RULE, **chosen)
    assert (mc.home / "My Memory" / "MEMORY.md").read_text(encoding="utf-8") == RULE
    assert (mc.home / "Data of Me" / "memorycore.db").exists()
    assert not mc.hot.exists()
    shown = json.dumps(mc("status", "--json", **chosen).answer)
    assert "My Memory" in shown
    assert "Data of Me" in shown


def test_a_reader_who_has_seen_enough_ends_the_command_quietly(mc: CommandLine) -> None:
    lines_in = "".join(json.dumps({"content": f"The shelf {number} holds jars."}) + "\n" for number in range(200))
    (mc.home / "many.jsonl").write_text(lines_in, encoding="utf-8")
    command = f"{sys.executable} -m memorycore store --from many.jsonl --json --dry-run | head -n 1"
    root = Path(__file__).resolve().parents[2]
    env = {**mc.env, "PATH": os.environ["PATH"], "PYTHONPATH": str(root)}
    done = subprocess.run(["bash", "-c", command], cwd=mc.home, env=env, capture_output=True, check=False)
    assert done.stdout.count(b"\n") == 1
    assert done.stderr == b""
