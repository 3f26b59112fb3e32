"""Who is at work: a client that is connected is noted as a session, and is gone when it has gone."""

import threading
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from memorycore.core import MemoryCore
from memorycore.server.desk import Desk
from memorycore.store import open_database, sessions
from tests.embedding_stub import wait_until
from tests.homes import START, Home
from tests.wire import Wire, server_env

IDLE = timedelta(minutes=10)


def noted(data: Path) -> list[str]:
    with closing(open_database(data)) as db, db.read() as c:
        return [str(row[0]) for row in c.execute("SELECT session_id FROM host_session ORDER BY 1")]


def test_a_connected_client_is_a_session_until_it_goes(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Wire(server_env(tmp_path, MEMORYCORE_EMBED_MODEL="none"), name="claude-code") as wire:
        wire.initialize()
        wire.request("tools/list")
        assert wait_until(lambda: (data / "memorycore.db").exists() and len(noted(data)) == 1, 40)
        wire.call("memorycore_get_memory_usage")
        assert wait_until(lambda: any(name.startswith("claude-code-") for name in noted(data)), 20)
        wire.close_input()
        wire.wait(5)
    assert noted(data) == []


def test_a_session_runs_until_it_was_idle_for_a_while(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core(long_lived=True) as core, home.core() as other:
        assert not core.rooms.session_runs()
        core.session_seen("claude-1")
        assert core.rooms.session_runs()
        assert other.rooms.session_runs()
        home.clock.forward(minutes=9)
        core.session_seen("claude-1")
        core.rooms.uses.flush()
        home.clock.forward(minutes=9)
        assert other.rooms.session_runs()
        home.clock.forward(minutes=2)
        assert not core.rooms.session_runs()


def test_it_is_written_no_more_than_once_a_minute(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core(long_lived=True) as core:
        seen: list[bool] = []
        for _ in range(10):
            core.session_seen("claude-1")
            before = core.db.data_version()
            core.rooms.uses.flush()
            seen.append(core.db.data_version() != before)
            home.clock.forward(seconds=10)
        assert seen == [True] + [False] * 5 + [True] + [False] * 3


def test_a_session_of_another_namespace_or_of_the_future_or_of_yesterday_does_not_run(tmp_path: Path) -> None:
    with closing(open_database(tmp_path)) as db, db.write() as c:
        sessions.seen(c, "other", "a", START)
        sessions.seen(c, "default", "b", START + timedelta(minutes=5))
        assert not sessions.running(c, "default", START, IDLE)
        assert sessions.running(c, "other", START, IDLE)
        sessions.seen(c, "other", "c", START + timedelta(days=2))
        assert [row[0] for row in c.execute("SELECT session_id FROM host_session")] == ["c"]


def test_a_client_that_is_there_before_the_store_is_open_is_noted_then(tmp_path: Path) -> None:
    home = Home(tmp_path)

    def open_core() -> MemoryCore:
        core = MemoryCore(home.options, long_lived=True, clock=home.clock)
        core.rooms.start()
        return core

    desk = Desk(open_core, language="en")
    desk.seen("early")
    with desk.core() as core:
        assert core.rooms.uses.open_sessions() == ("early",)
    desk.close(grace_s=1)
    assert noted(home.options.data_dir) == []


def test_a_busy_store_holds_no_call_up(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core(long_lived=True) as core, home.core() as writer, writer.db.write():
        done = threading.Event()

        def call() -> None:
            core.session_seen("claude-1")
            core.rooms.uses.flush()
            done.set()

        threading.Thread(target=call, daemon=True).start()
        assert done.wait(3)
