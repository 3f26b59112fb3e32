"""Work for later: who takes it, how it is tried again, and what becomes of it."""

from collections.abc import Generator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from memorycore.options import EmbedOptions
from memorycore.store import Database, jobs, open_database
from memorycore.store.jobs import Job, Retry
from tests.homes import START, Home, fact

KIND = "errand"
RETRY = Retry(first=timedelta(seconds=10), times=3, most=3)


@pytest.fixture
def db(tmp_path: Path) -> Generator[Database]:
    opened = open_database(tmp_path)
    yield opened
    opened.close()


def put(db: Database, subject: str, *, priority: int = jobs.USUAL) -> None:
    with db.write() as c:
        jobs.put(c, KIND, "default", subject, START, priority=priority)


def claim(db: Database, *, after_s: float = 0, most: int = 10) -> list[Job]:
    with db.write() as c:
        return jobs.claim(c, (KIND,), START + timedelta(seconds=after_s), lease_s=60, most=most)


def test_the_urgent_goes_first_and_nobody_gets_what_another_has(db: Database) -> None:
    put(db, "usual")
    put(db, "late", priority=jobs.LATE)
    put(db, "first", priority=jobs.FIRST)
    assert [job.subject for job in claim(db, most=2)] == ["first", "usual"]
    assert [job.subject for job in claim(db)] == ["late"]
    assert claim(db) == []
    assert len(claim(db, after_s=61)) == 3


def test_who_was_paused_too_long_ends_nothing_that_another_has_begun(db: Database) -> None:
    put(db, "one")
    (slow,) = claim(db)
    (quick,) = claim(db, after_s=61)
    with db.write() as c:
        assert not jobs.done(c, slow)
        assert jobs.is_held(c, quick)
        assert jobs.done(c, quick)


def test_what_is_asked_for_again_meanwhile_is_done_again(db: Database) -> None:
    put(db, "one")
    (job,) = claim(db)
    put(db, "one")
    with db.write() as c:
        assert not jobs.done(c, job)
    assert len(claim(db)) == 1


def test_failures_are_tried_again_with_growing_pauses_then_given_up_and_revived(db: Database) -> None:
    put(db, "one")
    at = 0.0
    for pause_s in (10, 30):
        (job,) = claim(db, after_s=at)
        with db.write() as c:
            assert not jobs.failed(c, job, START + timedelta(seconds=at), error="bad_answer", retry=RETRY)
        assert claim(db, after_s=at + pause_s - 1) == []
        at += pause_s
    (job,) = claim(db, after_s=at)
    with db.write() as c:
        assert jobs.failed(c, job, START + timedelta(seconds=at), error="bad_answer", retry=RETRY)
        assert jobs.counts(c, ["default"])[KIND] == jobs.Counted(waiting=0, dead=1)
        assert [(one.subject, one.error, one.attempts) for one in jobs.dead(c, ["default"])] == [
            ("one", "bad_answer", 3)
        ]
        assert jobs.revive(c, ["default"], START) == 1
    assert len(claim(db)) == 1


def test_a_clock_that_ran_ahead_keeps_no_job_waiting_for_years(db: Database) -> None:
    with db.write() as c:
        jobs.put(c, KIND, "default", "one", START + timedelta(days=900))
    assert [job.subject for job in claim(db)] == ["one"]


def test_status_names_given_up_work_and_maintain_takes_it_up_again(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        with core.db.write() as c:
            jobs.put(c, "verdict", "default", "a b", home.clock())
            (job,) = jobs.claim(c, ("verdict",), home.clock(), lease_s=60, most=1)
            jobs.failed(c, job, home.clock(), error="refused", retry=replace(RETRY, most=1))
        told = core.status()
        assert told["upkeep"]["jobs"]["verdict"] == {"waiting": 0, "dead": 1}
        assert any("memorycore maintain --retry" in problem for problem in told["problems"])
        assert core.retry_given_up() == 1
        assert core.status()["upkeep"]["jobs"]["verdict"] == {"waiting": 1, "dead": 0}


def test_jobs_go_with_their_memory(tmp_path: Path) -> None:  # IL-063
    home = Home(tmp_path)
    home.options = replace(home.options, embed=EmbedOptions(model="away", url="http://127.0.0.1:9/v1"))
    with home.core() as core:
        stored = core.remember(fact(1), actor="test")
        core.erase(str(stored.get("id")), actor="test")
        assert core.status()["upkeep"]["jobs"] == {}
