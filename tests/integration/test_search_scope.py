"""Who may see what, and filters before ranking: the same for a living process and for one that was just started."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.search import RecallFilters, SearchRequest, search
from tests.homes import START, Home


@pytest.fixture(params=[True, False], ids=["living", "one-shot"])
def long_lived(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def put(core: MemoryCore, text: str, **fields: Any) -> str:
    return str(core.remember(Draft(content=text, importance=0.5, **fields), actor="test").get("id"))


def ids(core: MemoryCore, query: str, **filters: Any) -> set[str]:
    return {item["id"] for item in core.recall(query, filters=RecallFilters(**filters), top_k=50)["results"]}


def unasked(core: MemoryCore, query: str, session_id: str) -> set[str]:
    told = core.prefetch(query, session_id=session_id, given=[], most=5, most_chars=1_000)
    return {item["id"] for item in told["items"]}


def test_another_namespace_is_never_seen(tmp_path: Path, *, long_lived: bool) -> None:  # IL-204, IL-205
    mine, theirs = Home(tmp_path), Home(tmp_path)
    theirs.options = Home(tmp_path / "theirs").options.__class__(
        hot_dir=tmp_path / "theirs" / "memories",
        data_dir=mine.options.data_dir,
        namespace="theirs",
        embed=mine.options.embed,
    )
    with mine.core(long_lived=long_lived) as core, theirs.core() as other:
        secret = put(other, "The safe code is 4711", session_id="one")
        own = put(core, "The safe stands in the cellar", session_id="one")
        assert ids(core, "safe code 4711") == {own}
        assert ids(core, secret) == set()
        assert ids(core, '"code is 4711"') == set()
        assert unasked(core, "What is the code of the safe in the cellar?", "one") == {own}


def test_memories_of_one_session_are_seen_in_that_session_only(
    tmp_path: Path, *, long_lived: bool
) -> None:  # IL-205, IL-206
    with Home(tmp_path).core(long_lived=long_lived) as core:
        note = put(core, "Draft plan for the kitchen walls", scope="session", session_id="a")
        assert ids(core, "kitchen plan") == set()
        assert ids(core, "kitchen plan", session_id="a") == {note}
        assert ids(core, "kitchen plan", session_id="b") == set()
        request = SearchRequest(namespaces=core.namespaces, viewer_session="a")
        result = search("kitchen plan", db=core.db, embedding=None, index=None, request=request, now=START)
        assert [hit.id for hit in result.hits] == [note]
        assert unasked(core, "What is the plan for the kitchen walls?", "a") == {note}
        assert unasked(core, "What is the plan for the kitchen walls?", "b") == set()
        with pytest.raises(TypeError):
            SearchRequest()  # pyright: ignore[reportCallIssue] nobody searches without saying where


def test_what_is_not_valid_yet_or_any_more_is_not_shown(tmp_path: Path, *, long_lived: bool) -> None:
    home = Home(tmp_path)
    with home.core(long_lived=long_lived) as core:
        old = put(core, "The parking permit number is 5", valid_until=START + timedelta(days=10))
        new = put(core, "The parking permit number is 9", valid_from=START + timedelta(days=10))
        assert ids(core, "parking permit") == {old}
        home.clock.forward(days=11)
        assert ids(core, "parking permit") == {new}


def test_filters_act_before_ranking(tmp_path: Path, *, long_lived: bool) -> None:
    with Home(tmp_path).core(long_lived=long_lived) as core:
        for number in range(400):
            put(core, f"Kiln firing {number} went to cone six", kind="event")
        wanted = put(core, "Someone spoke of the kiln once", kind="insight", tags=("Pottery", "shed"), author="Mia")
        assert ids(core, "kiln firing cone six", kind="insight") == {wanted}
        assert ids(core, "kiln firing cone six", tags=("pottery",)) == {wanted}
        assert ids(core, "kiln firing cone six", author="Mia") == {wanted}
        assert ids(core, "kiln firing cone six", tags=("pottery", "absent")) == set()
        assert ids(core, "kiln firing cone six", author="Nobody") == set()


def test_dates_filter_by_when_it_happened(tmp_path: Path, *, long_lived: bool) -> None:
    with Home(tmp_path).core(long_lived=long_lived) as core:
        june = put(core, "The boiler showed error E4", occurred_at=datetime(2025, 6, 3, tzinfo=UTC))
        may = put(core, "The boiler showed error E7", occurred_at=datetime(2025, 5, 3, tzinfo=UTC))
        undated = put(core, "The boiler hangs in the cellar")
        assert ids(core, "boiler", since=datetime(2025, 6, 1, tzinfo=UTC)) == {june, undated}
        assert ids(core, "boiler", until=datetime(2025, 6, 1, tzinfo=UTC)) == {may}


def test_a_time_that_the_question_names_lifts_what_happened_then(tmp_path: Path, *, long_lived: bool) -> None:
    with Home(tmp_path).core(long_lived=long_lived) as core:
        for month in (3, 4, 5, 6):
            put(core, f"We had a picnic at lake {month}", occurred_at=datetime(2025, month, 9, tzinfo=UTC))
        assert core.recall("Which picnic was in May 2025?")["results"][0]["content"].endswith("lake 5")
        assert core.recall("四月的 picnic 在哪里")["results"][0]["content"].endswith("lake 4")


def test_the_tier_filter_follows_the_files(tmp_path: Path, *, long_lived: bool) -> None:
    with Home(tmp_path).core(long_lived=long_lived) as core:
        hot = str(core.remember(Draft(content="Always answer in metric units."), actor="test").get("id"))
        cold = put(core, "The old scales show imperial units")
        assert ids(core, "units", tier="hot") == {hot}
        assert ids(core, "units", tier="cold") == {cold}
        assert ids(core, "units") == {hot, cold}


def test_a_living_process_sees_what_others_change(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core(long_lived=True) as living, home.core() as other:
        assert ids(living, "the gate") == set()
        gate = put(other, "The gate code is 12")
        assert ids(living, "the gate") == {gate}
        other.update(gate, content="The gate is open all day", actor="test")
        assert living.recall("gate code")["results"][0]["content"] == "The gate is open all day"
        other.forget(gate, actor="test")
        assert ids(living, "the gate") == set()
        put(other, "A gate for the goats")
        other.restore(gate, actor="test")
        assert gate in ids(living, "the gate")
