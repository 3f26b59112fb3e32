"""Changes of hot files on a real disk: what is kept, what is refused, and what is left when something fails."""

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memorycore.domain.text import entry_hash
from memorycore.errors import Conflict, InvalidInput, Undecodable, Unreadable, Unwritable
from memorycore.hot.atomic import TEMPORARY_FILES, read, replace
from memorycore.hot.files import Contents, Edited, Written, change, look
from memorycore.hot.sidecar import EntryMeta, Sidecar, parse_sidecar, render_sidecar, sidecar_path

NOW = datetime(2026, 3, 1, tzinfo=UTC)
META = EntryMeta(type="rule", written_at=NOW, importance=0.95)
NOBODY = 65534
posix_only = pytest.mark.skipif(os.name != "posix", reason="modes, owners and links of POSIX")
root_only = pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs to become somebody else")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "MEMORY.md"
    path.write_bytes("One.\n§\n第二条".encode())
    return path


@contextmanager
def as_nobody(folder: Path) -> Generator[None, None, None]:
    """Permissions mean nothing to root, so the rest runs as the owner of the folder, nobody."""
    for owned in (folder, *folder.iterdir()):
        os.chown(owned, NOBODY, -1)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Generator[Path, None, None]:
    """A folder that others than its maker may reach."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def adding(text: str, meta: EntryMeta | None = None) -> Callable[[Contents], Edited]:
    return lambda found: Edited(entries=(*found.entries, text), metas={entry_hash(text): meta} if meta else {})


def add(path: Path, text: str, meta: EntryMeta | None = None, *, snapshots: Path | None = None) -> Written:
    return change(path, adding(text, meta), snapshots=snapshots, now=NOW)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def leftovers(path: Path) -> list[Path]:
    return list(path.parent.glob(TEMPORARY_FILES))


# Reading


def test_a_file_that_does_not_exist_is_not_an_empty_one(tmp_path: Path) -> None:
    assert read(tmp_path / "MEMORY.md") is None
    assert not look(tmp_path / "MEMORY.md").exists
    (tmp_path / "MEMORY.md").touch()
    assert look(tmp_path / "MEMORY.md").exists
    assert look(tmp_path / "MEMORY.md").entries == ()


def test_a_folder_in_its_place_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Unreadable) as caught:
        read(tmp_path)
    assert caught.value.facts["path"] == str(tmp_path)


@posix_only
@pytest.mark.parametrize("goal", ["nowhere.md", "MEMORY.md", "file/MEMORY.md"])
def test_a_link_that_leads_nowhere_is_an_error(tmp_path: Path, goal: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "MEMORY.md").symlink_to(tmp_path / goal)
    with pytest.raises(Unreadable):
        add(tmp_path / "MEMORY.md", "New.")
    assert (tmp_path / "MEMORY.md").is_symlink()


@root_only
def test_a_file_that_may_not_be_read_is_not_written(open_folder: Path) -> None:  # IL-017
    path = open_folder / "MEMORY.md"
    path.write_bytes(b"Old.")
    path.chmod(0o200)
    with as_nobody(open_folder), pytest.raises(Unreadable) as caught:
        add(path, "New.")
    assert caught.value.facts == {"path": str(path), "why": "Permission denied"}
    assert path.read_bytes() == b"Old."


def test_an_undecodable_file_is_not_written(path: Path) -> None:
    path.write_bytes(b"Caf\xe9")
    with pytest.raises(Undecodable) as caught:
        add(path, "New.")
    assert caught.value.facts == {"path": str(path), "offset": 3}
    assert path.read_bytes() == b"Caf\xe9"


# Changing


def test_an_edit_sees_what_stands_there_now(path: Path) -> None:
    seen = look(path)
    path.write_bytes(path.read_bytes() + "\n§\n".encode() + b"# Notes\n\n- by hand\n" * 300)
    written = add(path, "New.")
    assert seen.entries == ("One.", "第二条")
    assert look(path).entries == (*written.before.entries, "New.")
    assert len(written.before.entries) == 3


@posix_only
def test_a_change_that_is_ready_before_the_lock_is_made_again_when_somebody_was_faster(
    tmp_path: Path, path: Path
) -> None:
    asked: list[int] = []

    def edit(found: Contents) -> Edited:
        asked.append(len(found.entries))
        if len(asked) == 1:
            add(path, "Faster.")
            path.chmod(0o640)
        return adding("New.")(found)

    written = change(path, edit, snapshots=tmp_path / "kept", now=NOW, ahead=True)
    assert asked == [2, 3]
    assert look(path).entries == ("One.", "第二条", "Faster.", "New.")
    assert (mode(path), written.overtaken, leftovers(path)) == (0o640, False, [])


def test_a_change_that_is_ready_asks_once_keeps_what_stood_there_and_gives_up_as_others_do(
    tmp_path: Path, path: Path
) -> None:
    before, kept = path.read_bytes(), tmp_path / "kept"
    asked: list[int] = []

    def edit(found: Contents) -> Edited:
        asked.append(len(found.entries))
        return adding("New.")(found)

    change(path, edit, snapshots=kept, now=NOW, ahead=True)
    assert (asked, [item.read_bytes() for item in kept.iterdir()]) == ([2], [before])
    after = path.read_bytes()
    with pytest.raises(InvalidInput):
        change(path, adding("no\n§\nentry"), snapshots=kept, now=NOW, ahead=True)
    assert (path.read_bytes(), leftovers(path)) == (after, [])


def test_an_older_file_of_the_same_length_is_noticed(path: Path) -> None:
    add(path, "New.")
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b"New.", b"Old."))
    os.utime(path, ns=(0, before.st_mtime_ns - 10**12))
    assert add(path, "Newer.").after.entries == ("One.", "第二条", "Old.", "Newer.")


def test_no_edit_means_no_write(path: Path) -> None:
    path.write_bytes(b"One.\r\n\r\n")
    written = change(path, lambda _: None, snapshots=path.parent / "kept", now=NOW)
    assert (written.changed, written.overtaken, written.snapshot) == (False, False, None)
    assert sorted(file.name for file in path.parent.iterdir()) == ["MEMORY.md", "MEMORY.md.lock"]


def test_odd_bytes_stay_while_the_entries_do(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbfOne.\r\n")
    key = entry_hash("One.")
    written = change(path, lambda found: Edited(entries=found.entries, metas={key: META}), snapshots=None, now=NOW)
    assert not written.changed
    assert path.read_bytes() == b"\xef\xbb\xbfOne.\r\n"
    assert look(path).sidecar.entries == {key: META}


def test_odd_bytes_are_put_right_on_request_and_kept(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbfOne.\r\n\xc2\xa7 \r\n\r\nTwo.\r\n")
    written = change(
        path, lambda found: Edited(entries=found.entries), snapshots=path.parent / "kept", now=NOW, normalise=True
    )
    assert path.read_bytes() == b"One.\n\xc2\xa7\nTwo."
    assert written.changed
    assert written.snapshot
    assert written.snapshot.read_bytes().startswith(b"\xef\xbb\xbf")


def test_an_edit_that_gives_up_changes_nothing(path: Path) -> None:
    def give_up(found: Contents) -> Edited:
        raise Conflict(entries=len(found.entries))

    with pytest.raises(Conflict):
        change(path, give_up, snapshots=None, now=NOW)
    assert look(path).entries == ("One.", "第二条")
    add(path, "The lock is free again.")


def test_an_entry_that_would_break_the_file_is_refused(path: Path) -> None:
    with pytest.raises(InvalidInput):
        add(path, "law\n§\nlaw", META)
    assert look(path).entries == ("One.", "第二条")
    assert not sidecar_path(path).exists()


def test_side_files_of_others_are_left_alone(path: Path) -> None:
    others = [path.parent / name for name in ("MEMORY.md.bak.1764460800", ".mem_1.tmp", ".memorycore-1-00.tmp")]
    for other in others:
        other.write_bytes(b"Not mine.")
    assert add(path, "New.").after.entries == ("One.", "第二条", "New.")
    assert [other.read_bytes() for other in others] == [b"Not mine."] * 3


def test_somebody_who_writes_without_the_lock_is_not_overwritten(path: Path) -> None:
    asked: list[Contents] = []

    def slow(found: Contents) -> Edited:
        asked.append(found)
        if len(asked) == 1:
            path.write_bytes(b"By hand.")
        return Edited(entries=(*found.entries, "New."))

    assert change(path, slow, snapshots=None, now=NOW).after.entries == ("By hand.", "New.")
    assert look(path).entries == ("By hand.", "New.")


def test_somebody_who_never_stops_writing_keeps_the_file(path: Path) -> None:
    def slow(found: Contents) -> Edited:
        path.write_bytes(found.data + b"!")
        return Edited(entries=(*found.entries, "New."))

    with pytest.raises(Unwritable):
        change(path, slow, snapshots=None, now=NOW)
    assert look(path).entries == ("One.", "第二条!!!")
    assert not leftovers(path)


def overwrite(path: Path) -> None:
    path.write_bytes(b"Theirs.")


def turn_into_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("lose", [overwrite, turn_into_a_folder])
def test_a_write_right_after_ours_is_told(
    path: Path, monkeypatch: pytest.MonkeyPatch, lose: Callable[[Path], None]
) -> None:
    rename = os.replace

    def rename_then_lose(source: Path, target: Path) -> None:
        rename(source, target)
        lose(target)

    monkeypatch.setattr(os, "replace", rename_then_lose)
    written = add(path, "New.")
    assert written.changed
    assert written.overtaken


def test_what_stood_before_and_after_is_told_by_its_sum(path: Path) -> None:
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    written = add(path, "New.")
    assert written.before.sha256 == before
    assert written.after.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


# The sidecar beside it


def test_meta_of_old_and_new_entries_stands_together(path: Path) -> None:
    add(path, "New.", META)
    change(path, lambda _: Edited(entries=("Newer.",), metas={entry_hash("Newer."): META}), snapshots=None, now=NOW)
    assert set(look(path).sidecar.entries) == {entry_hash("New."), entry_hash("Newer.")}
    add(path, "Newest.")
    assert set(look(path).sidecar.entries) == {entry_hash("Newer.")}


def test_an_entry_that_is_not_named_keeps_its_meta_and_unknown_fields(path: Path) -> None:
    kept = EntryMeta(type="state", written_at=NOW, extra={"colour": "blue"})
    sidecar_path(path).write_bytes(render_sidecar(Sidecar(entries={entry_hash("One."): kept}, extra={"mark": 7})))
    add(path, "New.", META)
    assert look(path).sidecar == Sidecar(
        entries={entry_hash("One."): kept, entry_hash("New."): META}, extra={"mark": 7}
    )


def test_a_damaged_sidecar_is_kept_aside_and_written_again(path: Path) -> None:
    sidecar_path(path).write_bytes(b"{ broken")
    written = add(path, "New.", META, snapshots=path.parent / "kept")
    assert written.sidecar_error is None
    assert look(path).sidecar.entries == {entry_hash("New."): META}
    assert b"{ broken" in [file.read_bytes() for file in (path.parent / "kept").glob("MEMORY.meta.json.*")]


def test_a_sidecar_that_cannot_be_written_never_blocks_an_entry(path: Path) -> None:
    sidecar_path(path).mkdir()
    written = add(path, "New.", META)
    assert written.sidecar_error
    assert look(path).entries == ("One.", "第二条", "New.")


@posix_only
def test_a_new_sidecar_is_as_open_as_its_file(path: Path) -> None:
    path.chmod(0o660)
    add(path, "New.", META)
    assert mode(sidecar_path(path)) == 0o660


# Links, modes, owners


@posix_only
def test_a_link_stays_and_its_target_gets_the_entry(tmp_path: Path) -> None:  # IL-023
    target = tmp_path / "dotfiles" / "notes.md"
    target.parent.mkdir()
    target.write_bytes(b"One.")
    path = tmp_path / "MEMORY.md"
    path.symlink_to(Path("dotfiles") / "notes.md")
    add(path, "New.")
    assert path.is_symlink()
    assert target.read_bytes() == "One.\n§\nNew.".encode()


@posix_only
@pytest.mark.parametrize("bits", [0o660, 0o644, 0o600, 0o200])
def test_the_mode_stays(path: Path, bits: int) -> None:  # IL-024
    path.chmod(bits)
    replace(path, b"New.")
    assert mode(path) == bits


@root_only
def test_group_and_owner_stay(path: Path) -> None:  # IL-024
    os.chown(path, 12345, 54321)
    path.chmod(0o660)
    add(path, "New.")
    assert (path.stat().st_uid, path.stat().st_gid, mode(path)) == (12345, 54321, 0o660)


@root_only
def test_rights_of_a_group_that_cannot_be_kept_go_to_no_other_group(open_folder: Path) -> None:
    path = open_folder / "MEMORY.md"
    path.write_bytes(b"One.")
    os.chown(path, NOBODY, 54321)
    path.chmod(0o664)
    with as_nobody(open_folder):
        replace(path, b"New.")
    assert (path.stat().st_gid != 54321, mode(path)) == (True, 0o644)


@posix_only
def test_a_read_only_file_is_refused_with_its_mode(path: Path) -> None:
    path.chmod(0o444)
    with pytest.raises(Unwritable) as caught:
        add(path, "New.", META)
    assert caught.value.facts == {"path": str(path), "why": "read-only", "mode": "0444"}
    assert look(path).entries == ("One.", "第二条")
    assert not leftovers(path)


@root_only
def test_a_read_only_folder_is_the_one_that_is_blamed(open_folder: Path) -> None:  # IL-025
    script = (
        "import os, sys, pathlib, portalocker; from memorycore.hot.atomic import locked, replace\n"
        "from memorycore.errors import Unwritable\n"
        "path = pathlib.Path(sys.argv[1]); os.setuid(65534)\n"
        "try:\n    with locked(path): pass\nexcept Unwritable as error: print(error)\n"
        "try:\n    replace(path, b'New.')\nexcept Unwritable as error: print(error)\n"
    )
    (open_folder / "MEMORY.md").write_bytes(b"One.")
    (open_folder / "MEMORY.md").chmod(0o666)
    open_folder.chmod(0o555)
    run = subprocess.run(
        [sys.executable, "-c", script, open_folder / "MEMORY.md"],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert run.stdout.splitlines() == [f"path={open_folder}, why=Permission denied, mode=0555"] * 2


# Failures of the disk


@posix_only
def test_a_full_disk_leaves_the_old_file_and_no_litter(path: Path) -> None:
    script = (
        "import resource, sys, pathlib, datetime; from memorycore.hot.files import Edited, change\n"
        "from memorycore.errors import Unwritable\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n    change(pathlib.Path(sys.argv[1]), lambda found: Edited(entries=(*found.entries, 'x' * 2000)),"
        " snapshots=None, now=datetime.datetime.now(datetime.UTC))\n"
        "except Unwritable as error: print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", script, path], capture_output=True, encoding="utf-8", check=True)
    assert run.stdout.strip() == f"path={path}, why=File too large, mode={mode(path):04o}"
    assert look(path).entries == ("One.", "第二条")
    assert not leftovers(path)


def test_a_file_held_open_by_another_program_is_tried_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # IL-027
    rename, refusals = os.replace, [32, 5, 33]

    def refuse_at_first(source: Path, target: Path) -> None:
        if refusals:
            error = PermissionError(13, "held open")
            error.winerror = refusals.pop()  # pyright: ignore[reportAttributeAccessIssue] exists on Windows only
            raise error
        rename(source, target)

    monkeypatch.setattr(os, "replace", refuse_at_first)
    add(path, "New.")
    assert look(path).entries == ("One.", "第二条", "New.")


def test_a_file_that_stays_held_open_is_told_soon(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Path, target: Path) -> None:
        error = PermissionError(13, "held open")
        error.winerror = 32  # pyright: ignore[reportAttributeAccessIssue] exists on Windows only
        raise error

    monkeypatch.setattr(os, "replace", refuse)
    started = time.monotonic()
    with pytest.raises(Unwritable):
        replace(path, b"New.")
    assert time.monotonic() - started < 10
    assert not leftovers(path)


def test_a_denial_that_is_meant_is_told_at_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # IL-027
    calls: list[Path] = []

    def deny(source: Path, target: Path) -> None:
        calls.append(target)
        raise PermissionError(13, "Permission denied", str(source))

    monkeypatch.setattr(os, "replace", deny)
    with pytest.raises(Unwritable):
        add(path, "New.")
    assert calls == [path]
    assert not leftovers(path)


@posix_only
def test_bytes_are_flushed_before_the_rename_and_the_folder_after(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    rename, fsync = os.replace, os.fsync

    def noted_rename(source: Path, target: Path) -> None:
        steps.append("rename")
        rename(source, target)

    def noted_fsync(fd: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(fd).st_mode) else "file")
        fsync(fd)

    monkeypatch.setattr(os, "replace", noted_rename)
    monkeypatch.setattr(os, "fsync", noted_fsync)
    replace(path, b"New.")
    assert steps == ["file", "rename", "folder"]


def test_the_folder_may_vanish_under_us(path: Path) -> None:
    def vanish(found: Contents) -> Edited:
        shutil.rmtree(path.parent)
        return Edited(entries=(*found.entries, "New."), metas={entry_hash("New."): META})

    with pytest.raises(Unwritable):
        change(path, vanish, snapshots=None, now=NOW)


def test_the_written_sidecar_is_version_2(path: Path) -> None:
    sidecar_path(path).write_bytes(render_sidecar(Sidecar(entries={})).replace(b"2", b"3"))
    add(path, "New.", META)
    assert b'"version": 2' in sidecar_path(path).read_bytes()
    assert parse_sidecar(sidecar_path(path).read_bytes()).entries == {entry_hash("New."): META}
