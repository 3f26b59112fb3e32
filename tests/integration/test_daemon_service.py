"""Installing the daemon as a service, with a small stand-in for systemctl; and taking it away again."""

import json
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from memorycore.daemon import control
from tests.daemons import DaemonHome, daemon_home

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="systemd is a matter of Linux")

# Starts and ends what the unit says, as the user's own systemd would.
SYSTEMCTL = """#!{python}
import os, pathlib, shlex, subprocess, sys
unit = pathlib.Path(os.environ["HOME"], ".config/systemd/user", sys.argv[-1])
pid = pathlib.Path(os.environ["HOME"], "service.pid")
if "enable" in sys.argv:
    lines = unit.read_text(encoding="utf-8").splitlines()
    said = [line.partition("=")[2] for line in lines if line.startswith("Environment=")]
    command = next(line.partition("=")[2] for line in lines if line.startswith("ExecStart="))
    env = dict(word.split("=", 1) for line in said for word in shlex.split(line))
    pipe = subprocess.DEVNULL
    begun = subprocess.Popen(
        shlex.split(command), env={{"HOME": os.environ["HOME"], **env}}, stdin=pipe, stdout=pipe, stderr=pipe,
        start_new_session=True,
    )
    pid.write_text(str(begun.pid))
if "disable" in sys.argv and pid.exists():
    os.kill(int(pid.read_text()), 15)
"""


@pytest.fixture
def home(tmp_path: Path) -> Generator[DaemonHome]:
    with daemon_home(tmp_path / "home") as ours:
        command = tmp_path / "bin" / "systemctl"
        command.parent.mkdir()
        command.write_text(SYSTEMCTL.format(python=sys.executable), encoding="utf-8")
        command.chmod(0o755)
        ours.env["PATH"] = str(command.parent)
        yield ours


def said(home: DaemonHome, *arguments: str) -> list[dict[str, object]]:
    begun = home.begin("-m", "memorycore", "daemon", *arguments, "--json")
    out, _ = begun.communicate(timeout=90)
    return [json.loads(line) for line in out.splitlines()]


def test_printing_the_plan_does_nothing(home: DaemonHome) -> None:
    (plan,) = said(home, "install", "--print")
    assert "ExecStart=" in str(plan["content"])
    assert said(home, "uninstall", "--print")[0]["plan"] == "uninstall"
    assert list(home.home.iterdir()) == []


def test_a_service_replaces_what_ran_and_leaves_nothing_when_it_goes(home: DaemonHome) -> None:
    by_hand = home.run("start")["pid"]
    plan, done = said(home, "install")
    assert done["status"] == "installed"
    assert Path(str(plan["file"])).is_file()
    leads = home.leader_of_now()
    assert leads.pid == int((home.home / "service.pid").read_text(encoding="utf-8")) != by_hand
    assert home.living() == [leads.pid]
    assert said(home, "uninstall")[-1]["status"] == "uninstalled"
    assert (home.living(), control.find(home.data)) == ([], None)
    assert not Path(str(plan["file"])).exists()
    assert said(home, "uninstall")[-1]["status"] == "not_installed"


def test_where_the_system_refuses_nothing_stays_installed(home: DaemonHome, tmp_path: Path) -> None:
    (tmp_path / "bin" / "systemctl").write_text("#!/bin/sh\necho no bus >&2; exit 1\n", encoding="utf-8")
    plan, refusal = said(home, "install")
    assert (refusal["code"], "no bus" in str(refusal["message"])) == ("not_available", True)
    assert not Path(str(plan["file"])).exists()
