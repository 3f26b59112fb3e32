"""Rules that no question was about: a language model may say that one of the questions could need them all the same.

Asked ahead of time, in the background, and written down; a plan only reads it. Where there is no answer, activity alone
says what is dormant.
"""

import logging
import time
from dataclasses import dataclass
from datetime import timedelta

from memorycore.core.rooms import Rooms
from memorycore.domain.cut import beginning
from memorycore.domain.memory import Memory
from memorycore.errors import LlmError
from memorycore.govern import opinions
from memorycore.govern.overflow.gather import entries_of
from memorycore.govern.overflow.ladder import UNUSED, signals, weight_of
from memorycore.hot.document import size
from memorycore.hot.tier import HotTier
from memorycore.llm import ChatEndpoint, ask_needed, shown_alone
from memorycore.store import opinions as told
from memorycore.store import queries

_log = logging.getLogger(__name__)
MOST_ASKED = 3
MOST_QUESTIONS = 60
QUESTION_CHARS = 120


@dataclass(slots=True, kw_only=True)
class Judged:
    """One round over one file: rules with an answer, attempts that gave none, why the model cannot be asked now."""

    answered: int = 0
    failed: int = 0
    away: str = ""


def judge_dormant(rooms: Rooms, tier: HotTier, endpoint: ChatEndpoint, *, ends_at: float) -> Judged:
    """Ask about the rules that hard pressure would take first, at most ``MOST_ASKED``, while the file is above its aim.

    Raises:
        HotFileError: The file cannot be read now.
    """
    found = Judged()
    asked = _dormant(rooms, tier)[:MOST_ASKED]
    questions = _questions(rooms, tier) if asked else []
    for memory in asked if questions else ():
        if found.away or time.monotonic() >= ends_at:
            break
        try:
            needed = ask_needed(endpoint, memory.content, questions)
        except LlmError as error:
            with rooms.db.write() as c:
                found.away = opinions.failed(c, memory, "needed", error, rooms.clock())
            found.failed += 1
            continue
        with rooms.db.write() as c:
            opinions.note(c, memory, "needed", needed, rooms.clock())
        found.answered += 1
    return found


def _dormant(rooms: Rooms, tier: HotTier) -> list[Memory]:
    """Rules that activity calls unused and nobody has an opinion about, the lightest first."""
    now, options = rooms.clock(), rooms.options
    texts = tier.document().entries
    if not options.activity_log or size(texts) <= tier.marks.aim:
        return []
    with rooms.db.read() as c:
        entries = entries_of(c, tier, texts, options, now)
        unused = [
            entry
            for entry in entries
            if entry.type == "rule" and entry.memory and not entry.memory.pinned and not entry.is_hidden
            and UNUSED & signals(entry, now, options.budget, log_on=True)
        ]  # fmt: skip
        unused.sort(key=lambda entry: weight_of(entry, now, options.budget))
        rules = [entry.memory for entry in unused if entry.memory is not None]
        known = told.by_seq(c, tier.namespace, "needed", [memory.seq for memory in rules])
        counts = timedelta(days=options.budget.dormant_days)
        old = {seq for seq, opinion in known.items() if opinion.answer and now - opinion.at >= counts}
        due = {memory.seq for memory in opinions.due(c, tier.namespace, "needed", rules, now)} | old
    return [memory for memory in rules if memory.seq in due and shown_alone(memory.content)]


def _questions(rooms: Rooms, tier: HotTier) -> list[str]:
    """What was asked lately, the last of it first, cut, each once. What gives orders is nobody's to read."""
    since = rooms.clock() - timedelta(days=rooms.options.budget.dormant_days)
    with rooms.db.read() as c:
        asked = queries.last(c, tier.namespace, since, limit=MOST_QUESTIONS)
    return list(dict.fromkeys(beginning(text, QUESTION_CHARS) for text in asked if shown_alone(text)))
