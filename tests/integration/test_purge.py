"""What was in the bin for its time goes for good, and not a day earlier."""

from pathlib import Path

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.errors import NotFound
from memorycore.transfer import from_line
from tests.homes import Home
from tests.raw import tables_with

FACT = "The archive key lies with Ms Okafor on the second floor."
STATUS = "Tests are green again, done."


def purged(core: MemoryCore, *, dry_run: bool = False) -> object:
    return core.maintain(["purge"], dry_run=dry_run)["steps"][0]["purged"]


def store(core: MemoryCore, text: str) -> str:
    return core.remember(Draft(content=text), actor="test").get("id", "")


def test_nothing_is_purged_before_its_thirty_days_are_over(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        memory_id = store(core, FACT)
        core.forget(memory_id, actor="test")
        for _ in range(30):
            core.maintain()
            home.clock.forward(days=1)
        assert purged(core) == 0
        core.restore(memory_id, actor="test")
        core.forget(memory_id, actor="test")
        home.clock.forward(days=29)
        assert purged(core) == 0, "the time begins anew"
        home.clock.forward(days=1, seconds=1)
        assert (purged(core, dry_run=True), purged(core), purged(core)) == (1, 1, 0)
        assert core.inspect(memory_id)["state"] == "purged"
        assert [event["action"] for event in core.inspect(memory_id)["events"]] == ["purged"]
        with pytest.raises(NotFound):
            core.restore(memory_id, actor="test")
    assert tables_with(home.options.data_dir / "memorycore.db", "Okafor") == []


@pytest.mark.parametrize("leap", [{"days": 365}, {"days": 45}])
def test_by_itself_nothing_goes_that_status_had_no_week_to_announce(tmp_path: Path, leap: dict[str, int]) -> None:
    """As when a clock leaps ahead, and is put right again; or when the machine was off."""
    home = Home(tmp_path)
    with home.core() as core:
        core.forget(store(core, FACT), actor="test")
        core.catch_up(budget_s=20)
        home.clock.forward(**leap)
        core.catch_up(budget_s=20)
        assert len(core.trash()["items"]) == 1
        home.clock.forward(**{unit: -number for unit, number in leap.items()})
        for _ in range(30):
            home.clock.forward(days=1)
            core.catch_up(budget_s=20)
            assert len(core.trash()["items"]) == 1, "and the leap is forgotten"
        home.clock.forward(days=1)
        core.catch_up(budget_s=20)
        assert core.trash()["items"] == []


def test_after_a_long_time_off_it_goes_a_week_later_and_at_once_where_somebody_asks(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        for text in (FACT, "The printer in room 3 was bought in Leeds."):
            core.forget(store(core, text), actor="test")
        core.catch_up(budget_s=20)
        home.clock.forward(days=45)
        for _ in range(7):
            core.catch_up(budget_s=20)
            assert core.status()["purge_due"] == 2
            home.clock.forward(days=1)
        core.catch_up(budget_s=20)
        assert core.status()["purge_due"] == 0
        core.forget(store(core, "The ferry to Mull sails at seven."), actor="test")
        home.clock.forward(days=45)
        assert purged(core) == 1


def test_what_is_in_use_or_superseded_is_never_purged(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        old = store(core, "The Quillfeather API listens on port 8443.")
        store(core, "The Quillfeather API now listens on port 9443.")
        assert core.inspect(old)["state"] == "superseded"
        home.clock.forward(days=4_000)
        assert purged(core) == 0
        assert len(list(core.export())) == 2


def test_after_the_purge_an_import_brings_back_only_what_nobody_wanted_gone(tmp_path: Path) -> None:  # IL-067
    home = Home(tmp_path)
    with home.core() as core:
        forgotten = store(core, FACT)
        stale = store(core, STATUS)
        older = [from_line(line) for line in core.export()]
        core.forget(forgotten, actor="test")
        home.clock.forward(days=31)
        assert purged(core) == 2
        answers = {one.get("ref") or one.get("id"): one["status"] for one in core.remember_many(older, actor="import")}
        assert list(answers.values()) == ["refused", "stale"]
        assert stale not in answers, "its own id was given out once"
        assert core.remember(Draft(content=FACT), actor="test")["status"] == "cold_stored"
