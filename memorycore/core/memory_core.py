"""MemoryCore: one method per verb, used by every surface. It sequences the rooms and answers plain objects."""

import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Self, Unpack

from memorycore import (
    answers,
    answers_forget,
    answers_import,
    answers_overflow,
    answers_story,
    answers_turn,
    answers_upkeep,
    overview,
    reply_store,
)
from memorycore.cold.local import LocalColdStore
from memorycore.core import (
    backup,
    change,
    elsewhere,
    erase,
    forget_many,
    history,
    look,
    maintain,
    model_rounds,
    overflow,
    recall,
    remote,
    review,
    second_look,
    take_over,
    turns,
    undo,
)
from memorycore.core.comeback import come_back_later
from memorycore.core.forget_many import Wanted
from memorycore.core.review import Choice
from memorycore.core.rooms import Rooms, new_id, utc_now
from memorycore.domain.memory import Draft, Memory, Target
from memorycore.embed import EmbeddingService
from memorycore.govern import vectors
from memorycore.govern.steps.work import Report
from memorycore.llm import open_endpoint
from memorycore.options import CoreOptions, Language
from memorycore.search import RecallFilters
from memorycore.store import jobs
from memorycore.store.queries import Source
from memorycore.store.step_runs import StepRun

BATCH = 64


