"""The daemon as a process: started, stopped, killed, waited for; never two, never one left behind."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import pytest

from memorycore import endpoint
from memorycore.daemon import control, leader, logs, process
from tests.daemons import DaemonHome, daemon_home, wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@pytest.fixture
def home(tmp_path: Path) -> Generator[DaemonHome]:
    with daemon_home(tmp_path / "home of 小明") as ours:
        yield ours


def test_one_is_started_asked_and_stopped(home: DaemonHome) -> None:
    assert home.run("status", code=3)["status"] == "stopped"
    started = home.run("start")
    assert (started["status"], started["differs"]) == ("started", [])
    again, asked = home.run("start"), home.run("status")
    assert (again["status"], again["pid"]) == ("already_runs", started["pid"])
    assert (asked["status"], asked["pid"], asked["url"]) == ("runs", started["pid"], started["url"])
    where = home.leader_of_now()
    assert where.token not in json.dumps([started, asked])
    glance = json.loads(home.begin("-m", "memorycore", "status", "--json").communicate(timeout=60)[0])["daemon"]
    assert (glance["status"], glance["url"]) == ("runs", started["url"])
    assert os.getsid(where.pid) == where.pid  # no terminal's end ends it
    assert home.run("stop")["status"] == "stopped"
    assert home.living() == []
    assert sorted(path.name for path in home.data.glob("daemon*")) == [leader.LOCK, logs.FILE, leader.START_LOCK]
    assert home.run("stop")["status"] == "not_running"


@pytest.mark.parametrize("many", [12, pytest.param(50, marks=pytest.mark.soak)])
def test_many_starts_at_once_leave_one(home: DaemonHome, many: int) -> None:
    starts = [home.begin("-m", "memorycore", "daemon", "start", "--json") for _ in range(many)]
    answers = [json.loads(begun.communicate(timeout=100)[0]) for begun in starts]
    assert sorted(answer["status"] for answer in answers) == ["already_runs"] * (many - 1) + ["started"]
    assert {answer["pid"] for answer in answers} == set(home.living())


def test_what_a_killed_one_left_is_no_obstacle(home: DaemonHome) -> None:
    home.run("start")
    home.kill_leader()
    assert endpoint.read(home.data) is not None
    assert home.run("status", code=3)["status"] == "stopped"
    assert home.run("start")["status"] == "started"
    assert len(home.living()) == 1


def test_a_second_one_says_who_leads_or_waits_and_takes_over(home: DaemonHome) -> None:
    first = home.foreground()
    leads = home.leader_of_now()
    out, _ = (second := home.foreground()).communicate(timeout=30)
    assert second.returncode == 5
    assert f"(pid {leads.pid})" in out
    waiting = home.foreground("--wait")
    first.kill()
    assert wait_for(lambda: control.find(home.data) and home.leader_of_now()).pid == waiting.pid
    waiting.send_signal(signal.SIGINT)
    out, _ = waiting.communicate(timeout=30)
    assert waiting.returncode == 0, out
    assert endpoint.read(home.data) is None


def test_one_that_hangs_is_killed_and_nobody_else_is(home: DaemonHome) -> None:
    begun = home.foreground()
    hanging = home.leader_of_now()
    os.kill(hanging.pid, signal.SIGSTOP)
    glance = json.loads(home.begin("-m", "memorycore", "status", "--json").communicate(timeout=60)[0])["daemon"]
    assert (glance["status"], glance["pid"]) == ("silent", hanging.pid)
    assert home.run("stop")["status"] == "killed"
    begun.communicate()
    stranger = home.begin("-c", "import time; time.sleep(60)")
    written = leader.Leader(pid=stranger.pid, host=os.uname().nodename, started="", birth="another", version="1")
    (home.data / leader.LOCK).write_text(f" {json.dumps(asdict(written))}", encoding="utf-8")
    assert home.run("stop")["status"] == "not_running"
    assert stranger.poll() is None


def test_one_of_another_machine_is_left_alone(home: DaemonHome) -> None:
    home.data.mkdir(parents=True)
    far = leader.Leader(pid=os.getpid(), host="elsewhere", started="", birth="x", version="1")
    (home.data / leader.LOCK).write_text(f" {json.dumps(asdict(far))}", encoding="utf-8")
    with leader.held(home.data / leader.LOCK, wait_s=0) as holds:
        assert holds
        for command in ("stop", "start"):
            assert "elsewhere" in home.run(command, code=5)["message"]
    assert home.run("status", code=3)["status"] == "stopped"  # its name was ours before, and it has ended


def test_an_older_one_is_replaced(home: DaemonHome) -> None:
    old = "import memorycore; memorycore.__version__ = '0.0.1'; from memorycore.daemon.__main__ import main; main([])"
    begun = home.begin("-c", old)
    assert home.leader_of_now().version == "0.0.1"
    assert home.run("start")["status"] == "replaced"
    assert begun.wait(timeout=10) == 0
    assert home.run("restart")["status"] == "replaced"
    assert len(home.living()) == 1


def test_other_settings_are_seen_and_taken_over_by_a_restart(home: DaemonHome) -> None:
    home.run("start")
    home.env["MEMORYCORE_TRASH_DAYS"] = "3"
    assert home.run("start")["differs"] == ["settings"]
    assert home.run("restart")["differs"] == []


def test_a_restart_keeps_what_the_one_before_was_asked_and_ends_none_that_cannot_come_back(home: DaemonHome) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    first = home.run("start", "--port", str(port), "--idle-exit", "60")
    assert home.run("restart")["url"] == first["url"]
    here = home.leader_of_now()
    assert (here.asked_port, here.idle_exit_s) == (port, 3600)
    home.env["MEMORYCORE_HTTP_HOST"] = "0.0.0.0"  # noqa: S104 - what must not be
    assert "MEMORYCORE_HTTP_ALLOWED_HOSTS" in home.run("restart", code=5)["message"]
    assert home.leader_of_now() == here
    home.env.pop("MEMORYCORE_HTTP_HOST")
    assert home.run("restart", "--port", "0", "--idle-exit", "0")["url"] != first["url"]
    assert home.leader_of_now().idle_exit_s is None


def test_it_ends_when_nobody_is_here_and_when_its_place_is_gone(home: DaemonHome) -> None:
    idle = home.foreground("--idle-exit", "0.01")
    out, _ = idle.communicate(timeout=60)
    assert idle.returncode == 0, out
    assert json.loads(out.splitlines()[-2])["message"] == "ending: nobody is here"
    homeless = home.foreground()
    home.leader_of_now()
    (home.data / leader.LOCK).unlink()
    out, _ = homeless.communicate(timeout=60)
    assert homeless.returncode == 0, out
    assert endpoint.read(home.data) is None


def test_the_endpoint_file_comes_back(home: DaemonHome) -> None:
    home.run("start")
    before = home.leader_of_now()
    (home.data / endpoint.FILE).unlink()
    assert wait_for(lambda: endpoint.read(home.data)) == before


def test_the_log_is_json_for_its_owner_and_holds_no_memory(home: DaemonHome) -> None:
    home.run("start")
    where = home.leader_of_now()
    body = json.dumps({"content": "The aubergine parade starts at the harbour gate."}).encode()
    headers = {"Authorization": f"Bearer {where.token}", "Content-Type": "application/json"}
    for path, content in (("/v1/store", body), ("/v1/store", b'{"aubergine": '), ("/v1/aubergine", body)):
        request = urllib.request.Request(where.url + path, content, headers)  # noqa: S310 - our own daemon
        try:
            with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310
                assert json.load(response)["status"] == "cold_stored"
        except urllib.error.HTTPError as error:
            assert error.code in {400, 404}  # noqa: PT017
    home.run("stop")
    assert [line["level"] for line in home.log()].count("error") == 0
    assert "aubergine" not in (home.data / logs.FILE).read_text(encoding="utf-8")
    assert stat.S_IMODE((home.data / logs.FILE).stat().st_mode) == 0o600


def test_a_start_that_fails_says_why(home: DaemonHome) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = home.run("start", "--port", str(port), code=5)
    assert "in use" in answer["message"]
    assert str(home.data / logs.FILE) in answer["message"]
    assert home.living() == []


def test_a_process_is_known_by_its_number_and_its_birth() -> None:
    begun = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    born = process.birth(begun.pid)
    assert born is not None
    assert process.birth(os.getpid()) not in {None, born}
    assert not process.send(begun.pid, "another birth", signal.SIGKILL)
    assert process.send(begun.pid, born, signal.SIGKILL)
    assert process.wait_for_end(begun.pid, born, 10)  # a zombie by now, and dead all the same
    begun.communicate()
    assert process.birth(begun.pid) is None
    assert process.birth(0) is None


SHORT_OF_FILES = """
import os, resource, runpy, sys
sys.stderr = open(os.devnull, "w", encoding="utf-8")  # nobody reads the pipe, and what is said of so many fills it
resource.setrlimit(resource.RLIMIT_NOFILE, (160, 160))
sys.argv = ["memorycore", "daemon", "--log-level", "ERROR"]
runpy.run_module("memorycore", run_name="__main__", alter_sys=True)
"""


def test_more_connections_than_there_is_room_for_end_no_daemon(home: DaemonHome) -> None:
    home.begin("-c", SHORT_OF_FILES)
    here = home.leader_of_now()
    with ExitStack() as stack:
        for port in (here.relay[1], int(here.url.rpartition(":")[2])):
            for _ in range(150):
                stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5)).sendall(b"GET")
        time.sleep(1.2)  # it looks around every second
    assert home.leader_of_now() == here
