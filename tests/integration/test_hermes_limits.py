"""How much Hermes allows in its files is its own to change, also while something of ours runs."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.settings import load_settings
from tests.daemons import wait_for
from tests.web import service

FULL = [f"Always oil hinge {number} of the gate, and tell the keeper of it when it is done." for number in range(25)]


def allow(home: Path, memory: int, user: int = 1375) -> None:
    config = f"model: x\nmemory:\n  memory_char_limit: {memory}\n  user_char_limit: {user}\n"
    (home / ".hermes" / "config.yaml").write_text(config, encoding="utf-8")


@contextmanager
def opened(home: Path, **env: str) -> Generator[MemoryCore]:
    """A core that lives long, beside Hermes."""
    (home / ".hermes" / "memories").mkdir(parents=True)
    allow(home, 2200)
    told = {"HOME": str(home), "MEMORYCORE_EMBED_MODEL": "none", **env}
    with MemoryCore.open(load_settings(told).core_options(), long_lived=True) as core:
        yield core


def limits(core: MemoryCore) -> list[int]:
    return [hot["limit"] for hot in core.usage()["hot"]]


def test_a_host_that_writes_finds_the_room_that_the_limit_of_now_asks_for(tmp_path: Path) -> None:
    with opened(tmp_path) as core:
        file = tmp_path / ".hermes" / "memories" / "MEMORY.md"
        file.write_text("\n§\n".join(FULL[:20]), encoding="utf-8")
        assert core.host_wrote()["hot"][0]["limit"] == 2200
        allow(tmp_path, 1000)
        noticed = core.host_wrote()["hot"][0]
        assert (noticed["limit"], noticed["hard"], noticed["limit_from"]) == (1000, 900, "hermes_config")
        assert len(file.read_text(encoding="utf-8")) <= 900
        allow(tmp_path, 4000)
        assert core.remember(Draft(content=FULL[-1] * 12, target="memory"), actor="test")["tier"] == "hot"


def test_a_broken_config_changes_nothing_until_it_can_be_read(tmp_path: Path) -> None:
    with opened(tmp_path) as core:
        config = tmp_path / ".hermes" / "config.yaml"
        config.write_text("memory: [", encoding="utf-8")
        assert limits(core) == [2200, 1375]
        allow(tmp_path, 3000, 900)
        assert limits(core) == [3000, 900]
        config.unlink()
        wait_for(lambda: limits(core) == [2200, 1375])


def test_a_config_that_is_being_written_moves_nothing_out_of_a_file(tmp_path: Path) -> None:
    with opened(tmp_path) as core:
        allow(tmp_path, 20_000)
        file, config = (tmp_path / ".hermes" / name for name in ("memories/MEMORY.md", "config.yaml"))
        file.write_text("\n§\n".join(f"{line} Number {turn}." for turn in range(5) for line in FULL), encoding="utf-8")
        core.host_wrote()
        for half in ("", "model: x\n"):
            config.write_text(half, encoding="utf-8")
            assert core.host_wrote()["hot"][0]["limit"] == 20_000
        assert len(file.read_text(encoding="utf-8").split("\n§\n")) == 5 * len(FULL)


def test_a_limit_that_was_set_for_us_stays(tmp_path: Path) -> None:
    with opened(tmp_path, MEMORYCORE_CHAR_LIMIT_MEMORY="700") as core:
        allow(tmp_path, 3000, 900)
        assert limits(core) == [700, 900]


def test_a_limit_that_contradicts_a_mark_in_characters_is_not_taken_over(tmp_path: Path) -> None:
    marks = {"MEMORYCORE_TARGET_RATIO": "1000", "MEMORYCORE_SOFT_THRESHOLD": "0.5"}
    with opened(tmp_path, MEMORYCORE_CHAR_LIMIT_USER="2200", **marks) as core:
        allow(tmp_path, 1500)
        assert limits(core)[0] == 2200
        allow(tmp_path, 3000)
        assert limits(core)[0] == 3000


def test_a_daemon_notices_a_change_from_before_its_first_call(tmp_path: Path) -> None:
    (tmp_path / ".hermes" / "memories").mkdir(parents=True)
    allow(tmp_path, 2200)
    with service(tmp_path) as daemon:
        allow(tmp_path, 3000)
        assert daemon.answer("status")["usage"]["hot"][0]["limit"] == 3000
        allow(tmp_path, 1200)
        daemon.answer("prefetch", query="Which hinge of the gate was oiled?", session_id="s")
        wait_for(lambda: daemon.answer("usage")["hot"][0]["limit"] == 1200)
