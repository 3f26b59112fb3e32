"""memorycore overflow: a run with its report, a dry run, and a preview of anybody's files."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.command_line import CommandLine

DONE = "Fixed the typo on the imprint, tests pass."
RULES = [
    f"Always check the {name} twice before you change the {name} module, and write down why."
    for name in ("invoices", "backups", "cookies", "queues", "licences", "fonts")
]
SMALL = {"MEMORYCORE_CHAR_LIMIT_MEMORY": "600", "MEMORYCORE_RULE_MIN_RESIDENCY_DAYS": "0"}


def state_of(folder: Path) -> list[tuple[str, str, int, int]]:
    """Every file below a folder with its hash, size and time of change; the folder's own time as well."""
    return [
        (
            str(path.relative_to(folder)),
            "" if path.is_dir() else hashlib.sha256(path.read_bytes()).hexdigest(),
            path.stat().st_size,
            path.stat().st_mtime_ns,
        )
        for path in sorted([folder, *folder.rglob("*")])
    ]


def somebodys(tmp_path: Path, entries: Sequence[str], name: str = "MEMORY.md") -> Path:
    folder = tmp_path / "theirs"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("\n§\n".join(entries), encoding="utf-8")
    return folder


def test_a_run_reports_what_left_why_and_how_to_undo_it(mc: CommandLine) -> None:
    file = mc.write_hot("MEMORY.md", "\n§\n".join([DONE, *RULES]).encode())
    ran = mc("overflow", "--json", **SMALL)
    run = ran.answer["runs"][0]
    assert ran.code == 0
    assert run["entries"][0] | {"id": ""} == {
        "text": DONE, "to": "bin", "reason": "stale", "why": "a finished status line", "id": "",
    }  # fmt: skip
    assert run["chars_after"] == len(file.read_text(encoding="utf-8")) < run["chars_before"]
    assert mc(*run["undo"].split()[1:], **SMALL).code == 0
    assert DONE in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("arguments", [[], ["--dry-run"], ["--help"]], ids=" ".join)
def test_the_report_fits_eighty_columns_without_colour(mc: CommandLine, arguments: list[str], language: str) -> None:
    mc.write_hot("MEMORY.md", "\n§\n".join([DONE, *RULES, "改动发布流程之前，一定要先问过我。"]).encode())
    out = mc("overflow", *arguments, MEMORYCORE_LANG=language, NO_COLOR="1", COLUMNS="80", **SMALL).out
    assert out
    assert "\x1b" not in out
    assert max(map(cell_len, out.splitlines())) <= 80
    assert arguments or "memorycore undo --run" in out


def test_a_dry_run_changes_nothing_and_shows_a_diff(mc: CommandLine) -> None:
    mc.write_hot("MEMORY.md", "\n§\n".join([DONE, *RULES]).encode())
    mc("status", **SMALL)
    before = state_of(mc.hot)
    out = mc("overflow", "--dry-run", **SMALL).out
    assert f"-{DONE}" in out
    assert "nothing was changed" in out
    assert state_of(mc.hot) == before


def test_a_text_in_both_files_leaves_the_full_one_as_the_trial_said(mc: CommandLine) -> None:
    rounded, red = "Always round prices to whole cents.", "Never deploy the catalog on Fridays."
    other = mc.write_hot("MEMORY.md", f"{rounded}\n§\n{red}".encode())
    file = mc.write_hot("USER.md", "\n§\n".join([red, *RULES[:3], rounded]).encode())
    small = {"MEMORYCORE_CHAR_LIMIT_USER": "400"}
    trial, run = (mc("overflow", *how, "--json", **small).answer["runs"] for how in (["--dry-run"], []))
    assert [(one["chars_before"], one["chars_after"], one["deleted"], one["merged"]) for one in trial] == [
        (one["chars_before"], one["chars_after"], one["deleted"], one["merged"]) for one in run
    ]
    assert trial[1]["entries"][0]["text"] == rounded
    assert f"-{rounded}" in trial[1]["diff"]
    assert "undo" not in trial[1]
    assert not run[0]["entries"]
    assert run[1]["chars_before"] - run[1]["chars_after"] > len(rounded)
    assert (rounded in other.read_text(encoding="utf-8"), rounded in file.read_text(encoding="utf-8")) == (True, False)
    assert red in file.read_text(encoding="utf-8")  # a red line goes only by somebody's word


def test_a_preview_of_a_folder_writes_neither_there_nor_at_home(mc: CommandLine, tmp_path: Path) -> None:
    theirs = somebodys(tmp_path, [DONE, *RULES])
    somebodys(tmp_path, ["I prefer short answers."], "USER.md")
    before = state_of(theirs)
    ran = mc("overflow", "--dry-run", "--dir", str(theirs), "--limits", "600")
    assert ran.code == 0, ran.err
    assert f"-{DONE}" in ran.out
    assert "a finished status line" in ran.out
    assert state_of(theirs) == before
    assert list(mc.home.iterdir()) == []


def test_a_file_without_room_for_the_next_entry_of_hermes_is_not_called_above_its_mark(
    mc: CommandLine, tmp_path: Path
) -> None:
    home = tmp_path / "agent"
    (home / "memories").mkdir(parents=True)
    (home / "config.yaml").write_text("memory:\n  memory_char_limit: 600\n", encoding="utf-8")
    (home / "memories" / "MEMORY.md").write_text("\n§\n".join(RULES)[:530], encoding="utf-8")
    out = mc("overflow", "--dry-run", "--dir", str(home)).out
    assert "too full for the next entry of Hermes" in out
    assert "above its hard mark" not in out


