"""Backups: whole, private, found again, and a way back that loses nothing and stops nobody."""

import os
import stat
import subprocess
import sys
import threading
import zipfile
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from memorycore.core import MemoryCore
from memorycore.core.backup import list_backups, restore
from memorycore.domain.memory import Draft
from memorycore.errors import InvalidInput, MemoryCoreError, StoreDamaged
from memorycore.options import MaintenanceOptions
from memorycore.server.desk import Desk
from memorycore.store import backups
from tests.homes import Home, fact, rule
from tests.raw import files_with
from tests.wire import Wire, server_env

ROOT = Path(__file__).resolve().parents[2]


def filled(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    with home.core() as core:
        for number in range(5):
            core.remember(fact(number), actor="test")
        core.remember(rule(1), actor="test")
    return home


def texts(home: Home) -> set[str]:
    with home.core() as core:
        return {str(line["content"]) for line in core.export()}


def test_what_was_there_comes_back_with_the_hot_files_and_the_state_before_is_kept(tmp_path: Path) -> None:
    home = filled(tmp_path)
    before, bytes_before = texts(home), home.memory_file.read_bytes()
    with home.core() as core:
        made = core.backup()
        core.remember(rule(2), actor="test")
        core.remember(fact(9), actor="test")
    after = texts(home)
    answer = restore(home.options, Path(made["path"]), verify=True, clock=home.clock)
    assert texts(home) == before
    assert home.memory_file.read_bytes() == bytes_before
    assert (answer["memories"], answer.get("verified")) == (6, True)
    restore(home.options, Path(answer.get("aside", "")), clock=home.clock)
    assert texts(home) == after
    with home.core() as core:
        assert core.maintain(["integrity"])["steps"][0]["repaired"] is False


def test_only_its_owner_can_read_a_backup_and_the_last_few_are_kept(tmp_path: Path) -> None:  # IL-217
    home = filled(tmp_path)
    home.options = replace(home.options, maintenance=MaintenanceOptions(backups_kept=2))
    with home.core() as core:
        made: list[str] = []
        for _ in range(3):
            home.clock.forward(hours=1)
            made.append(core.backup()["path"])
        own = core.backup(tmp_path / "mine.backup.zip")
    kept = [one["path"] for one in list_backups(home.options)["backups"]]
    assert set(kept) == set(made[1:])
    for path in (made[-1], own["path"]):
        assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
    assert Path(own["path"]).exists()


def test_a_day_with_many_backups_costs_none_of_the_days_before(tmp_path: Path) -> None:
    home = filled(tmp_path)
    home.options = replace(home.options, maintenance=MaintenanceOptions(backups_kept=3))
    with home.core() as core:
        before = [core.backup()["path"]]
        home.clock.forward(days=1)
        before.append(core.backup()["path"])
        home.clock.forward(days=1)
        today: list[str] = []
        for _ in range(4):
            home.clock.forward(minutes=1)
            today.append(core.backup()["path"])
    assert {one["path"] for one in list_backups(home.options)["backups"]} == {*before, today[-1]}


def test_a_running_server_answers_from_the_restored_state_at_once(tmp_path: Path) -> None:
    env = server_env(tmp_path, MEMORYCORE_EMBED_MODEL="none", MEMORYCORE_DAEMON="off")
    command = [sys.executable, "-m", "memorycore"]
    with Wire(env) as wire:
        wire.initialize()
        wire.call("memorycore_store_fact", content="The heron nests behind the mill.")
        done = subprocess.run(
            [*command, "backup", "--json"], env=env, capture_output=True, check=True, encoding="utf-8"
        )
        path = done.stdout.split('"path": "')[1].split('"')[0]
        wire.call("memorycore_store_fact", content="The otter swims below the weir.")
        subprocess.run([*command, "backup", "restore", path], env=env, capture_output=True, check=True)
        assert wire.call("memorycore_recall", query="otter weir")["results"] == []
        assert wire.call("memorycore_recall", query="heron mill")["results"]
        stored = wire.call("memorycore_store_fact", content="The owl lives in the barn.")
        assert stored["status"] == "cold_stored"
    with Wire(env) as again:
        again.initialize()
        assert again.call("memorycore_recall", query="owl barn")["results"]


def test_what_is_acknowledged_while_a_backup_is_put_back_is_there_or_set_aside(tmp_path: Path) -> None:
    home = filled(tmp_path)
    with home.core() as core:
        for number in range(60):
            core.remember(fact(number), actor="test")
        made = core.backup()
    told, over = set[str](), threading.Event()

    def write() -> None:
        desk = Desk(lambda: MemoryCore(home.options, long_lived=True), language="en")
        for number in range(1_000, 100_000):
            if over.is_set():
                break
            draft = rule(number) if number % 2 else fact(number)
            with suppress(MemoryCoreError), desk.core() as core:
                if core.remember(draft, actor="test")["status"] in {"stored", "cold_stored"}:
                    told.add(draft.content)
        desk.close(grace_s=1)

    writer = threading.Thread(target=write)
    writer.start()
    asides = [restore(home.options, Path(made["path"]), clock=home.clock).get("aside", "") for _ in range(3)]
    over.set()
    writer.join()
    kept = set(home.entries()) | texts(home)
    for aside in asides:
        with backups.opened(Path(aside), tmp_path / "look") as (manifest, inside):
            with closing(apsw.Connection(str(inside / backups.DATABASE))) as c:
                kept |= {text for (text,) in c.execute("SELECT content FROM memory")}
            files = [inside / hot.file for hot in manifest.hot if hot.file]
            kept |= {entry for file in files for entry in file.read_text("utf-8").split("\n§\n")}
    assert told
    assert told - kept == set()


def test_a_store_that_was_killed_while_it_wrote_can_be_put_back(tmp_path: Path) -> None:
    home = filled(tmp_path)
    before = texts(home)
    with home.core() as core:
        made = core.backup()
    script = (
        "import sys; from pathlib import Path; from tests.homes import Home, fact; home = Home(Path(sys.argv[1]))\n"
        "with home.core() as core:\n"
        "    print('ready', flush=True)\n"
        "    for number in range(10_000): core.remember(fact(1000 + number), actor='test')\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert child.stdout is not None
    child.stdout.readline()
    child.kill()
    child.wait()
    child.stdout.close()
    (home.options.data_dir / "memorycore.db").write_bytes(b"no database any more" * 500)
    answer = restore(home.options, Path(made["path"]), verify=True, clock=home.clock)
    assert texts(home) == before
    assert Path(answer.get("aside", "")).read_bytes().startswith(b"no database")


def test_a_backup_that_was_cut_short_or_changed_is_refused_and_nothing_is_touched(tmp_path: Path) -> None:
    home = filled(tmp_path)
    with home.core() as core:
        made = Path(core.backup()["path"])
    before = texts(home)
    cut, changed = tmp_path / "cut.zip", tmp_path / "changed.zip"
    cut.write_bytes(made.read_bytes()[:-5_000])
    with zipfile.ZipFile(made) as source, zipfile.ZipFile(changed, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            target.writestr(name, data.replace(b"printer", b"plotter") if name.endswith(".db") else data)
    for path in (cut, changed, home.memory_file):
        with pytest.raises(StoreDamaged):
            restore(home.options, path, clock=home.clock)
    with pytest.raises(InvalidInput):
        restore(home.options, tmp_path / "nowhere.zip", clock=home.clock)
    assert texts(home) == before


def test_what_is_erased_is_gone_from_the_backups_too(tmp_path: Path) -> None:
    home = filled(tmp_path)
    with home.core() as core:
        core.remember(Draft(content="Zephyrine keeps the spare key under the quillstone."), actor="test")
        core.backup()
        answer = core.erase("Zephyrine keeps the spare key under the quillstone.", actor="test")
        assert answer["status"] == "erased"
        assert answer.get("removed", {}).get("backups") == 1
        assert files_with(tmp_path, b"quillstone") == []
        made = list_backups(home.options)["backups"]
    restore(home.options, Path(made[0]["path"]), verify=False, clock=home.clock)
    assert len(texts(home)) == 6
