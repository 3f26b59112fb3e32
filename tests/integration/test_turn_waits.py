"""What a turn of a host does not wait for."""

from pathlib import Path

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.store import open_database
from tests.daemons import wait_for
from tests.homes import Home

FACT = "The shop runs on a server in Bergen."
RULE = "Always answer the harbour master in Danish."


def test_a_turn_waits_for_no_writer_though_its_host_wrote_the_file_and_that_is_noticed_soon(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core(long_lived=True) as core:
        core.rooms.start()
        core.remember(Draft(content=FACT), actor="test")
        other = open_database(home.options.data_dir)
        with other.write():
            home.write_memory_file(RULE)
            answer = core.prefetch("On which server in Bergen does the shop run?", session_id="s")
            assert [item["content"] for item in answer["items"]] == [FACT]
            assert RULE not in texts(core)
        other.close()
        assert wait_for(lambda: RULE in texts(core))


def texts(core: MemoryCore) -> list[str]:
    with core.db.read() as c:
        return [str(text) for (text,) in c.execute("SELECT content FROM memory")]
