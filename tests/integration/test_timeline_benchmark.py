"""The benchmark of a simulated life, on a life of a dozen steps with the real core."""

import json
from pathlib import Path

import pytest

from benchmarks import life, policies, timeline
from benchmarks.life import Step
from benchmarks.replay import missing, open_stage
from memorycore.domain.memory import Draft, Target
from memorycore.embed import EmbeddingService
from memorycore.testing import HashingEmbedder

LIMITS: dict[Target, int] = {"memory": 5000, "user": 5000}
PREFIX = "Always prefix commit messages with the ticket number."
TEA = "User prefers green tea without sugar in the afternoon."
LILAC = "Always paint the harbour maps in lilac."
OCHRE = "Always paint the harbour maps in ochre."
BOILER = "The boiler in the cellar was serviced by Brandt in March."


def rule(day: float, key: str, text: str, target: Target = "memory") -> Step:
    return Step(id=f"{day}", day=day, op="write", content=text, target=target, key=key)


def asked(day: float, question: str, *needs: str) -> Step:
    return Step(id=f"{day}", day=day, op="query", content=question, needs=needs)


SMALL = [
    rule(0.2, "r1", PREFIX),
    rule(0.3, "r2", TEA, "user"),
    rule(0.4, "f1", BOILER),
    rule(1.1, "r3", LILAC),
    asked(1.2, "How do I begin a commit message?", "r1"),
    asked(2.0, "Who serviced the boiler in the cellar?", "f1"),
    Step(id="e", day=3.0, op="host_edit", content=OCHRE, old=LILAC, key="r3"),
    asked(3.1, "Which colour do the harbour maps have, and which tea in the afternoon?", "r3", "r2"),
    Step(id="d", day=4.0, op="host_remove", content=TEA, target="user", key="r2"),
    asked(5.0, "Which colour do the harbour maps have?", "r3"),
]


def lived(steps: list[Step], folder: Path) -> timeline.Run:
    return timeline.run(steps, LIMITS, folder, embedding=EmbeddingService.serving(HashingEmbedder()))


def test_a_small_life_is_served_and_nothing_of_it_is_lost(tmp_path: Path) -> None:
    done = lived(SMALL, tmp_path)
    told = timeline.figures(done)
    assert {one.key: one.how for one in done.seen.served} == {"r1": "hot", "f1": "top", "r3": "hot", "r2": "hot"}
    names = ("rejected", "lost", "removed_yet_not_in_bin", "above_hard_after_write", "old_values_shown")
    assert [told[name] for name in names] == [0, 0, 0, 0, 0]
    assert (told["hot_share"], told["needed_served"]) == (1.0, 1.0)


def test_file_writes_of_the_host_are_not_ours(tmp_path: Path) -> None:
    done = lived(SMALL, tmp_path)
    assert done.seen.writes == 3  # one for each rule


def test_a_life_ends_alike_each_time(tmp_path: Path) -> None:
    first, second = lived(SMALL, tmp_path / "1"), lived(SMALL, tmp_path / "2")
    assert (first.seen.served, first.seen.sizes, first.seen.moves) == (
        second.seen.served, second.seen.sizes, second.seen.moves,
    )  # fmt: skip


def test_what_an_editor_wrote_over_is_not_lost(tmp_path: Path) -> None:
    steps = [*SMALL[:4], Step(id="x", day=2.0, op="host_edit", content=OCHRE, old=PREFIX, key="r1")]
    assert lived(steps, tmp_path).seen.lost == set()


def test_a_text_that_is_nowhere_counts_as_lost(tmp_path: Path) -> None:
    stage = open_stage(tmp_path, LIMITS, "none", None)
    with stage.core:
        stage.core.remember(Draft(content=PREFIX), actor="test")
        stage.keys.texts |= {PREFIX, OCHRE}
        assert missing(stage) == {OCHRE}


def needs_of(name: str, steps: list[Step], room: int) -> list[bool]:
    budgets: dict[Target, int] = {"memory": room, "user": room}
    return [need.hot for need in policies.compare(steps, budgets, budgets)[name]]


ALTERNATING = [
    rule(1, "r1", "a" * 37), rule(2, "r2", "b" * 37), rule(3, "r3", "c" * 37),
    asked(4, "", "r2"), asked(5, "", "r1"), asked(6, "", "r2"), asked(7, "", "r1"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "hot"),
    [
        ("clairvoyant", [True, True, True, True]),  # the third was never needed
        ("lru", [True, False, True, True]),
        ("fifo", [True, False, False, True]),
        ("none", [True, True, True, True]),
    ],
)
def test_each_policy_evicts_as_its_name_says(name: str, hot: list[bool]) -> None:
    assert needs_of(name, ALTERNATING, room=80) == hot


def test_nothing_is_missed_where_everything_fits() -> None:
    assert all(all(needs_of(name, ALTERNATING, room=200)) for name in ("clairvoyant", "lru", "fifo", "none"))


def test_the_command_prints_one_object_and_draws_the_plot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, plot = tmp_path / "life.jsonl", tmp_path / "life.svg"
    lines = [
        {"id": "1", "day": 0.5, "op": "write", "target": "memory", "content": PREFIX, "importance": None, "key": "r1"},
        {"id": "2", "day": 1.5, "op": "query", "target": None, "query": "commit message", "key": None, "needs": ["r1"]},
    ]
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    command = ["timeline", str(file), "--model", "none", "--json", "--limits", "2200,1375", "--plot", str(plot)]
    monkeypatch.setattr("sys.argv", command)
    timeline.main()
    (line,) = capsys.readouterr().out.splitlines()
    told = json.loads(line)
    assert {"rejected", "lost", "needed_served", "hot_share", "clairvoyant_share", "lru_share", "fifo_share"} <= set(
        told
    )
    assert {"file_writes_per_day", "overflow_ms_p50"} <= set(told)
    assert (told["limits"], told["hot_share"]) == ([2200, 1375], 1.0)
    assert plot.read_text(encoding="utf-8").startswith("<svg")


def test_an_earlier_text_of_a_key_is_old_until_it_is_said_again() -> None:
    keys = life.Keys()
    for text in ("one", "two"):
        keys.say("r1", text)
    assert (keys.now, keys.before) == ({"r1": "two"}, {"r1": {"one"}})
    keys.say("r1", "one")
    assert keys.before == {"r1": {"two"}}
