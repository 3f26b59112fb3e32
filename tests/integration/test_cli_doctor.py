"""The doctor sees what is wrong, says what to do, goes on, and changes nothing."""

import fcntl
import hashlib
from pathlib import Path
from typing import Any

import pytest

from memorycore.cli.checks import UNSUITABLE, file_system_of
from tests.command_line import CommandLine, lines


def checks(mc: CommandLine, **env: str) -> dict[str, dict[str, Any]]:
    return {check["code"]: check for check in mc("doctor", "--json", **env).answer["checks"]}


def everything(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_an_empty_home_is_in_order_and_stays_empty(mc: CommandLine) -> None:
    ran = mc("doctor")
    assert ran.code == 0
    assert not list(mc.home.iterdir())
    found = checks(mc)
    assert {"python", "sqlite", "vec0", "file_to_be_made", "database_to_be_made"} <= found.keys()
    assert {check["level"] for check in found.values()} == {"pass"}


def test_a_used_home_is_in_order_and_not_a_byte_of_it_changes(mc: CommandLine) -> None:
    mc("store", "Never deploy on Fridays")
    before = everything(mc.home)
    found = checks(mc)
    assert everything(mc.home) == before
    assert (found["database"]["level"], found["file"]["level"]) == ("pass", "pass")


def test_it_goes_on_after_a_failure(mc: CommandLine) -> None:
    mc("store", "Never deploy on Fridays")
    mc.write_hot("MEMORY.md", b"caf\xe9")
    (mc.data / "memorycore.db").write_bytes(b"this is no database at all" * 50)
    ran = mc("doctor", "--json")
    levels = [(check["level"], check["code"]) for check in ran.answer["checks"]]
    assert (ran.code, ran.answer["ok"]) == (1, False)
    assert ("fail", "error") in levels
    assert ("fail", "database_foreign") in levels
    assert levels[-1] == ("pass", "model_off")


def test_a_damaged_database_is_told_from_a_sound_one(mc: CommandLine) -> None:
    texts = (f"The parcel number {number} weighs {number + 100} grams" for number in range(200))
    mc("store", "--from", "-", stdin=lines([{"content": text} for text in texts]))
    path = mc.data / "memorycore.db"
    content = bytearray(path.read_bytes())
    for offset in range(4096 * 3, len(content), 4096):
        content[offset : offset + 200] = b"\xff" * 200
    path.write_bytes(content)
    assert mc("doctor", "--json").code == 1


@pytest.mark.parametrize(("schema", "code"), [(9_999, "database_newer")])
def test_a_database_of_another_age_is_named_and_not_touched(mc: CommandLine, schema: int, code: str) -> None:
    mc("store", "x")
    path = mc.data / "memorycore.db"
    content = bytearray(path.read_bytes())
    content[60:64] = schema.to_bytes(4, "big")
    path.write_bytes(content)
    before = everything(mc.data)
    assert checks(mc)[code]["facts"]["schema"] == schema
    assert everything(mc.data) == before


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"one\r\n\xc2\xa7\r\ntwo", "file_not_clean"),
        (b"x" * 6000, "file_not_clean"),
        (b"\n\xc2\xa7\n".join(b"%d %s" % (number, b"y" * 1000) for number in range(6)), "file_over_limit"),
    ],
)
def test_a_memory_file_that_needs_attention_is_named(mc: CommandLine, content: bytes, code: str) -> None:
    mc.write_hot("MEMORY.md", content)
    found = checks(mc)[code]
    assert found["level"] == "warn"
    assert found["fix"]


def test_files_that_others_can_read_or_nobody_can_write_are_named(mc: CommandLine) -> None:
    mc.write_hot("MEMORY.md", b"a secret").chmod(0o644)
    assert checks(mc)["file_open_to_others"]["fix"].startswith("chmod 600 ")


