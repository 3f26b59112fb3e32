"""What status says of work for later, of the steps of maintenance, and of a cold tier that grew large."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from memorycore import answers_upkeep, messages
from memorycore.domain.memory import format_time
from memorycore.govern import maintenance
from memorycore.govern.steps import capacity
from memorycore.govern.steps.table import STEPS
from memorycore.options import CoreOptions, Language
from memorycore.store import Database, first_row, jobs, step_runs
from memorycore.store.memories import moment
from memorycore.store.remote import REMOTE
from memorycore.store.vectors import EMBED

# Given-up work of these kinds has sentences of its own.
TOLD_ELSEWHERE = frozenset({EMBED, REMOTE})
UNTENDED_AFTER = timedelta(days=1)


def upkeep(db: Database, options: CoreOptions, namespaces: Sequence[str], now: datetime) -> answers_upkeep.Upkeep:
    """Jobs by kind; the step that ran last and the one that is next; steps that failed; how full the cold tier is."""
    own, care = options.namespace, options.maintenance
    with db.read() as c:
        counted = jobs.counts(c, namespaces)
        runs = step_runs.known(c, (own, step_runs.WHOLE_STORE), now)
        tier = capacity.look(c, own, care)
        began = first_row(c, "first_event", {"namespace": own})
    known = {name: ran for name, ran in runs.items() if name in STEPS}
    ended = [(ran.ended_at, name) for name, ran in known.items() if ran.ended_at]
    soon = [
        (ran.next_due, name)
        for name, ran in known.items()
        if ran.next_due and ran.ended_at and maintenance.every(STEPS[name], care) is not None
    ]
    answer: answers_upkeep.Upkeep = {
        "jobs": {kind: {"waiting": one.waiting, "dead": one.dead} for kind, one in counted.items()},
        "failed": sorted(name for name, ran in known.items() if ran.outcome == "failed"),
        "running": sorted(name for name, ran in known.items() if ran.held_by),
        "capacity": {"level": tier.level, "healthy": tier.healthy, "queued": tier.queued},
    }
    if ended:
        at, name = max(ended)
        answer["last"] = {"step": name, "at": format_time(at) or ""}
    since = max((at for at, _ in ended), default=moment(began[0]) if began else now)
    if now - since > UNTENDED_AFTER:
        answer["untended_since"] = format_time(since) or ""
    if soon:
        at, name = min(soon)
        answer["next"] = {"step": name, "at": format_time(max(at, now)) or ""}
        if at <= now:
            answer["next"]["due"] = True
    return answer


def sentences(found: answers_upkeep.Upkeep, language: Language) -> Iterator[str]:
    """What somebody should know: work that was given up, and what tries it again; steps that failed, or do not run."""
    dead = {kind: one["dead"] for kind, one in found["jobs"].items() if one["dead"] and kind not in TOLD_ELSEWHERE}
    if dead:
        yield messages.text("degraded.given_up", language, count=sum(dead.values()), kinds=", ".join(dead))
    if found["failed"]:
        yield messages.text("degraded.step_failed", language, steps=", ".join(found["failed"]))
    if since := found.get("untended_since"):
        yield messages.text("degraded.untended", language, since=since[:10])
