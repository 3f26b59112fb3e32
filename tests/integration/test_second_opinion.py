"""Verdicts that come later, from a language model or with a vector: drawn once, undone for good, never twice."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.store import vectors
from tests.homes import Home
from tests.llm_stub import always, stub

FULL, SHORT = "The colour of the logo is green.", "The logo is green."  # the rules leave this pair open
AFTERWARDS = {
    "same": {FULL: "active", SHORT: "trashed"},
    "refines": {FULL: "superseded", SHORT: "active"},
    "supersedes": {FULL: "superseded", SHORT: "active"},
    "disputes": {FULL: "active", SHORT: "active"},
}


def draft(text: str, *, hot: bool) -> Draft:
    return Draft(content=text, target="memory", importance=0.95) if hot else Draft(content=text)


def states(core: MemoryCore) -> dict[str, str]:
    return {str(line["content"]): str(line["state"]) for line in core.export()}


def everything(core: MemoryCore) -> str:
    """Rows without their counters, and the edges."""
    counted = {"use_count", "last_used_at", "confidence"}
    lines = [{name: value for name, value in line.items() if name not in counted} for line in core.export()]
    with core.db.read() as c:
        joined = [tuple(row) for row in c.execute("SELECT src, dst, relation, status FROM edge ORDER BY id")]
    return json.dumps([lines, joined], sort_keys=True, default=str)


@pytest.mark.parametrize("hot", [False, True], ids=["cold", "hot"])
@pytest.mark.parametrize("relation", AFTERWARDS)
def test_what_a_model_says_is_done_once_and_undone_for_good(tmp_path: Path, relation: str, *, hot: bool) -> None:
    home = Home(tmp_path)
    with stub(always(relation)) as served:
        home.options = replace(home.options, llm=served.options())
        with home.core(long_lived=True) as core:
            for text in (FULL, SHORT):
                core.remember(draft(text, hot=hot), actor="test")
            before = set(home.entries())
            assert core.rooms.later(core.rooms)
            assert states(core) == AFTERWARDS[relation]
            assert set(home.entries()) == {text for text in before if AFTERWARDS[relation][text] == "active"}
            asked, now = len(served.requests), everything(core)
            for text in (FULL, SHORT):
                if AFTERWARDS[relation][text] != "superseded":  # said again, they are what they were
                    core.remember(draft(text, hot=hot), actor="test")
            core.rooms.later(core.rooms)
            assert (everything(core), len(served.requests)) == (now, asked)
            core.undo(actor="test", last=True)
            for event in core.history(limit=50)["events"]:
                if event.get("undo") and event["action"] in {"superseded", "trashed", "disputed"}:
                    core.undo(actor="test", event=event["event"])
            assert states(core) == {FULL: "active", SHORT: "active"}
            assert set(home.entries()) == before
            for text in (FULL, SHORT):
                core.remember(draft(text, hot=hot), actor="test")
            core.rooms.later(core.rooms)
            assert states(core) == {FULL: "active", SHORT: "active"}, "what was undone is not done again"


def test_a_second_look_at_what_was_judged_changes_nothing(tmp_path: Path) -> None:
    home = Home(tmp_path)
    texts = (
        "The harbour café was founded by 12 bakers.", "The harbour café was founded by 17 bakers.",
        "Always answer in English.", "From now on always answer in German, not English.",
        "This time answer in French.", "Never push to the main branch of the shop.",
        "You may now push to the main branch of the shop.",
    )  # fmt: skip
    with home.core() as core:
        for text in texts:
            core.remember(Draft(content=text), actor="test")
        before = everything(core)
    for _ in range(2):
        with home.core(vectors=True) as core:
            core.fill_vectors()
            core.rooms.later(core.rooms)
            assert everything(core) == before
            with core.db.write() as c:  # as if the process had died before it could cross it off
                for seq in range(1, len(texts) + 1):
                    vectors.queue_judgement(c, "default", seq, 0)
            core.rooms.later(core.rooms)
            assert everything(core) == before
