"""Store, change, forget, bring back: what each verb answers and leaves."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memorycore.domain.memory import Draft, Source
from memorycore.errors import InvalidInput, NotFound, TooLong
from memorycore.options import BudgetOptions, CoreOptions, EmbedOptions, HotLimit
from memorycore.transfer import from_line
from tests.homes import Home, fact, rule


def stored_id(answer: object) -> str:
    return str(dict(answer)["id"])  # pyright: ignore[reportArgumentType,reportCallIssue,reportUnknownArgumentType] a TypedDict


def test_a_rule_goes_into_the_file_and_a_fact_into_the_cold_tier(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        hot, cold = core.remember(rule(1), actor="test"), core.remember(fact(1), actor="test")
    assert (hot["status"], hot["tier"], hot["route"], hot["type"]) == ("stored", "hot", "hot", "rule")
    assert (cold["status"], cold["tier"], cold["route"]) == ("cold_stored", "cold", "cold")
    assert home.entries() == [rule(1).content]


def test_a_finished_status_line_is_only_in_the_bin_and_can_be_taken_back(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        answer = core.remember(Draft(content="Bug 123 fixed."), actor="test")
        assert (answer["status"], answer["tier"], answer["route"]) == ("stale", "bin", "stale")
        assert core.remember(Draft(content="Bug 123 fixed"), actor="test").get("id") == answer.get("id")
        assert core.recall("bug 123", log=False)["results"] == []
        assert core.restore(stored_id(answer), actor="test")["status"] == "restored"
        assert core.recall("bug 123")["results"][0]["id"] == answer.get("id")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The printer is in room 4.", "the printer is in  room 4"),
        ("设备清单在书房。", "設備清單在書房"),
        ("会议室ＡＢＣ１２３在三楼", "会议室abc123在三楼"),
    ],
)
def test_an_equal_text_is_one_memory_that_keeps_all_references(tmp_path: Path, first: str, second: str) -> None:
    with Home(tmp_path).core() as core:
        one = core.remember(Draft(content=first, ref="a"), actor="test")
        other = core.remember(Draft(content=second, ref="b"), actor="test")
        assert other["status"] == "cold_duplicate"
        assert other.get("id") == one.get("id")
        found = core.recall(first)["results"]
        assert [(hit["content"], hit.get("refs")) for hit in found] == [(first, ["a", "b"])]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The database port is 5432.", "The database port is 5433."),
        ("Recommendation SR-2023-052 is closed by Ann.", "Recommendation SR-2023-053 is closed by Ann."),  # IL-131
        ("用户不吃香菜，点菜时注意。", "用户不吃香葱，点菜时注意。"),
    ],
)
def test_texts_that_differ_in_one_sign_are_two_memories(tmp_path: Path, first: str, second: str) -> None:
    with Home(tmp_path).core() as core:
        one, other = (core.remember(Draft(content=text), actor="test") for text in (first, second))
        assert one.get("id") != other.get("id")
        assert core.usage()["cold"]["total"] + sum(hot["entries"] for hot in core.usage()["hot"]) == 2


def test_a_full_file_that_may_not_make_room_sends_new_text_cold_and_says_so(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.options = replace(small_file(tmp_path, 200), budget=BudgetOptions(enabled=False))
    with home.core() as core:
        answers = [core.remember(rule(number), actor="test") for number in range(8)]
        statuses = [answer["status"] for answer in answers]
        assert statuses == ["stored"] * 4 + ["cold_stored_fallback"] * 4
        assert answers[-1]["reasons"][0].startswith("no_room:")
        assert core.remember(rule(7), actor="test")["status"] == "cold_duplicate"
        assert {hit["content"] for hit in core.recall("check number", top_k=10)["results"]} == {
            rule(number).content for number in range(8)
        }


def small_file(root: Path, limit: int) -> CoreOptions:
    return CoreOptions(
        hot_dir=root / "memories", data_dir=root / "data", embed=EmbedOptions(model="none"),
        hot_limits={"memory": HotLimit(chars=limit), "user": HotLimit(chars=limit)},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Always keep this shape:\n§\nin every letter.", "delimiter_line"),  # IL-001
        ("Never use a carriage\r\nreturn in a letter.", "carriage_return"),
        ("Always write " + "very " * 300 + "long letters.", "over_quarter"),
        ("Do not ever tell the user's neighbours when he travels.", "scanner"),
    ],
)
def test_what_cannot_be_hot_goes_cold_unchanged_with_the_reason(tmp_path: Path, text: str, code: str) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        answer = core.remember(Draft(content=text, importance=0.9), actor="test")
        assert answer["status"] == "cold_stored"
        assert any(reason.startswith(f"{code}:") for reason in answer["reasons"]), answer["reasons"]
        assert core.inspect(stored_id(answer))["content"] == text
        assert home.entries() == []


def test_a_section_sign_inside_a_sentence_is_text(tmp_path: Path) -> None:  # IL-002
    home = Home(tmp_path)
    texts = ["Always cite clause § 12 of the lease.", "§2º, art. 9 must always be quoted in full."]
    with home.core() as core:
        for text in texts:
            core.remember(Draft(content=text, importance=0.9, target="memory"), actor="test")
    assert home.entries() == texts


@pytest.mark.parametrize("content", ["", "  \n ", "\x00"])
def test_a_text_without_content_is_refused(tmp_path: Path, content: str) -> None:
    with Home(tmp_path).core() as core, pytest.raises(InvalidInput):
        core.remember(Draft(content=content), actor="test")


def test_a_text_that_is_too_long_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TooLong):
        Draft(content="x" * 70_000)


def test_a_broken_character_is_replaced_and_named(tmp_path: Path) -> None:  # IL-076
    with Home(tmp_path).core() as core:
        answer = core.remember(Draft(content="The cat \ud83d sat in room 9."), actor="test")
        assert answer["reasons"][0].startswith("invalid_characters:")
        assert core.inspect(stored_id(answer))["content"] == "The cat \ufffd sat in room 9."


def test_a_forgotten_text_can_be_stored_again(tmp_path: Path) -> None:  # IL-068, IL-063
    with Home(tmp_path).core(vectors=True) as core:
        first = core.remember(fact(1), actor="test")
        core.forget(stored_id(first), actor="test")
        assert core.recall("printer room 1")["results"] == []
        second = core.remember(fact(1), actor="test")
        assert second["status"] == "cold_stored"
        assert [hit["id"] for hit in core.recall("printer room 1")["results"]] == [second.get("id")]
        check = core.maintain(["integrity"])["steps"][0]
        assert (check["texts_without_row"], check["dead_vectors"]) == (0, 0)


def test_forget_by_words_removes_nothing_unless_they_are_the_whole_text(tmp_path: Path) -> None:  # IL-028
    with Home(tmp_path).core() as core:
        short = core.remember(Draft(content="test"), actor="test")
        core.remember(Draft(content="The nightly test run passes on the heron host."), actor="test")
        candidates = core.forget("nightly test", actor="test")
        assert candidates["status"] == "candidates"
        assert core.trash()["items"] == []
        assert core.forget("test", actor="test").get("id") == short.get("id")


def test_a_dry_run_of_forget_changes_nothing(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        answer = core.remember(fact(1), actor="test")
        assert core.forget(stored_id(answer), actor="test", dry_run=True).get("dry_run") is True
        assert core.trash()["items"] == []


def test_a_forgotten_hot_entry_leaves_the_file_and_comes_back_into_it(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        ids = [stored_id(core.remember(rule(number), actor="test")) for number in range(3)]
        gone = core.forget(ids[1], actor="test")
        assert (gone["status"], gone.get("tier"), gone.get("until")) == ("trashed", "bin", "2026-04-01")
        assert home.entries() == [rule(0).content, rule(2).content]
        assert core.restore(ids[1], actor="test").get("tier") == "hot"
        assert home.entries() == [rule(0).content, rule(2).content, rule(1).content]


def test_a_new_wording_keeps_the_id_and_the_old_text(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        memory_id = stored_id(core.remember(rule(1), actor="test"))
        home.clock.forward(hours=1)
        changed = core.update(memory_id, content="Always run check number 1 twice.", actor="test")
        assert (changed.get("before"), changed.get("after")) == (rule(1).content, "Always run check number 1 twice.")
        assert home.entries() == ["Always run check number 1 twice."]
        story = core.inspect(memory_id)
        assert [revision["content"] for revision in story["revisions"]] == [rule(1).content]
        assert [event["action"] for event in story["events"]] == ["added", "moved", "revised"]
        assert core.recall("twice")["results"][0]["id"] == memory_id


def test_an_update_to_a_known_text_is_refused_with_its_id(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        one, other = (stored_id(core.remember(fact(number), actor="test")) for number in (1, 2))
        with pytest.raises(InvalidInput) as refused:
            core.update(other, content=fact(1).content, actor="test")
        assert refused.value.facts["id"] == one


def test_an_entry_over_the_limit_may_become_shorter(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.options = small_file(tmp_path, 400)
    with home.core() as core:
        ids = [stored_id(core.remember(rule(number), actor="test")) for number in range(8)]
    home.options = small_file(tmp_path, 200)
    with home.core() as core:
        core.update(ids[0], content="Always run check 0.", actor="test")
        assert home.entries()[0] == "Always run check 0."
        with pytest.raises(InvalidInput):
            core.update(ids[1], content=rule(1).content + " And after it, too.", actor="test")


@pytest.mark.parametrize("verb", ["inspect", "restore", "update"])
def test_an_unknown_id_is_named(tmp_path: Path, verb: str) -> None:
    with Home(tmp_path).core() as core, pytest.raises(NotFound) as missing:
        if verb == "inspect":
            core.inspect("nobody")
        elif verb == "restore":
            core.restore("nobody", actor="test")
        else:
            core.update("nobody", content="x", actor="test")
    assert missing.value.facts["id"] == "nobody"


def test_a_memory_of_one_session_is_never_hot_and_ends_after_two_weeks(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        draft = Draft(content="Always use the blue template.", importance=0.9, scope="session", session_id="s1")
        answer = core.remember(draft, actor="test")
        assert answer["tier"] == "cold"
        assert core.inspect(stored_id(answer))["fields"]["valid_until"] == "2026-03-16T09:00:00Z"


def test_a_batch_answers_in_order_and_writes_the_file_once(tmp_path: Path) -> None:
    home = Home(tmp_path)
    drafts = [rule(1), fact(1), rule(2), fact(1), Draft(content="Bug 9 fixed."), rule(3)]
    with home.core() as core:
        statuses = [answer["status"] for answer in core.remember_many(drafts, actor="test")]
        assert statuses == ["stored", "cold_stored", "stored", "cold_duplicate", "stale", "stored"]
        assert home.entries() == [rule(number).content for number in (1, 2, 3)]
        again = [answer["status"] for answer in core.remember_many(drafts, actor="test")]
        assert again == ["duplicate", "cold_duplicate", "duplicate", "cold_duplicate", "stale", "duplicate"]


def test_an_export_comes_back_complete_into_an_empty_store(tmp_path: Path) -> None:  # IL-220, IL-221
    home = Home(tmp_path / "one")
    with home.core() as core:
        core.remember(rule(1), actor="test")
        pinned = stored_id(core.remember(Draft(content="Always greet in French.", ref="r1"), actor="test"))
        core.update(pinned, pinned=True, importance=0.7, actor="test")
        core.remember(
            Draft(
                content="The lease of room 4 ends in June.", tags=("lease", "room"), ref="r2", author="Ann",
                session_id="s1", occurred_at=datetime(2026, 1, 5, tzinfo=UTC),
                valid_until=datetime(2026, 6, 30, tzinfo=UTC), source=Source(uri="lease.pdf", locator="p. 2"),
            ),
            actor="test",
        )  # fmt: skip
        gone = stored_id(core.remember(fact(2), actor="test"))
        core.forget(gone, actor="test")
        exported = list(core.export())
    other = Home(tmp_path / "two")
    other.clock.now += timedelta(days=3)
    with other.core() as core:
        list(core.remember_many((from_line(line) for line in exported), actor="test"))
        assert [dict(line) for line in core.export()] == exported
        assert other.entries() == home.entries()
        repeated = [answer["status"] for answer in core.remember_many(map(from_line, exported), actor="test")]
        assert "stored" not in repeated
        assert "cold_stored" not in repeated
        assert len(list(core.export())) == len(exported)


def test_two_hot_folders_on_one_store_are_never_mixed(tmp_path: Path) -> None:
    one, other = Home(tmp_path / "one"), Home(tmp_path / "two")
    shared = tmp_path / "data"
    for home, name in ((one, "one"), (other, "two")):
        home.options = CoreOptions(
            hot_dir=home.root / "memories", data_dir=shared, namespace=name, embed=EmbedOptions(model="none")
        )
    with one.core() as first, other.core() as second:
        first.remember(rule(1), actor="test")
        second.remember(rule(2), actor="test")
        assert [hit["content"] for hit in first.recall("check number")["results"]] == [rule(1).content]
        assert (one.entries(), other.entries()) == ([rule(1).content], [rule(2).content])


def test_a_moved_home_keeps_its_memories(tmp_path: Path) -> None:
    home = Home(tmp_path / "old")
    with home.core() as core:
        memory_id = stored_id(core.remember(rule(1), actor="test"))
    (tmp_path / "old").rename(tmp_path / "new")
    with Home(tmp_path / "new").core() as core:
        assert [row["id"] for row in core.audit("memory")["targets"][0]["rows"]] == [memory_id]


def test_a_text_that_was_held_back_goes_into_the_file_when_it_is_said_again_and_fits(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.options = replace(small_file(tmp_path, 200), budget=BudgetOptions(enabled=False))
    with home.core() as core:
        first, *_, held = [core.remember(rule(number), actor="test") for number in range(5)]
        assert held["status"] == "cold_stored_fallback"
        assert core.remember(rule(4), actor="test")["status"] == "cold_duplicate"
        core.forget(stored_id(first), actor="test")
        again = list(core.remember_many([rule(4), rule(4)], actor="test"))
        assert [answer["status"] for answer in again] == ["stored", "cold_duplicate"]
        assert home.entries() == [rule(number).content for number in (1, 2, 3, 4)]
        assert core.status()["problems"] == []
