"""The client of a cold store elsewhere, against foreign services: whatever they answer, nothing is taken for a yes."""

from collections.abc import Generator
from typing import Any

import pytest

from memorycore.cold.remote import PAGE, RemoteColdStore
from memorycore.errors import NotFound, RemoteRefused, RemoteUnreachable
from tests.cold_services import Foreign, foreign
from tests.loopback import HEAD_ONLY, Answer, Served, dripping, serving

LONG = "The attic inventory lists: " + ", ".join(f"box {number} with jars" for number in range(60))


@pytest.fixture(scope="module", params=["literal", "predecessor"])
def service(request: pytest.FixtureRequest) -> Generator[Foreign]:
    with foreign(request.param) as running:
        yield running


@pytest.fixture
def cold(service: Foreign) -> Generator[RemoteColdStore]:
    service.set(slow_s=0, status=200, loses=0, says="", refuses=False, key="")
    store = RemoteColdStore(service.url, timeout_s=1)
    yield store
    store.close()


def test_a_text_goes_there_and_back(cold: RemoteColdStore) -> None:
    memory_id = cold.remember("The kiln in the shed reaches 1280 degrees.")
    (hit,) = cold.recall("kiln shed", top_k=1)
    assert (hit.id, hit.content, hit.cut) == (memory_id, "The kiln in the shed reaches 1280 degrees.", False)
    cold.update(memory_id, "The kiln in the shed reaches 1300 degrees.")
    assert cold.recall("kiln shed", top_k=1)[0].content.endswith("1300 degrees.")
    cold.forget(memory_id)
    assert all(one.id != memory_id for one in cold.recall("kiln shed"))


def test_a_text_that_was_cut_is_known_to_be_and_still_the_right_one(service: Foreign, cold: RemoteColdStore) -> None:
    memory_id = cold.remember(LONG)
    cold.remember(LONG.replace("box 59", "box 60"))
    assert cold.recall("attic inventory")[0].cut == (len(cold.recall("attic inventory")[0].content) < len(LONG))
    assert cold.find(LONG) == [memory_id]
    assert cold.holds(memory_id, LONG)
    assert LONG in service.texts()


def test_a_session_that_was_lost_is_begun_anew(service: Foreign, cold: RemoteColdStore) -> None:
    cold.stats()
    service.set(forget_sessions=True)
    before = len(service.texts())
    cold.remember("The ferry leaves from quay three.")
    assert len(service.texts()) == before + 1


def test_an_unknown_id_is_not_found(cold: RemoteColdStore) -> None:
    with pytest.raises(NotFound):
        cold.update("nobody", "x")
    with pytest.raises(NotFound):
        cold.forget("nobody")


def test_a_refusal_is_one_in_either_style(service: Foreign, cold: RemoteColdStore) -> None:
    service.set(refuses=True)
    with pytest.raises(RemoteRefused):
        cold.remember("The ferry leaves from quay three.")


@pytest.mark.parametrize(
    "said", ["<html>busy</html>", "{}", "None", "[]", '"ok"', '{"results": "none"}', "{'status': ", "[1, 2", "stored"]
)
def test_an_answer_that_nobody_understands_is_no_yes(service: Foreign, cold: RemoteColdStore, said: str) -> None:
    service.set(says=said)
    for call in (lambda: cold.remember("x y z"), lambda: cold.update("a", "x"), lambda: cold.forget("a"), cold.stats):
        with pytest.raises(RemoteUnreachable, match="bad_answer"):
            call()


@pytest.mark.parametrize(
    ("mood", "why", "sent"),
    [
        ({"status": 503}, "server_error", True),
        ({"status": 429}, "overloaded", False),
        ({"status": 404}, "no_service_there", False),
        ({"key": "other"}, "unauthorised_there", False),
        ({"slow_s": 2.5}, "timeout", True),
        ({"loses": 1}, "broken_off", True),
    ],
)
def test_a_failure_says_what_it_was_and_whether_the_call_may_have_been_done(
    service: Foreign, cold: RemoteColdStore, mood: dict[str, Any], why: str, *, sent: bool
) -> None:
    cold.stats()
    service.set(**mood)
    with pytest.raises(RemoteUnreachable) as failure:
        cold.remember("The ferry leaves from quay three.")
    assert failure.value.facts["why"] == why
    assert failure.value.facts["sent"] == sent
    assert failure.value.retryable


def test_a_key_is_sent_and_never_shown(service: Foreign, cold: RemoteColdStore) -> None:
    service.set(key="k-7391")
    keyed = RemoteColdStore(service.url, key="k-7391", timeout_s=2)
    assert keyed.stats().total >= 0
    with pytest.raises(RemoteUnreachable) as failure:
        cold.stats()
    assert "7391" not in str(failure.value)
    keyed.close()


def test_nobody_at_the_address_means_that_nothing_was_sent() -> None:
    cold = RemoteColdStore("http://127.0.0.1:9/mcp", timeout_s=2)
    with pytest.raises(RemoteUnreachable) as failure:
        cold.remember("The ferry leaves from quay three.")
    assert failure.value.facts["why"] == "unreachable"
    assert not failure.value.facts["sent"]


def test_a_service_whose_answer_comes_letter_by_letter_is_not_waited_for() -> None:
    """Not even while that is the head, each letter of which comes in time."""
    with dripping(*HEAD_ONLY) as url:
        cold = RemoteColdStore(f"{url}/mcp", timeout_s=0.3)
        with pytest.raises(RemoteUnreachable, match="timeout"):
            cold.recall("kiln")
        cold.close()


def test_a_service_that_gives_the_same_page_for_ever_is_listed_once() -> None:
    page = [{"id": str(number), "content": f"Jar {number}"} for number in range(PAGE)]

    def answer(asked: dict[str, Any]) -> Answer:
        results: dict[str, Any] = {
            "tools/list": {"tools": [{"name": "list"}]},
            "tools/call": {"structuredContent": {"results": page}},
        }
        return Answer(body={"jsonrpc": "2.0", "id": asked.get("id"), "result": results.get(asked["method"], {})})

    served = Served(answer=answer)
    with serving(served):
        cold = RemoteColdStore(served.url, timeout_s=5)
        assert [hit.id for hit in cold.everything()] == [one["id"] for one in page]
        cold.close()
    assert sum(asked["method"] == "tools/call" for asked in served.requests) == 2
