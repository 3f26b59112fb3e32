"""The cold tier with copies at a foreign service that is away, slow, half dead or wrong: nothing is lost or doubled."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from memorycore.answers_remote import RemoteUsage
from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.errors import InvalidInput, NotAvailable, NotFound, RemoteUnreachable
from memorycore.options import RemoteOptions
from memorycore.outbound import read_address
from tests.cold_services import Foreign, foreign
from tests.homes import Home, fact, rule

KINDS = ("literal", "predecessor")


@pytest.fixture(params=KINDS)
def service(request: pytest.FixtureRequest) -> Generator[Foreign]:
    with foreign(request.param) as running:
        yield running


def home_of(root: Path, url: str, timeout_s: float = 3) -> Home:
    home = Home(root)
    home.options = replace(home.options, remote=RemoteOptions(url=url, timeout_s=timeout_s))
    return home


@contextmanager
def core_of(root: Path, service: Foreign) -> Generator[tuple[Home, MemoryCore]]:
    home = home_of(root, service.url)
    with home.core() as core:
        assert core.rooms.remote is not None
        core.rooms.remote.warm()  # on a busy machine the first handshake may take longer than a change waits
        yield home, core


def store(core: MemoryCore, draft: Draft) -> tuple[str, bool]:
    """The id, and whether the service does not know it yet."""
    answer = core.remember(draft, actor="test")
    assert answer["status"] == "cold_stored"
    return answer.get("id", ""), "remote" in answer.get("pending", [])


def waiting(core: MemoryCore) -> int:
    return remote(core)["waiting"]


def remote(core: MemoryCore) -> RemoteUsage:
    found = core.usage()["cold"].get("remote")
    assert found is not None
    return found


def catch_up(home: Home, core: MemoryCore) -> None:
    home.clock.forward(hours=2)
    core.maintain(["remote"])


def test_every_change_reaches_the_copy(tmp_path: Path, service: Foreign) -> None:
    with core_of(tmp_path, service) as (_, core):
        first, late = store(core, fact(1))
        second, _ = store(core, fact(2))
        assert not late
        assert service.texts() == [fact(1).content, fact(2).content]
        core.update(first, content="The printer in room 1 was sold.", actor="test")
        core.forget(second, actor="test")
        assert service.texts() == ["The printer in room 1 was sold."]
        core.restore(second, actor="test")
        assert service.texts() == sorted(["The printer in room 1 was sold.", fact(2).content])
        core.undo(last=True, actor="test")
        assert waiting(core) == 0


def test_what_stays_here_never_goes_there(tmp_path: Path, service: Foreign) -> None:
    with core_of(tmp_path, service) as (_, core):
        core.remember(rule(1), actor="test")
        core.remember(replace(fact(1), scope="session", session_id="s"), actor="test")
        assert service.texts() == []


def test_while_it_is_away_answers_say_so_and_afterwards_nothing_is_missing(tmp_path: Path, service: Foreign) -> None:
    with core_of(tmp_path, service) as (home, core):
        gone, _ = store(core, fact(1))
        service.set(status=503)
        _, late = store(core, fact(2))
        assert late
        assert core.forget(gone, actor="test").get("pending") == ["remote"]
        calls = service.calls()
        store(core, fact(3))
        assert service.calls() == calls  # nobody knocks again and again
        told = core.usage()
        assert told["degraded"][-1] == "remote_unreachable"
        assert remote(core).get("why") == "server_error"
        assert waiting(core) == 3
        assert core.status()["level"] == "degraded"
        assert core.recall("printer room 3")["results"][0]["content"] == fact(3).content
        service.set(status=200)
        catch_up(home, core)
        assert service.texts() == [fact(2).content, fact(3).content]
        assert core.status()["level"] == "ok"


@pytest.mark.parametrize("mood", [{"loses": 1}, {"slow_s": 2.5}, {"says": "<html>"}])
def test_an_answer_that_was_lost_gives_no_second_copy(
    tmp_path: Path, service: Foreign, mood: dict[str, object]
) -> None:
    with core_of(tmp_path, service) as (home, core):
        store(core, fact(1))
        service.set(**mood)
        kept, late = store(core, fact(2))
        assert late
        service.set(loses=0, slow_s=0, says="")
        catch_up(home, core)
        assert service.texts() == [fact(1).content, fact(2).content]
        core.forget(kept, actor="test")
        assert service.texts() == [fact(1).content]


def test_a_text_whose_answer_was_lost_and_that_then_changed_is_there_once(tmp_path: Path, service: Foreign) -> None:
    with core_of(tmp_path, service) as (home, core):
        store(core, fact(1))
        service.set(loses=1)
        changed, _ = store(core, fact(2))
        gone, _ = store(core, fact(3))
        core.update(changed, content="The printer in room 2 prints on cloth.", actor="test")
        core.forget(gone, actor="test")
        service.set(loses=0)
        catch_up(home, core)
        assert service.texts() == sorted([fact(1).content, "The printer in room 2 prints on cloth."])


def test_a_long_text_is_never_written_back_shorter(tmp_path: Path, service: Foreign) -> None:
    long = "The attic inventory lists: " + ", ".join(f"box {number} with jars" for number in range(60)) + "."
    with core_of(tmp_path, service) as (home, core):
        service.set(loses=1)
        kept, _ = store(core, Draft(content=long))
        service.set(loses=0)
        catch_up(home, core)
        assert service.texts() == [long]
        core.update(kept, tags=("attic",), actor="test")
        core.update(kept, content=long + " Locked.", actor="test")
        assert service.texts() == [long + " Locked."]


def test_a_refusal_is_told_and_the_text_stays_here(tmp_path: Path, service: Foreign) -> None:
    with core_of(tmp_path, service) as (home, core):
        service.set(refuses=True)
        store(core, fact(1))
        for _ in range(8):
            catch_up(home, core)
        assert remote(core)["failed"] == 1
        assert core.recall("printer")["results"][0]["content"] == fact(1).content
        assert core.status()["level"] == "degraded"


def test_records_of_others_are_found_and_only_people_change_them(tmp_path: Path, service: Foreign) -> None:
    others = Home(tmp_path / "other")
    others.options = replace(others.options, remote=RemoteOptions(url=service.url, timeout_s=2))
    with others.core() as other:
        other.remember(Draft(content="The boiler of the mill was serviced by Ebba Lund."), actor="test")
        other.remember(Draft(content="The boiler of the barn was serviced by Tove Berg."), actor="test")
    with core_of(tmp_path / "own", service) as (_, core):
        store(core, Draft(content="The boiler of the school was serviced by Nils Holm."))
        found = core.recall("boiler serviced", top_k=5)["results"]
        assert len(found) == 3
        foreign_ids = {item["content"]: item["id"] for item in found if item["id"].startswith("remote:")}
        assert len(foreign_ids) == 2
        core.maintain()
        assert len(service.texts()) == 3
        mill = foreign_ids["The boiler of the mill was serviced by Ebba Lund."]
        with pytest.raises(InvalidInput, match="only_text"):
            core.update(mill, importance=0.9, actor="test")
        core.update(mill, content="The boiler of the mill was replaced.", actor="test")
        assert "The boiler of the mill was replaced." in service.texts()
        barn = core.forget(foreign_ids["The boiler of the barn was serviced by Tove Berg."], actor="test")
        assert len(service.texts()) == 2
        if barn.get("tier") == "bin":
            core.restore(barn.get("id", ""), actor="test")
            assert len(service.texts()) == 3
        else:
            assert barn.get("reasons", [""])[0].startswith("not_in_bin")


def test_a_record_of_others_is_shown_where_the_service_shows_single_ones(tmp_path: Path, service: Foreign) -> None:
    others = Home(tmp_path / "other")
    others.options = replace(others.options, remote=RemoteOptions(url=service.url, timeout_s=2))
    with others.core() as other:
        other.remember(Draft(content="The boiler of the mill was serviced by Ebba Lund."), actor="test")
    with core_of(tmp_path / "own", service) as (_, core):
        (found,) = core.recall("boiler serviced")["results"]
        assert core.rooms.remote is not None
        if core.rooms.remote.store.get(found["id"].removeprefix("remote:")) is None:
            with pytest.raises(NotAvailable, match="not_shown_alone"):
                core.inspect(found["id"])
        else:
            story = core.inspect(found["id"])
            assert (story["id"], story["content"]) == (found["id"], found["content"])
            assert story["fields"] == {"kept_at": read_address(service.url).host}
            assert found["id"] in story.get("note", "")


def test_a_name_of_elsewhere_is_explained_where_no_service_is_in_use(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        for ask in (core.inspect, partial(core.update, content="x", actor="test"), partial(core.forget, actor="test")):
            with pytest.raises(NotFound, match="no_service_in_use"):
                ask("remote:abc")


def test_an_erasure_names_the_copy_that_it_could_not_reach(tmp_path: Path, service: Foreign) -> None:
    with core_of(tmp_path, service) as (home, core):
        kept, _ = store(core, fact(1))
        store(core, fact(2))
        service.set(status=503)
        receipt = core.erase(kept, actor="test")
        assert receipt["status"] == "pending"
        assert [copy["store"] for copy in receipt.get("remote", [])] == [service.url]
        assert any(reason.startswith("remote_copy_left") for reason in receipt.get("reasons", []))
        service.set(status=200)
        home.clock.forward(hours=2)
        assert core.erase(kept, actor="test")["status"] == "erased"
        assert service.texts() == [fact(2).content]


def test_under_soft_pressure_an_entry_leaves_only_for_a_confirmed_copy(tmp_path: Path, service: Foreign) -> None:
    rules = [f"Always run check number {number} before release {number}. " + "x " * 180 for number in range(8)]
    with core_of(tmp_path, service) as (home, core):
        home.write_memory_file(*rules)
        core.touch()
        home.clock.forward(days=90)
        before = home.entries()
        assert 3_000 < len("\n§\n".join(before)) < 4_000
        service.set(status=503)
        answer = core.overflow("memory")
        assert home.entries() == before
        assert answer["runs"][0].get("unconfirmed", 0) > 0
        service.set(status=200)
        home.clock.forward(hours=2)
        core.overflow("memory")
        assert home.entries() != before
        assert len(service.texts()) > 0


def test_a_memory_moved_to_another_service_is_copied_there_as_a_whole(tmp_path: Path, service: Foreign) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        for number in range(20):
            core.remember(fact(number), actor="test")
    home.options = replace(home.options, remote=RemoteOptions(url=service.url, timeout_s=2))
    with home.core() as core:
        core.maintain(["remote"])
        assert len(service.texts()) == 20
    with foreign("literal") as another:
        home.options = replace(home.options, remote=RemoteOptions(url=another.url, timeout_s=2))
        with home.core() as core:
            core.maintain(["remote"])
        assert another.texts() == service.texts()


def test_a_record_cannot_be_named_while_the_service_is_away(tmp_path: Path, service: Foreign) -> None:
    with core_of(tmp_path, service) as (_, core):
        service.set(status=503)
        with pytest.raises(RemoteUnreachable):
            core.forget("remote:abc", actor="test")


def test_a_round_that_runs_out_of_time_goes_on_and_blames_nobody(tmp_path: Path, service: Foreign) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        for number in range(12):
            core.remember(fact(number), actor="test")
    service.set(slow_s=0.3)
    home.options = replace(home.options, remote=RemoteOptions(url=service.url, timeout_s=10))
    with home.core() as core:
        (told,) = core.maintain(["remote"], time_box_s=2.5)["steps"]
        assert told["outcome"] == "partial"
        assert told["delivered"]
        assert "down_since" not in remote(core)
        service.set(slow_s=0)
        core.maintain(["remote"])
        assert len(service.texts()) == 12


def test_an_undo_and_a_decision_say_what_the_service_does_not_know_yet(tmp_path: Path, service: Foreign) -> None:
    with core_of(tmp_path, service) as (_, core):
        store(core, fact(1))
        assert "pending" not in core.undo(last=True, actor="test")
        service.set(status=503)
        store(core, Draft(content="The backup of the mill runs at 2 o'clock."))
        core.remember(Draft(content="The backup of the mill runs at 4 o'clock."), actor="test")
        (item,) = core.review()["items"]
        assert core.decide(item["number"], "new", actor="test").get("pending") == ["remote"]
        assert core.undo(last=True, actor="test").get("pending") == ["remote"]