class MemoryCore:
    """One open memory: the two hot files and the store behind them. Usable from every thread.

    A process that lives long keeps an index in memory, makes vectors in the background and never waits for the model
    longer than a moment; one that does not asks the database.
    """

    def __init__(
        self,
        options: CoreOptions,
        *,
        long_lived: bool,
        clock: Callable[[], datetime] = utc_now,
        new_id: Callable[[], str] = new_id,
        embedding: EmbeddingService | None = None,
    ) -> None:
        self._endpoint = open_endpoint(options.llm) if long_lived else None
        self.rooms = Rooms(
            options,
            long_lived=long_lived,
            clock=clock,
            new_id=new_id,
            embedding=embedding,
            later=self._judge_later,
            make_room=overflow.room_for,
        )
        self.options = options
        self.namespaces = self.rooms.namespaces
        self.db = self.rooms.db
        self.embedding = self.rooms.embedding
        self.background = self.rooms.background
        self.cold = LocalColdStore(
            db=self.db,
            namespace=options.namespace,
            find=self.rooms.find_cold,
            admit=self.rooms.admit_cold,
            clock=clock,
            new_id=new_id,
            changed=self.rooms.catch_up,
        )

    def _judge_later(self, rooms: Rooms) -> bool:
        """Verdicts that wait for a vector, and what waits for the language model: pairs first, then single rules."""
        judged = second_look.judge_waiting(rooms)
        asked = second_look.ask_model(rooms, self._endpoint) if self._endpoint else False
        if self._endpoint and not asked:
            model_rounds.in_background(rooms, self._endpoint)
        if rooms.background is not None:
            overflow.tend(rooms)
            come_back_later(rooms)
        return bool(judged or asked) | remote.catch_up(rooms)

    @classmethod
    def open(cls, options: CoreOptions, *, long_lived: bool) -> Self:
        """Open the memory of these options, making what is missing, and begin to load the model.

        Raises:
            StoreError: The database cannot be used.
        """
        core = cls(options, long_lived=long_lived)
        core.rooms.start()
        return core

    @classmethod
    def beside(cls, other: Self, options: CoreOptions) -> Self:
        """Open another memory in the same process, which asks the model of ``other`` and so must end before it.

        Raises:
            StoreError: The database cannot be used.
        """
        core = cls(options, long_lived=True, embedding=other.embedding)
        core.rooms.shares_embedding = True
        core.rooms.start()
        return core

    def session_seen(self, session_id: str) -> None:
        """A session is at work whose prompt holds the hot files as they were. Noted, not written: it costs nothing."""
        self.rooms.session_seen(session_id)

    def sessions_ended(self, session_ids: Sequence[str]) -> None:
        """Sessions are over that were at work here; what their prompts held may change now."""
        self.rooms.sessions_ended(session_ids)

    def speaking(self, language: Language) -> "MemoryCore":
        """This same open memory, for somebody who reads another language: everything is shared but the sentences."""
        if language == self.options.language:
            return self
        other = copy.copy(self)
        other.rooms = self.rooms.speaking(language)
        other.options = other.rooms.options
        return other

    def close(self) -> None:
        """End the background work and close the database. Nothing acknowledged depends on it."""
        if self._endpoint:
            self._endpoint.close()
        if self.background:
            self.rooms.uses.ended(self.rooms.uses.open_sessions())
            overflow.tend(self.rooms, at_end=True)
            come_back_later(self.rooms)
        self.rooms.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def remember(self, draft: Draft, *, actor: str, dry_run: bool = False) -> answers.Stored:
        """Admit one text; answer where it went and why.

        Waits for its vector at most ``store_wait_ms``; then the answer says ``pending: [vector]``.
        """
        if dry_run:
            return next(self.preview_many([draft]))
        return self._remember([draft], actor=actor, wait_s=self.options.store_wait_ms / 1_000)[0]

    def remember_many(self, items: Iterable[Draft | Memory], *, actor: str) -> Iterator[answers.Stored]:
        """Admit many texts, in order; each batch is one transaction and waits for its vectors.

        A ``Memory`` (as ``transfer.from_line`` reads it) comes back with everything that it had.
        """
        source = iter(items)
        while batch := list(islice(source, BATCH)):
            yield from self._remember(batch, actor=actor, wait_s=None)

    def _remember(self, items: Sequence[Draft | Memory], *, actor: str, wait_s: float | None) -> list[answers.Stored]:
        self.rooms.touch()
        admitted = self.rooms.admission.admit(items, self.rooms.cause(actor, "store"), wait_s=wait_s)
        if self.background and not all(item.recorded.vector for item in admitted):
            self.background.wake()
        return remote.told_later(self.rooms, [reply_store.stored(item, self.options) for item in admitted])

    def preview_many(self, drafts: Iterable[Draft]) -> Iterator[answers.Stored]:
        """What ``remember`` would answer to each, on the store as it is; nothing is written."""
        source = iter(drafts)
        while batch := list(islice(source, BATCH)):
            for item in self.rooms.admission.preview(batch, wait_s=None):
                yield reply_store.preview(item, self.options)

    def recall(  # noqa: PLR0913 the question, and what shapes its answer
        self,
        query: str,
        *,
        top_k: int = 5,
        filters: RecallFilters | None = None,
        viewer_session: str = "",
        explain: bool = False,
        log: bool = True,
        revive: bool = True,
        actor: str = "recall",
        source: Source = "command",
    ) -> answers.Recalled:
        """Search hot and cold, best first.

        ``viewer_session`` sees memories of that session too, which nobody else does. ``log`` False leaves no trace of
        the question (bulk, dry runs), nor does ``explain``; ``source`` is by what way it came. A memory that automation
        put into the bin and that the question strongly means comes back, as ``actor``'s doing; not without ``revive``
        or ``log``, nor with ``explain`` or a look back.
        """
        return recall.recall(
            self.rooms,
            query,
            top_k=top_k,
            filters=filters,
            viewer_session=viewer_session,
            explain=explain,
            log=log,
            revive=revive,
            actor=actor,
            source=source,
        )

    def prefetch(
        self, query: str, *, session_id: str, given: Collection[str] = (), most: int = 5, most_chars: int = 1_500
    ) -> answers_turn.Prefetched:
        """What is worth telling before a question is answered, without what the session was ``given`` (ids) before.

        Only what is surely meant and not in the prompt anyway. Changes nothing but the log of questions.
        """
        return turns.prefetch(self.rooms, query, session_id=session_id, given=given, most=most, most_chars=most_chars)

    def host_wrote(self, session_id: str = "") -> answers_turn.Noticed:
        """A host says that it wrote a hot file: look at both now, and make room above the soft mark."""
        return turns.host_wrote(self.rooms, session_id)

    def held_back(self, texts: Sequence[str]) -> answers_turn.HeldBack:
        """What the gates would hold back of texts that a host is about to write. Nothing of them is kept."""
        return turns.held_back(self.rooms, texts)

    def turn_done(self, session_id: str) -> answers_turn.Noted:
        """A session is at work. No word of its conversation is kept."""
        return turns.turn_done(self.rooms, session_id)

    def session_done(self, session_id: str) -> answers_turn.Noted:
        """A session is over; what its prompt held may leave the hot files."""
        return turns.session_done(self.rooms, session_id)

    def host_missed(self, host: str, missed: Mapping[str, int]) -> answers_turn.Counted:
        """A host tells how many calls it got no answer to in time, by call and reason."""
        return turns.host_missed(self.rooms, host, missed)

    def update(
        self, memory_id: str, *, actor: str, dry_run: bool = False, **changes: Unpack[change.Changes]
    ) -> answers.Changed:
        """Change wording or fields of the memory with this id, or with exactly this text.

        ``changes``: ``content`` (the whole new text, not a part of it; the earlier wording stays in the memory's
        history), ``importance``, ``kind``, ``policy``, ``tags``, ``pinned``, ``valid_until``. Any other words instead
        of an id only find candidates; nothing is changed for them.

        Raises:
            NotFound: No active memory has this id.
            InvalidInput: The new text is empty, known already, or cannot stand in the hot file.
            Conflict: Somebody reworded its entry in the hot file and nobody has seen that yet, or took it out.
        """
        if memory_id.startswith(remote.PREFIX):
            return elsewhere.update(self.rooms, memory_id, actor=actor, dry_run=dry_run, **changes)
        return remote.told(self.rooms, change.update(self.rooms, memory_id, actor=actor, dry_run=dry_run, **changes))

    def forget(self, id_or_query: str, *, actor: str, dry_run: bool = False) -> answers.Changed:
        """Put one memory into the bin: the one with this id, or with exactly this text.

        Any other words only find candidates; nothing is removed for them.

        Raises:
            NotFound: The memory with this id is not active.
            Conflict: Somebody changed its entry in the hot file and nobody has seen that yet; nothing was removed.
        """
        if id_or_query.startswith(remote.PREFIX):
            return elsewhere.forget(self.rooms, id_or_query, actor=actor, dry_run=dry_run)
        return remote.told(self.rooms, change.forget(self.rooms, id_or_query, actor=actor, dry_run=dry_run))

    def forget_many(self, wanted: Wanted, *, actor: str, dry_run: bool = False) -> answers_forget.ForgottenMany:
        """Put every active memory into the bin that holds all words of a query and passes filters.

        All of it is one run of the ledger, which ``undo`` takes back as a whole. One that somebody else is changing
        now, or whose hot file cannot be used, is skipped and named.

        Raises:
            InvalidInput: Nothing says which memories are meant.
        """
        answer = forget_many.forget_many(self.rooms, wanted, actor=actor, dry_run=dry_run)
        self.rooms.settle_remote()
        return answer

    def erase(self, id_or_text: str, *, actor: str, dry_run: bool = False) -> answers_forget.Erased:
        """Erase one memory for good, in whatever state, with every copy of its text within reach; answer a receipt.

        Afterwards all files of both directories are searched for the text and its vector. While another process still
        reads the state from before, the answer is ``pending``; calling again with the same id finishes it. Any other
        words than an id or exactly the text only find candidates.

        Raises:
            NotFound: There never was a memory with this id.
            Conflict: Somebody changed its entry in the hot file and nobody has seen that yet; nothing was erased.
            HotFileError: A hot file or a snapshot cannot be used now; the memory is in the bin or as it was.
            StoreError: The database cannot be written now.
        """
        named = elsewhere.for_erasure(self.rooms, id_or_text, actor=actor, dry_run=dry_run)
        return erase.erase(self.rooms, named, actor=actor, dry_run=dry_run)

    def erase_many(self, wanted: Wanted, *, actor: str, dry_run: bool = False) -> answers_forget.Erased:
        """Erase every memory that matches, in use or not, as ``erase`` does one; at most 200.

        Raises:
            InvalidInput: Nothing says which memories are meant, or they are too many.
        """
        return erase.erase_many(self.rooms, wanted, actor=actor, dry_run=dry_run)

    def restore(self, memory_id: str, *, actor: str) -> answers.Changed:
        """Take a memory out of the bin, back to where it was; without room in its hot file it comes back cold.

        Raises:
            NotFound: The bin has no such memory.
            InvalidInput: The same text is active under another id.
        """
        return remote.told(self.rooms, change.restore(self.rooms, memory_id, actor=actor))

    def history(
        self, *, limit: int = 20, memory_id: str = "", since: datetime | None = None, automatic_only: bool = False
    ) -> answers.History:
        """What happened, the last of it first: everything, or to one memory, since a moment, or automatically.

        Raises:
            NotFound: No memory has this id.
        """
        return history.history(self.rooms, limit=limit, memory_id=memory_id, since=since, automatic_only=automatic_only)

    def undo(
        self,
        *,
        actor: str,
        event: int | None = None,
        last: bool = False,
        run: str = "",
        since: datetime | None = None,
        dry_run: bool = False,
    ) -> answers.Undone:
        """Take back one event of the history, or more of them, the last one first. Give exactly one of the four.

        ``last``: the last call that changed something by itself and can be undone, else the last change at all.
        ``run``: what one call did by itself, else all that it did. ``since``: whatever was done automatically from that
        moment on. What somebody changed since then is a conflict in the answer, and nothing is overwritten. What was
        automatic is not done again to the same texts for ``undo_sticky_days``. An undo can be undone.

        Raises:
            InvalidInput: Not exactly one was given, or there is no such event or run.
        """
        done = undo.undo_events(self.rooms, actor=actor, event=event, last=last, run=run, since=since, dry_run=dry_run)
        return remote.told_of_undo(self.rooms, done)

    def inspect(self, memory_id: str) -> answers_story.Story:
        """Everything about one memory: fields, earlier texts, events, vector; of ``remote:<id>`` what is shown of it.

        Raises:
            NotFound: No memory has this id.
            NotAvailable: The service elsewhere shows no record by its id.
        """
        if memory_id.startswith(remote.PREFIX):
            return elsewhere.inspect(self.rooms, memory_id)
        return look.inspect(self.rooms, memory_id)

    def review(self) -> answers.Review:
        """What waits for a person: contradictions, proposals, quarantined texts, flagged entries of the hot files."""
        return review.review(self.rooms)

    def decide(self, number: str, choice: Choice, *, actor: str, dry_run: bool = False) -> answers.Decided:
        """Do what somebody decided about the thing that waits under this number.

        Of two texts one may keep the ``new`` one, the ``old`` one, or ``both``. A text alone is taken with ``accept``
        or ``trust``, or not, with ``reject``.

        Raises:
            InvalidInput: Nothing waits under this number, or it is not decided in this way.
            HotFileError: A hot file cannot be used now; it waits on.
        """
        decided = review.decide(self.rooms, number, choice, actor=actor, dry_run=dry_run)
        return remote.told_of_decision(self.rooms, decided)

    def trash(self, *, reason: str = "") -> answers.Bin:
        """What is in the recycle bin, newest first, and until when; with ``reason`` only what is there for that.

        Raises:
            InvalidInput: No memory is in the bin for such a reason, but some are for others.
        """
        return look.trash(self.rooms, reason)

    def audit(self, target: Target | None = None) -> answers.Audited:
        """The health of every hot entry, read-only."""
        return look.audit(self.rooms, target)

    def usage(self) -> answers.Usage:
        """How full both files are, what the cold tier holds, what waits, what is degraded."""
        return overview.usage(look.view(self.rooms))

    def status(self) -> answers.Status:
        """The verdict and everything behind it."""
        return overview.status(look.view(self.rooms))

    def export(self) -> Iterator[dict[str, object]]:
        """Every memory of these namespaces that is not purged, oldest first, as ``store --from`` reads it back."""
        return look.export(self.rooms)

    def import_from(
        self,
        named: Sequence[Path] = (),
        *,
        actor: str,
        left_in: Iterable[Path] = (),
        dry_run: bool = False,
        report: take_over.Report = lambda _done, _total: None,
    ) -> answers_import.Imported:
        """Import what files and folders hold: exports, memory files of another home, what the predecessor left.

        Without ``named``, what it left in folders of ours and in those of ``left_in``. Nothing of the files is changed.
        What is known already, by its text or from an earlier import, is not imported again.
        """
        folders = (self.options.data_dir, self.options.data_dir.parent, self.options.hot_dir, *left_in)
        return take_over.take_over(self.rooms, named, folders, actor=actor, dry_run=dry_run, report=report)

    def touch(self) -> None:
        """Take notice of what others did to the hot files. A file that cannot be read is a problem, not an end."""
        self.rooms.touch()

    def overflow(self, target: Target | None = None, *, dry_run: bool = False) -> answers_overflow.Overflown:
        """Make room in the hot files, or in one: what left or would leave, and why."""
        answer = overflow.overflow(self.rooms, target, dry_run=dry_run)
        self.rooms.settle_remote()
        return answer

    def maintain(
        self,
        steps: Sequence[str] = (),
        *,
        dry_run: bool = False,
        report: Report | None = None,
        time_box_s: float | None = None,
        owner: str = "",
    ) -> answers_upkeep.Maintained:
        """Run maintenance steps now, all of them or those named; one that somebody else runs is ``busy``.

        ``report`` is told how far it is. What is not done after ``time_box_s`` goes on with the next run. ``owner``
        says who holds the leases; by default this process.

        Raises:
            InvalidInput: There is no step with this name.
        """
        return maintain.maintain(self.rooms, steps, dry_run=dry_run, report=report, time_box_s=time_box_s, owner=owner)

    def backup(self, target: Path | None = None) -> answers_upkeep.BackedUp:
        """Make a backup of the whole store and its hot files; in our own folder, of which the last few are kept.

        Raises:
            StoreError: There is no room, or it cannot be written there.
        """
        return backup.backup(self.db, self.options, self.rooms.clock(), target)

    def retry_given_up(self) -> int:
        """Try work again that was given up, of every kind; how many jobs that are."""
        with self.db.write() as c:
            return jobs.revive(c, self.namespaces, self.rooms.clock())

    def step_runs(self) -> dict[str, StepRun]:
        """Every maintenance step that ever ran here, as it last ran, and when it is due again."""
        return maintain.runs(self.rooms, self.rooms.clock())

    def schedule(self) -> list[answers_upkeep.Scheduled]:
        """Every maintenance step: how often it runs, how the last run ended, when the next one is."""
        return maintain.schedule(self.rooms, self.rooms.clock())

    def due_steps(self, now: datetime | None = None) -> list[str]:
        """Steps whose time has come and that nobody runs, in the order in which they run."""
        return maintain.due_steps(self.rooms, now or self.rooms.clock())

    def catch_up(self, *, light: bool = True, budget_s: float = 2.0, owner: str = "") -> list[str]:
        """Run what is due, or only what is light, for a moment; the steps that ran. The rest stays due."""
        return maintain.catch_up(self.rooms, light=light, budget_s=budget_s, owner=owner)

    def fill_vectors(self, *, timeout_s: float | None = None) -> vectors.Filled:
        """Make vectors that are missing, one round."""
        return self.rooms.fill_vectors(timeout_s=timeout_s)