def test_lines_of_a_diff_stay_whole_in_a_pipe(mc: CommandLine, tmp_path: Path) -> None:
    long = "Sprint 12 is about " + ", ".join(f"module {number}" for number in range(30))
    theirs = somebodys(tmp_path, [f"{long}.", *RULES])
    out = mc("overflow", "--dry-run", "--dir", str(theirs), "--limits", "600").out
    assert f"  -{long}.\n" in out


def test_a_preview_says_that_first_contact_moves_nothing_for_a_week(mc: CommandLine, tmp_path: Path) -> None:
    theirs = somebodys(tmp_path, [DONE, *RULES])
    answer = mc("overflow", "--dry-run", "--dir", str(theirs), "--limits", "600", "--json").answer
    run = answer["runs"][0]
    assert answer["dir"] == str(theirs)
    assert run["next_write"]["entries"], "the file is over its hard mark now"
    assert run["entries"][0]["reason"] == "stale"
    roomy = mc("overflow", "--dry-run", "--dir", str(theirs), "--json").answer["runs"][0]
    assert "next_write" not in roomy
    assert roomy["limit"] == 5000


def test_a_preview_takes_the_limits_of_hermes_from_its_home(mc: CommandLine, tmp_path: Path) -> None:
    home = tmp_path / "agent"
    (home / "memories").mkdir(parents=True)
    (home / "config.yaml").write_text("memory:\n  memory_char_limit: 1800\n", encoding="utf-8")
    (home / "memories" / "MEMORY.md").write_text("\n§\n".join(RULES), encoding="utf-8")
    for named in (home, home / "memories"):
        runs = mc("overflow", "--dry-run", "--dir", str(named), "--json").answer["runs"]
        assert [(run["target"], run["limit"]) for run in runs] == [("memory", 1800)]


def test_a_file_without_delimiters_is_said_to_be_one_entry(mc: CommandLine, tmp_path: Path) -> None:
    notes = "# Rules\n\n" + "\n".join(f"- {rule}" for rule in RULES)
    theirs = somebodys(tmp_path, [notes])
    run = mc("overflow", "--dry-run", "--dir", str(theirs), "--json").answer["runs"][0]
    assert "counts as one entry" in run["note"]
    assert str(theirs / "MEMORY.md") in run["note"]


def test_a_file_that_cannot_be_read_is_named_and_the_other_is_shown(mc: CommandLine, tmp_path: Path) -> None:
    theirs = somebodys(tmp_path, [DONE, *RULES])
    (theirs / "USER.md").write_bytes(b"caf\xe9")
    ran = mc("overflow", "--dry-run", "--dir", str(theirs), "--limits", "600")
    assert ran.code == 6
    assert f"-{DONE}" in ran.out
    assert str(theirs / "USER.md") in "".join(ran.out.split())


@pytest.mark.parametrize(
    "arguments",
    [["--dir", "."], ["--limits", "2200"], ["--target", "mind"], ["--dry-run", "--dir", "/nowhere"],
     ["--dry-run", "--dir", ".", "--limits", "many"]],
    ids=" ".join,
)  # fmt: skip
def test_what_makes_no_sense_is_refused(mc: CommandLine, arguments: list[str]) -> None:
    ran = mc("overflow", *arguments, "--json")
    assert (ran.code, ran.answer["ok"]) == (2, False)


def test_a_password_in_a_file_does_not_show_in_a_preview(mc: CommandLine, tmp_path: Path) -> None:
    key = "sk-proj-9fK2mQ7xLw0Zr4Tn8Vb3Yc6Hd1Je5Ga"
    theirs = somebodys(tmp_path, [f"The key of the service is {key}", DONE, *RULES])
    for form in ([], ["--json"]):
        assert key not in mc("overflow", "--dry-run", "--dir", str(theirs), "--limits", "600", *form).out


def test_a_preview_without_a_residency_does_not_say_that_anything_stays(mc: CommandLine, tmp_path: Path) -> None:
    folder = somebodys(tmp_path, [DONE, *RULES])
    ran = mc("overflow", "--dry-run", "--dir", str(folder), "--limits", "600", **SMALL)
    assert "until" not in ran.out.split("MEMORY.md")[0].replace("until then", "")
    assert "nothing moves at once" in ran.out


def test_a_full_file_of_somebody_shows_the_bin_for_a_finished_line_in_both_places(
    mc: CommandLine, tmp_path: Path
) -> None:
    folder = somebodys(tmp_path, [DONE, *RULES])
    run = mc("overflow", "--dry-run", "--dir", str(folder), "--limits", "600", "--json").answer["runs"][0]
    places = [entry["to"] for entry in (*run["next_write"]["entries"], *run["entries"]) if entry["text"] == DONE]
    assert places == ["bin", "bin"]


def test_a_model_that_is_away_is_said_with_what_it_means_before_anybody_asks(mc: CommandLine) -> None:
    away = {"MEMORYCORE_EMBED_MODEL": "some", "MEMORYCORE_EMBED_URL": "http://127.0.0.1:9/v1"}
    ran = mc("overflow", "--json", **away)
    assert ["cannot be reached" in one and "Room is made" in one for one in ran.answer["degraded"]] == [True]
    assert "found by their words" in ran.err or not ran.err


def test_without_a_model_by_choice_no_vector_waits(mc: CommandLine) -> None:
    mc("store", "The plotter in room 4 was bought in Leeds.")
    cold = mc("status", "--json").answer["usage"]["cold"]
    assert (cold["total"], cold["pending"], cold["failed"]) == (1, 0, 0)
    assert "pending" not in mc("recall", "plotter", "--json").answer
