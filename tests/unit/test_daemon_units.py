"""What the system is told about the daemon, on each of the three."""

import plistlib
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from memorycore.daemon.units import Plan, plan, unit
from memorycore.settings import load_settings

AWKWARD = 'it is 100% "quoted" \\ $HOME & <more> 小明'


def planned(home: Path, platform: str, **env: str) -> Plan:
    told = {"HOME": str(home), **env}
    return plan(unit(load_settings(told), told), told, platform=platform)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd to read it")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    made = planned(tmp_path, "linux", MEMORYCORE_EMBED_QUERY_PREFIX=AWKWARD)
    assert made.file == tmp_path / ".config" / "systemd" / "user" / "memorycore.service"
    file = tmp_path / "memorycore.service"
    file.write_text(made.content, encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", str(file)],
        env={"XDG_RUNTIME_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert "memorycore.service" not in done.stderr, done.stderr


def test_launchd_gets_the_words_and_the_environment_as_they_are(tmp_path: Path) -> None:
    made = planned(tmp_path, "darwin", MEMORYCORE_EMBED_QUERY_PREFIX=AWKWARD)
    agent = plistlib.loads(made.content.encode())
    assert agent["ProgramArguments"] == [sys.executable, "-m", "memorycore.daemon", "--wait"]
    assert agent["EnvironmentVariables"]["MEMORYCORE_EMBED_QUERY_PREFIX"] == AWKWARD
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
    assert made.file == tmp_path / "Library" / "LaunchAgents" / f"{agent['Label']}.plist"


def test_a_task_of_windows_is_told_its_environment_with_its_arguments(tmp_path: Path) -> None:
    made = planned(tmp_path, "win32", MEMORYCORE_EMBED_QUERY_PREFIX="two words & more")
    task = ET.fromstring(made.content.encode(made.encoding))  # noqa: S314 - of our own making
    space = {"t": "http://schemas.microsoft.com/windows/2004/02/mit/task"}
    assert task.findtext(".//t:Command", namespaces=space) == sys.executable
    said = task.findtext(".//t:Arguments", namespaces=space) or ""
    assert said.startswith("-m memorycore.daemon --wait --set ")
    assert '--set "MEMORYCORE_EMBED_QUERY_PREFIX=two words & more"' in said
    assert task.findtext(".//t:ExecutionTimeLimit", namespaces=space) == "PT0S"


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_paths_are_absolute_and_secrets_stay_out(
    tmp_path: Path, platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    key = tmp_path / "key"
    key.write_text("from-a-file", encoding="utf-8")
    key.chmod(0o600)
    made = planned(
        tmp_path, platform,
        MEMORYCORE_EMBED_KEY="sekrit-1", LLM_API_KEY_FILE="key", LLM_MODEL="m", LLM_BASE_URL="http://h/v1",
        MEMORY_DIR="notes", TZ="Asia/Shanghai", MEMORYCORE_EMBED_URL="http://me:sekrit-1@h/v1",
    )  # fmt: skip
    assert set(made.left_out) == {"MEMORYCORE_EMBED_KEY", "MEMORYCORE_EMBED_URL"}
    assert not any(secret in made.content for secret in ("sekrit-1", "from-a-file"))
    assert "Asia/Shanghai" in made.content
    for path in (key, tmp_path / "notes"):
        assert str(path) in made.content


def test_each_data_directory_has_a_service_of_its_own(tmp_path: Path) -> None:
    one, other = (planned(tmp_path, "linux", MEMORYCORE_DATA_DIR=str(tmp_path / name)) for name in "ab")
    assert len({one.file, other.file, planned(tmp_path, "linux").file}) == 3
