"""What hardly ever happens, and must not cost anything when it does: odd clocks, moved homes, two hands on one memory."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from memorycore.domain.memory import Draft
from tests.homes import Home, fact, rule


def test_the_first_and_the_last_moment_of_time_can_be_remembered(tmp_path: Path) -> None:
    last = datetime.max.replace(tzinfo=UTC)
    first = datetime.min.replace(tzinfo=UTC)
    with Home(tmp_path).core() as core:
        kept = core.remember(Draft(content="The vault stays shut.", valid_from=first, valid_until=last), actor="test")
        fields = core.inspect(kept.get("id", ""))["fields"]
        assert (fields["valid_from"], fields["valid_until"]) == ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z")
        assert [line["content"] for line in core.export()] == ["The vault stays shut."]


def test_a_clock_that_went_back_leaves_no_vector_waiting(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.clock.forward(days=400)
    with home.core() as core:
        core.remember(fact(1), actor="test")
    home.clock.forward(days=-399)
    with home.core(vectors=True) as core:
        core.embedding.wait_ready(5)
        assert core.fill_vectors().made == 1


def test_a_home_that_changes_its_namespace_is_known_there_too(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        core.remember(rule(1), actor="test")
    home.options = replace(home.options, namespace="other")
    with home.core() as core:
        home.write_memory_file(rule(1).content, rule(2).content)
        assert [found["content"] for found in core.recall("check number 1")["results"]][0] == rule(1).content
        assert [bool(row["id"]) for row in core.audit("memory")["targets"][0]["rows"]] == [True, True]
