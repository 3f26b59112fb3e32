"""A day of the daemon, shortened: clients write, its leader is killed again and again; nothing is lost or done twice.

    python -m benchmarks.daemon_day [--memories 10000] [--minutes 5] [--kill-every 5] [--json]

Four clients write at once, half of them over HTTP and half over stdio through a relay; one text in five was said
before. A client that gets no answer, or one that nobody knows whether it was done, says the same again: that is what
is acknowledged. Meanwhile three more daemons wait with ``--wait``, and one is started anew for each that was killed, as
a service would be. Every step of maintenance runs every half minute. At the end everything is read back.

Exit code 1 when a check failed. Memories that were to be over by then show whether an effect came twice.
"""

import argparse
import contextlib
import http.client
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from benchmarks.report import quantile, show
from benchmarks.speed import text
from memorycore import endpoint
from memorycore.daemon import control, leader, logs
from memorycore.domain.text import norm_hash

CLIENTS = 4
STANDING_BY = 3
SAID_BEFORE = 0.2
OVER_SOON = 0.01  # so many of a hundred hold for a moment only
MOST_WAL_BYTES = 64 * 1024 * 1024
LEADS_WITHIN_S = 5.0
RHYTHM = "30s"
STEPS = ("reconcile", "overflow", "integrity", "dedup", "conflicts", "expire", "decay", "consolidate", "purge",
         "capacity", "uses", "checkpoint")  # fmt: skip
ANSWER_WITHIN_S = 30.0


class AgainError(Exception):
    """No answer, or none that says what became of the call: it is to be repeated."""


@dataclass
class Day:
    """What happened so far. ``acknowledged``: the id that each text was answered with, by its hash."""

    home: Path
    memories: int
    kill_every_s: float
    ends_at: float
    acknowledged: dict[str, str] = field(default_factory=dict[str, str])
    repeated: Counter[str] = field(default_factory=Counter[str])
    statuses: Counter[str] = field(default_factory=Counter[str])
    took_s: list[float] = field(default_factory=list[float])
    gaps_s: list[float] = field(default_factory=list[float])
    most_wal_bytes: int = 0
    daemons: list["subprocess.Popen[bytes]"] = field(default_factory=list["subprocess.Popen[bytes]"])
    written: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def data(self) -> Path:
        return self.home / ".memorycore" / "data"

    def env(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ}
        rhythms = "; ".join(f"{step} = {RHYTHM}" for step in STEPS)
        return {
            **kept, "HOME": str(self.home), "PYTHONPATH": str(Path(__file__).parents[1]), "MEMORYCORE_LANG": "en",
            "MEMORYCORE_EMBED_MODEL": "none", "MEMORYCORE_SCHEDULE": rhythms,
            "MEMORYCORE_CLIENT_CALLS_PER_S": "100000",
        }  # fmt: skip


# The clients.


class OverHttp:
    """One that asks ``/v1/store``, and looks for the daemon anew when it is gone."""

    def __init__(self, day: Day) -> None:
        self._day = day

    def store(self, said: dict[str, Any]) -> dict[str, Any]:
        where = endpoint.read(self._day.data)
        if where is None:
            raise AgainError("no daemon")
        connection = http.client.HTTPConnection(where.url.removeprefix("http://"), timeout=ANSWER_WITHIN_S)
        headers = {"Authorization": f"Bearer {where.token}", "Content-Type": "application/json"}
        try:
            connection.request("POST", "/v1/store", json.dumps(said).encode(), headers)
            response = connection.getresponse()
            answer: dict[str, Any] = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise AgainError(type(error).__name__) from error
        finally:
            connection.close()
        if not answer.get("ok", True):
            raise AgainError(str(answer.get("code")))
        return answer

    def close(self) -> None:
        pass


