"""What an erasure answers: what went, what was searched, and whoever still has the text."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from memorycore import answers, answers_forget, messages
from memorycore.domain.memory import Memory
from memorycore.options import CoreOptions
from memorycore.store.erasure import Doomed
from memorycore.store.traces import Searched


@dataclass(slots=True, kw_only=True)
class Outcome:
    """How far an erasure came.

    ``kept_by``: a code that says who keeps the text on the disk; empty when nobody does. ``remark``: a code that says
    why the files were not searched for the text. ``copies``: (service, id there) of copies elsewhere that could not be
    reached; ``copies_unknown``: how many texts a service may have of which it never said so.
    """

    roots: tuple[Memory, ...]
    doomed: Doomed
    removed: dict[str, int] = field(default_factory=dict[str, int])
    kept_by: str = ""
    remark: str = ""
    copies: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    copies_unknown: int = 0
    searched: Searched | None = None
    trial: bool = False


def candidates(found: answers.Changed) -> answers_forget.Erased:
    """Nothing was erased: these are the memories that the words may have meant."""
    return {"status": "candidates", "erased": False, "candidates": found.get("candidates", [])}


def nothing() -> answers_forget.Erased:
    """No memory matches."""
    return {"status": "nothing", "erased": False}


def preview(done: Outcome, options: CoreOptions) -> answers_forget.Erased:
    """What would go, and which files hold the text now."""
    answer = _told(done, options)
    answer["items"] = [
        {
            "id": root.id,
            "content": root.content,
            "tier": "hot" if root.residence == "hot" else _TIERS.get(root.state, "none"),
        }
        for root in done.roots
    ]
    answer["dry_run"] = True
    return answer


_TIERS: dict[str, answers.Tier] = {"active": "cold", "trashed": "bin"}


def of(done: Outcome, *, ours: frozenset[Path], options: CoreOptions) -> answers_forget.Erased:
    """The receipt. Erased is what stands in none of our files any more; copies elsewhere are only named."""
    found = done.searched.found if done.searched else ()
    in_ours = any(path in ours for path, _ in found)
    answer = _told(done, options)
    answer["erased"] = not done.kept_by and not in_ours and not done.copies
    answer["status"] = "erased" if answer["erased"] else "pending"
    if not answer["erased"]:
        answer["finish"] = f"memorycore forget {done.roots[0].id} --erase"
    return answer


def _told(done: Outcome, options: CoreOptions) -> answers_forget.Erased:
    doomed, searched = done.doomed, done.searched
    answer: answers_forget.Erased = {"status": "erased", "erased": False}
    if len(done.roots) == 1:
        answer["id"] = done.roots[0].id
    else:
        answer["ids"] = [root.id for root in done.roots]
    answer["removed"] = {place: count for place, count in done.removed.items() if count}
    if others := doomed.ids[len(done.roots) :]:
        answer["also"] = list(others)
    if searched:
        answer["searched"] = answers_forget.Searched(files=searched.files, bytes=searched.size_bytes)
        answer["remaining"] = [answers_forget.Remaining(file=str(path), form=form) for path, form in searched.found]
        if searched.unread:
            answer["unread"] = [str(path) for path in searched.unread]
    if doomed.holders:
        answer["held_by"] = [answers_forget.Holding(id=one.id, state=one.state) for one in doomed.holders]
    if doomed.elsewhere:
        answer["elsewhere"] = doomed.elsewhere
    if done.copies:
        answer["remote"] = [answers_forget.RemoteCopy(store=store, id=external) for store, external in done.copies]
    answer["reasons"] = [messages.reason(code, options.language, **facts) for code, facts in _remarks(done)]
    return answer


def _remarks(done: Outcome) -> Iterator[tuple[str, dict[str, object]]]:
    doomed = done.doomed
    if done.kept_by:
        yield done.kept_by, {}
    if doomed.holders:
        yield "held_by_others", {"count": len(doomed.holders)}
    if doomed.elsewhere:
        yield "held_elsewhere", {"count": doomed.elsewhere}
    if done.copies:
        yield "remote_copy_left", {"count": len(done.copies), "url": done.copies[0][0]}
    if done.copies_unknown:
        yield "remote_copy_unknown", {"count": done.copies_unknown}
    if done.remark:
        yield done.remark, {}
    if not done.trial and done.searched and done.searched.found:
        yield "found_in_files", {"count": len({path for path, _ in done.searched.found})}
    yield "hash_kept", {}