def test_a_damaged_sidecar_and_a_held_lock_are_named(mc: CommandLine) -> None:
    path = mc.write_hot("MEMORY.md", b"an entry")
    mc.write_hot("MEMORY.meta.json", b"{ broken")
    with path.with_name("MEMORY.md.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = checks(mc)
    assert {"sidecar_damaged", "lock_held"} <= found.keys()
    assert "lock_held" not in checks(mc)


def test_copies_beside_the_memory_files_are_counted_and_left(mc: CommandLine) -> None:
    mc.write_hot("MEMORY.md", b"an entry")
    for number in range(10):
        mc.write_hot(f"MEMORY.md.bak.202601{number:02}", b"an older entry")
    mc.write_hot(".mem_abc.tmp", b"half an en")
    before = everything(mc.hot)
    assert checks(mc)["side_files"]["facts"]["count"] == 11
    assert mc("audit", "--json").answer["targets"][0]["entries"] == 1
    assert before.items() <= everything(mc.hot).items()


def test_a_second_home_with_memory_files_is_named(mc: CommandLine) -> None:
    mc.write_hot("MEMORY.md", b"an entry")
    other = mc.home / ".hermes" / "memories"
    other.mkdir(parents=True)
    (other / "MEMORY.md").write_bytes(b"another entry")
    found = checks(mc, MEMORY_DIR=str(mc.hot))["second_home"]
    assert found["level"] == "warn"
    assert found["facts"] == {"path": str(mc.hot), "other": str(other)}


def test_an_empty_home_is_told_of_the_other_one_in_the_same_database(mc: CommandLine) -> None:  # IL-161
    one, two, profile = (mc.home / name for name in ("one", "two", "one/profiles/work"))
    for home in (two, profile):
        home.mkdir(parents=True)
    mc("store", "Never deploy from one", HERMES_HOME=str(one))
    found = checks(mc, HERMES_HOME=str(two))["kept_elsewhere"]
    assert found["level"] == "warn"
    assert found["facts"] == {"path": str(two / "memories"), "other": str(one / "memories")}
    assert "kept_elsewhere" not in checks(mc, HERMES_HOME=str(profile))
    mc("store", "Never deploy from two", HERMES_HOME=str(two))
    assert "kept_elsewhere" not in checks(mc, HERMES_HOME=str(two))


def test_an_empty_memory_folder_is_told_of_the_one_beside_it(mc: CommandLine) -> None:
    one, two = mc.home / "mem", mc.home / "mem2"
    mc("store", "Never deploy from one", MEMORY_DIR=str(one))
    assert checks(mc, MEMORY_DIR=str(two))["kept_elsewhere"]["facts"] == {"path": str(two), "other": str(one)}


def test_files_of_a_predecessor_are_named_and_left(mc: CommandLine) -> None:
    mc("store", "x")
    (mc.data / "trash.json").write_bytes(b"[]")
    assert str(mc.data / "trash.json") in checks(mc)["predecessor"]["message"]
    assert (mc.data / "trash.json").read_bytes() == b"[]"


def test_wrong_settings_are_failures_and_the_rest_is_looked_at(mc: CommandLine) -> None:
    env = {"MEMORYCORE_TYPO": "1", "MEMORYCORE_TRASH_DAYS": "soon", "MEMORYCORE_COLD_BACKEND": "postgres"}
    ran = mc("doctor", "--json", **env)
    assert [check["level"] for check in ran.answer["checks"]].count("fail") == 3
    assert not [check for check in ran.answer["checks"] if check["code"].startswith("settings")]
    assert ran.answer["checks"][-1]["code"] == "model_off"


def test_names_without_effect_are_told(mc: CommandLine) -> None:
    assert "LLM_MODEL" in checks(mc, LLM_MODEL="m")["without_effect"]["message"]


def test_it_says_to_which_language_model_texts_may_go_and_never_its_key(mc: CommandLine) -> None:
    env = {"LLM_MODEL": "m", "LLM_API_KEY": "sk-secret"}
    ran = mc("doctor", "--json", LLM_BASE_URL="https://somebody:pass-word@llm.test/v1", **env)
    [found] = [check for check in ran.answer["checks"] if check["code"] == "llm"]
    assert found["facts"] == {"model": "m", "host": "llm.test"}
    assert "sk-secret" not in ran.out
    assert "pass-word" not in ran.out
    assert checks(mc, LLM_BASE_URL="llm.test", **env)["llm_bad_url"]["level"] == "fail"


@pytest.mark.parametrize(
    ("folder", "kind"),
    [("/home/me/data", "ext4"), ("/mnt/share/my data/x", "cifs"), ("/mnt/share", "ext4"), ("/mnt/c/Users", "9p")],
)
def test_the_file_system_is_that_of_the_nearest_mount(folder: str, kind: str) -> None:
    table = (
        "/dev/sda1 / ext4 rw 0 0\n"
        "//nas/share /mnt/share/my\\040data cifs rw 0 0\n"
        "C:\\134 /mnt/c 9p rw 0 0\n"
        "tmpfs /mnt/share/my tmpfs rw 0 0\n"
    )
    assert file_system_of(Path(folder), table) == kind
    assert (kind in UNSUITABLE) == (kind != "ext4")  # IL-214


def test_a_console_that_cannot_show_a_sign_does_not_end_the_command(mc: CommandLine) -> None:  # IL-211
    mc("store", "-", stdin="😀 一条规则：请一直用“中文”回答")
    for encoding, command in (("gbk", "doctor"), ("gbk", "audit"), ("cp1252", "audit"), ("ascii", "status")):
        ran = mc.process(command, PYTHONIOENCODING=encoding, MEMORYCORE_LANG="zh")
        assert ran.returncode in {0, 1}, ran.stderr
        assert b"Traceback" not in ran.stderr
        ran.stdout.decode(encoding)