class OverStdio:
    """One with an MCP server of its own, which relays to the daemon while there is one."""

    def __init__(self, day: Day) -> None:
        self._number = itertools.count(1)
        self._log = (day.home / "clients.log").open("ab")
        self._server = subprocess.Popen(
            [sys.executable, "-m", "memorycore.server"],
            env=day.env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True, encoding="utf-8",
        )  # fmt: skip
        client = {"name": "day", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def store(self, said: dict[str, Any]) -> dict[str, Any]:
        result = self._ask("tools/call", {"name": "memorycore_store_fact", "arguments": said})
        answer: dict[str, Any] = json.loads(result["content"][0]["text"])
        if not answer.get("ok", True) or "status" not in answer:
            raise AgainError(str(answer.get("code")))
        return answer

    def close(self) -> None:
        if self._server.stdin is not None:
            self._server.stdin.close()
        self._server.wait(timeout=10)
        self._log.close()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(message) + "\n")
        self._server.stdin.flush()

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        number = next(self._number)
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        assert self._server.stdout is not None
        for line in self._server.stdout:
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == number:
                if "error" in answer:
                    raise AgainError(str(answer["error"].get("message")))
                return answer["result"]
        raise SystemExit("a client's server ended")


def write(day: Day, share: range, client: OverHttp | OverStdio) -> None:
    """Say every text of a share until it is acknowledged, and now and then one that was said before."""
    dice = random.Random(share.start)
    try:
        for place, number in enumerate(share):
            if place and dice.random() < SAID_BEFORE:
                _say(day, client, share[dice.randrange(place)])
            _say(day, client, number)
    finally:
        client.close()


def _say(day: Day, client: OverHttp | OverStdio, number: int) -> None:
    content = text(3 * number + 1)  # the others contradict each other, which is not what is looked at here
    said: dict[str, Any] = {"content": content}
    if _is_over_soon(number):
        said |= {"valid_from": "2026-01-01", "valid_until": "2026-01-02"}
    began = time.monotonic()
    while not day.over.is_set():
        try:
            answer = client.store(said)
        except AgainError as why:
            day.repeated[str(why)[:60]] += 1
            day.over.wait(0.05)
            continue
        day.took_s.append(time.monotonic() - began)
        day.statuses[str(answer["status"])] += 1
        if "id" in answer:
            day.acknowledged[norm_hash(content)] = answer["id"]
        return


def _is_over_soon(number: int) -> bool:
    return random.Random(f"over {number}").random() < OVER_SOON


# Those who tend the daemons, and the one who kills them.


def keep_up(day: Day) -> None:
    """A daemon for each that has ended, all but one waiting."""
    with (day.home / "daemons.log").open("ab") as log:
        while not day.over.is_set():
            day.daemons[:] = [one for one in day.daemons if one.poll() is None]
            while len(day.daemons) <= STANDING_BY:
                command = [sys.executable, "-m", "memorycore.daemon", "--wait"]
                day.daemons.append(subprocess.Popen(command, env=day.env(), stdout=log, stderr=log))
            day.over.wait(0.2)


def kill(day: Day) -> None:
    """End the leader with ``kill -9`` every few seconds; measure until the next one answers."""
    while not day.over.wait(day.kill_every_s) and time.monotonic() < day.ends_at:
        leads = leader.current(day.data)
        if leads is None:
            continue
        os.kill(leads.pid, signal.SIGKILL)
        began = time.monotonic()
        while not day.over.is_set():
            found = control.find(day.data)
            if found is not None and found.endpoint is not None and found.leader.pid != leads.pid:
                day.gaps_s.append(time.monotonic() - began)
                break
            time.sleep(0.05)


def watch_log(day: Day) -> None:
    log = day.data / "memorycore.db-wal"
    while not day.over.wait(0.1):
        with contextlib.suppress(OSError):
            day.most_wal_bytes = max(day.most_wal_bytes, log.stat().st_size)


# What must be so at the end.


