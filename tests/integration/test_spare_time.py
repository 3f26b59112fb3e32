"""Light upkeep by servers where no daemon leads: each step by one of them, and none while somebody asks."""

import socket
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from memorycore import endpoint
from memorycore.core import MemoryCore
from memorycore.endpoint import Endpoint
from memorycore.govern.steps.table import STEPS
from memorycore.options import CoreOptions, EmbedOptions
from memorycore.server import spare_time
from memorycore.server.desk import Desk
from tests.daemons import wait_for


def options(root: Path) -> CoreOptions:
    return CoreOptions(hot_dir=root / "memories", data_dir=root / "data", embed=EmbedOptions(model="none"))


@contextmanager
def desk(root: Path) -> Generator[Desk]:
    opened = Desk(lambda: MemoryCore.open(options(root), long_lived=True), language="en")
    try:
        yield opened
    finally:
        opened.close(grace_s=2)


def runs(one: Desk) -> dict[str, str]:
    """Every step that has run, and how it ended."""
    with one.core() as core:
        return {step: run.outcome for step, run in core.step_runs().items()}


def test_servers_without_a_daemon_share_the_light_steps(tmp_path: Path) -> None:
    with ExitStack() as stack:
        desks = [stack.enter_context(desk(tmp_path)) for _ in range(3)]
        for one in desks:
            spare_time.begin(one, every_s=0.05, idle_for_s=0)
        light = {step for step, spec in STEPS.items() if spec.light and spec.by_itself}
        wait_for(lambda: light <= {step for step, outcome in runs(desks[0]).items() if outcome == "done"})
        assert set(runs(desks[0])) <= {step for step, spec in STEPS.items() if spec.light}


def test_a_server_that_is_asked_something_tends_nothing(tmp_path: Path) -> None:
    with desk(tmp_path) as one, one.core():
        assert one.idle_s() == 0
        spare_time.begin(one, every_s=0.01, idle_for_s=0.01)
        assert runs(one) == {}


def test_where_a_daemon_leads_it_is_left_to_it(tmp_path: Path) -> None:
    options(tmp_path).data_dir.mkdir()
    assert not spare_time.a_daemon_leads(tmp_path / "data")
    with socket.create_server(("127.0.0.1", 0)) as daemon:
        endpoint.write(
            Endpoint(
                pid=1, started="", version="", url="", relay=daemon.getsockname(), token="", namespace="",
                data_dir=str(tmp_path / "data"), hot_dir="", settings="",
            )
        )  # fmt: skip
        assert spare_time.a_daemon_leads(tmp_path / "data")
    assert not spare_time.a_daemon_leads(tmp_path / "data")


def test_a_closed_desk_is_left_alone(tmp_path: Path) -> None:
    with desk(tmp_path) as one:
        pass
    assert one.idle_s() is None
