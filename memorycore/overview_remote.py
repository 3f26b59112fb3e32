"""The service that has copies of the cold tier, at a glance."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from memorycore import messages
from memorycore.answers_remote import RemoteUsage
from memorycore.domain.memory import format_time
from memorycore.options import Language
from memorycore.store import Database, jobs, remote
from memorycore.store.memories import from_ms

UNREACHABLE = "remote_unreachable"


def usage(db: Database, namespace: str) -> RemoteUsage | None:
    """What waits for the service and how it is; None where none was ever in use."""
    with db.read() as c:
        known = remote.followed(c, namespace)
        if known is None:
            return None
        counted = jobs.counts(c, (namespace,)).get(remote.REMOTE, jobs.Counted())
    told: RemoteUsage = {"url": known.name, "waiting": counted.waiting, "failed": counted.dead}
    if known.down_since is not None:
        told["down_since"] = format_time(from_ms(known.down_since)) or ""
        told["next_try"] = format_time(from_ms(known.next_try)) or ""
        told["why"] = known.why
    return told


def degraded(told: RemoteUsage | None) -> Sequence[str]:
    return [UNREACHABLE] if told and "down_since" in told else []


def sentences(told: RemoteUsage, language: Language) -> Iterator[str]:
    """What somebody should know of it."""
    if "down_since" in told:
        yield messages.text(
            f"degraded.{UNREACHABLE}", language, url=told["url"], since=_short(told["down_since"]),
            why=messages.text(f"why.{told.get('why', '')}", language), waiting=told["waiting"] or None,
            next=_short(told.get("next_try", "")),
        )  # fmt: skip
    if told["failed"]:
        yield messages.text("degraded.remote_refused", language, url=told["url"], failed=told["failed"])


def _short(moment: str) -> str:
    if not moment:
        return ""
    return datetime.fromisoformat(moment).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