def checks(day: Day) -> list[dict[str, object]]:
    connection = apsw.Connection(str(day.data / "memorycore.db"), flags=apsw.SQLITE_OPEN_READONLY)
    rows = {row[0]: row[1:] for row in connection.execute("SELECT id, norm_hash, state FROM memory")}
    # What was over and is said again holds anew, as another memory: it may be there in both states.
    there = {content for content, _ in rows.values()}
    once = Counter(content for content, state in rows.values() if state == "active")
    lost = [hashed for hashed, known in day.acknowledged.items() if hashed not in there or known not in rows]
    twice = [hashed for hashed in day.acknowledged if once[hashed] > 1]
    effects = Counter(
        (row[0], row[1])
        for row in connection.execute("SELECT memory_id, action FROM event WHERE memory_id IN (SELECT id FROM memory)")
        if row[1] in ONCE_ONLY
    )
    sound = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
    expired = sum(state == "expired" for _, state in rows.values())
    connection.close()
    index = _integrity(day)
    errors = [line for line in _log_lines(day) if line.get("level") == "error"]
    found: dict[str, tuple[bool, object]] = {
        "acknowledged": (len(day.acknowledged) == day.memories, len(day.acknowledged)),
        "lost": (not lost, len(lost)),
        "there twice": (not twice, len(twice)),
        "ended by time": (expired > 0 or day.memories < 1000, expired),
        "effects twice": (all(count == 1 for count in effects.values()), sum(c > 1 for c in effects.values())),
        "database sound": (sound == ["ok"], len(sound)),
        "index sound": (index == "done", index),
        "most WAL bytes": (day.most_wal_bytes < MOST_WAL_BYTES, day.most_wal_bytes),
        "leaders killed": (True, len(day.gaps_s)),
        "longest gap s": (max(day.gaps_s, default=0.0) <= LEADS_WITHIN_S, max(day.gaps_s, default=0.0)),
        "errors in the log": (not errors, [line.get("message", line) for line in errors[:3]] if errors else 0),
    }
    return [{"check": name, "ok": is_ok, "found": value} for name, (is_ok, value) in found.items()]


ONCE_ONLY = frozenset({"added", "expired"})


def _integrity(day: Day) -> str:
    """What ``memorycore maintain integrity`` says, with nobody else about."""
    done = subprocess.run(
        [sys.executable, "-m", "memorycore", "maintain", "integrity", "--json"],
        env=day.env(), capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    try:
        return str(json.loads(done.stdout)["steps"][0]["outcome"])
    except (ValueError, KeyError, IndexError):
        return (done.stderr or done.stdout).strip()[-200:]


def _log_lines(day: Day) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for path in sorted(day.data.glob(f"{logs.FILE}*")):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
    return found


def run(day: Day) -> None:
    """Begin, write everything, go on killing until the time is over, end."""
    tending = [threading.Thread(target=task, args=(day,)) for task in (keep_up, kill, watch_log)]
    day.data.mkdir(parents=True, exist_ok=True)
    tending[0].start()
    _wait(lambda: control.find(day.data) is not None and endpoint.read(day.data) is not None)
    for task in tending[1:]:
        task.start()
    shares = [range(first, day.memories, CLIENTS) for first in range(CLIENTS)]
    kinds: list[Callable[[Day], OverHttp | OverStdio]] = [OverHttp, OverStdio]
    writers = [
        threading.Thread(target=write, args=(day, share, kinds[place % len(kinds)](day)))
        for place, share in enumerate(shares)
    ]
    try:
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        while time.monotonic() < day.ends_at:
            time.sleep(0.2)
        time.sleep(45)  # every step once more, with nobody killed
    finally:
        day.over.set()
        for task in (*tending, *writers):
            task.join()
        for one in day.daemons:
            one.terminate()
        for one in day.daemons:
            one.wait(timeout=20)


def _wait(what: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not what():
        assert time.monotonic() < until, "no daemon came up"
        time.sleep(0.05)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--minutes", type=float, default=5.0, help="at least so long is gone on with killing")
    parser.add_argument("--kill-every", type=float, default=5.0, metavar="SECONDS")
    parser.add_argument("--keep", type=Path, help="work in this folder and leave it")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        day = Day(
            home=(asked.keep or Path(folder)).absolute(),
            memories=asked.memories,
            kill_every_s=asked.kill_every,
            ends_at=time.monotonic() + asked.minutes * 60,
        )
        began = time.monotonic()
        run(day)
        rows = checks(day)
        took = {
            "seconds": round(time.monotonic() - began, 1),
            "store_p50_ms": round(quantile(day.took_s, 0.5) * 1000, 1),
            "store_p95_ms": round(quantile(day.took_s, 0.95) * 1000, 1),
            "repeated": dict(day.repeated.most_common(8)),
            "answers": dict(day.statuses),
        }
        show("daemon_day", rows, as_json=asked.json, **took)
    if not all(row["ok"] for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
