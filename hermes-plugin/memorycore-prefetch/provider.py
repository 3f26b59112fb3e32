"""What Hermes calls around a turn. Every hook ends in time by itself; the user never sees that one failed.

The two files are the truth: what a hook missed, the daemon finds by looking at them.
"""

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from agent.memory_provider import MemoryProvider

from .client import Daemon, Missed, place, start
from .refused import refusals
from .worker import Worker

NAME = "memorycore-prefetch"
# Hermes is promised 0.3 s for a prefetch and 0.5 s for a write; the rest is for a thread that wakes up late.
PREFETCH_S = 0.25
MEMORY_WRITE_S = 0.45
QUEUED_S = 5.0
WRITE = "memory-write"
DRAIN_S = 2.0
REPORT_EVERY_S = 60.0
LONGEST_QUERY = 1_000
MOST_GIVEN = 500  # ids of memories that a session got
MOST_TOPIC_CHARS = 300
TOPICS = "MEMORYCORE_INDEX_TOPICS"
# Nobody speaks there: what such a session asks and writes says nothing about the user.
SILENT_CONTEXTS = frozenset({"cron", "subagent", "flush"})
COMPRESSION = "compression"
ABOUT = (
    "MEMORYCORE (memory beyond the two files)\n"
    "Notes that fit a message come along with it, each with its day and id; the tool memorycore_recall finds more."
)
HERE = Path(__file__).resolve().parent


class MemoryCoreProvider(MemoryProvider):
    """One agent's view of MemoryCore. Hermes makes one for each agent and calls it from several threads.

    ``prefetch_s`` and ``memory_write_s``: seconds after which a turn and a write go on without an answer.
    """

    prefetch_s = PREFETCH_S
    memory_write_s = MEMORY_WRITE_S

    def __init__(self) -> None:
        self._bind(os.environ.get("HERMES_HOME") or Path.home() / ".hermes")
        self._session = ""
        self._silent = False
        self._block = ""
        self._given: dict[str, list[str]] = {}
        self._given_chars = Counter[str]()
        self._ended = ""
        self._worker = Worker()
        self._missed = Counter[str]()
        self._lock = threading.Lock()
        self._next_report = 0.0
        self._write_waits = False

    @property
    def name(self) -> str:
        return NAME

    def is_available(self) -> bool:
        """Whether MemoryCore can be found; nothing is connected to."""
        return bool(self._at.command) or self._at.endpoint() is not None

    def initialize(self, session_id: str = "", **kwargs: Any) -> None:
        """Remember whose memory and which session this is, and have the daemon started if it does not run."""
        if kwargs.get("hermes_home"):
            self._bind(kwargs["hermes_home"])
        self._worker = Worker()
        self._session = str(session_id or "")
        self._silent = kwargs.get("agent_context") in SILENT_CONTEXTS
        self._block = _block(self._at.env.get(TOPICS, ""))
        if not self._silent and self._at.endpoint() is None:
            start(self._at)

    def system_prompt_block(self) -> str:
        """The same bytes for the life of this provider, so that the prompt's cache stays good."""
        return self._block

    def prefetch(self, query: str, *, session_id: str = "", **kwargs: Any) -> str:
        """Dated notes that fit the question; an empty text when there are none, or no answer came in time."""
        if self._silent or not str(query or "").strip():
            return ""
        session = str(session_id or self._session)
        self._ended = ""
        given = self._given.setdefault(session, [])
        asked = {
            "query": str(query)[:LONGEST_QUERY],
            "session_id": session,
            "given": given[-MOST_GIVEN:],
            "given_chars": self._given_chars[session],
        }
        answer = self._ask(self._asked, "prefetch", asked, self.prefetch_s)
        if answer is None:
            return ""
        given += [str(item["id"]) for item in answer.get("items", [])]
        text = self._shown(str(answer.get("text") or ""))
        self._given_chars[session] += len(text)
        return text

    def queue_prefetch(self, query: str, *, session_id: str = "", **kwargs: Any) -> None:
        """Nothing: a question is answered when it is asked."""

    def sync_turn(
        self, user_content: str = "", assistant_content: str = "", *, session_id: str = "", **kwargs: Any
    ) -> None:
        """A turn is over. Nothing that was said leaves Hermes, only how often its memory tool found no room."""
        if refused := refusals(kwargs.get("messages")):
            self._count(WRITE, "full", refused)
        session = str(session_id or self._session)
        if session != self._ended:  # Hermes may say that a session is over before it says so of its last turn
            self._tell("sync-turn", session_id=session)

    def on_turn_start(self, turn_number: int = 0, message: str = "", **kwargs: Any) -> None:
        """Nothing."""

    def on_memory_write(
        self,
        action: str = "",
        target: str = "",
        content: str = "",
        metadata: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """The memory tool wrote a file: it is looked at now, and room is made where it is needed."""
        if self._silent or self._ask(self._told, WRITE, {"session_id": self._session}, self.memory_write_s) is not None:
            return
        with self._lock:
            if self._write_waits:
                return
            self._write_waits = True
        if not self._worker.put(self._tell_of_write):
            self._write_waits = False
            self._count(WRITE, "queue_full")

    def on_session_end(self, messages: Any = None, **kwargs: Any) -> None:
        """What stayed in the files for the sake of this session may leave them."""
        self._ended = self._session
        self._tell("session-end", session_id=self._session)

    def on_session_switch(self, new_session_id: str = "", *, rewound: bool = False, **kwargs: Any) -> None:
        """Follow the session. After a compression or a rewind its prompt no longer holds what it was given."""
        if rewound or kwargs.get("reason") == COMPRESSION:
            for session in {self._session, str(new_session_id or "")}:
                self._given.pop(session, None)
                self._given_chars.pop(session, None)
                self._tell("session-end", session_id=session, reason=COMPRESSION)
        self._session = str(new_session_id or self._session)

    def on_pre_compress(self, messages: Any = None, **kwargs: Any) -> str:
        """Nothing to add: what is remembered comes again when it is asked for."""
        return ""

    def on_delegation(self, task: str = "", result: str = "", **kwargs: Any) -> None:
        """Nothing: what a subagent does says nothing about the user."""

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """None: the tools come over MCP."""
        return []

    def handle_tool_call(self, tool_name: str = "", args: Any = None, **kwargs: Any) -> str:
        return json.dumps({"ok": False, "code": "not_found", "message": f"{NAME} has no tool {tool_name}"})

    def get_config_schema(self) -> list[dict[str, Any]]:
        return []

    def save_config(self, values: Any = None, hermes_home: str = "", **kwargs: Any) -> None:
        """Nothing: ``memorycore hermes install`` and MemoryCore's own settings hold everything."""

    def get_status_config(self, provider_config: Any = None, **kwargs: Any) -> dict[str, str]:
        """What ``hermes memory status`` prints."""
        daemon = self._at.endpoint()
        return {
            "memorycore": " ".join(self._at.command) or "not found",
            "data": str(self._at.data_dir),
            "daemon": "none yet; it is started when it is needed" if daemon is None else daemon["url"],
        }

    def backup_paths(self) -> list[str]:
        """MemoryCore's own backups; its database is not copied while others write to it."""
        backups = self._at.data_dir / "backups"
        return [str(backups)] if backups.is_dir() else []

    def shutdown(self) -> None:
        """Hand over what waits, with a limit."""
        self._report(at_once=True)
        if left := self._worker.end(DRAIN_S):
            self._count("shutdown", "left", left)

    def missed(self) -> dict[str, int]:
        """How often a hook went without, by hook and reason, since this was last told to the daemon."""
        with self._lock:
            return dict(self._missed)

    def _bind(self, hermes_home: Path | str) -> None:
        self._at = place(HERE, hermes_home, os.environ)
        # Each with a breaker of its own: a write that takes long says nothing against questions.
        self._asked, self._told, self._queued = (Daemon(at=self._at) for _ in range(3))

    def _tell(self, route: str, **arguments: str) -> None:
        """Have a call made by the worker; skipped and counted when too many wait."""
        if self._silent or not arguments["session_id"]:
            return
        if not self._worker.put(partial(self._ask, self._queued, route, arguments, QUEUED_S)):
            self._count(route, "queue_full")

    def _tell_of_write(self) -> None:
        """Once more, without hurry; for any number of writes that got no answer meanwhile."""
        with self._lock:
            self._write_waits = False
        self._ask(self._queued, WRITE, {"session_id": self._session}, QUEUED_S)

    def _ask(
        self, daemon: Daemon, route: str, arguments: Mapping[str, Any], within_s: float
    ) -> Mapping[str, Any] | None:
        """The answer, or None when there was none in time."""
        try:
            answer = daemon.ask(route, arguments, within_s=within_s)
        except Missed as missed:
            self._count(route, missed.why)
            return None
        self._report()
        return answer

    def _shown(self, text: str) -> str:
        """``text`` without the lines that Hermes would block in a memory."""
        kept = [line for line in text.splitlines() if not _is_blocked(line)]
        if len(kept) < len(text.splitlines()):
            self._count("prefetch", "blocked", len(text.splitlines()) - len(kept))
        return "\n".join(kept)

    def _count(self, hook: str, why: str, by: int = 1) -> None:
        with self._lock:
            self._missed[f"{hook}:{why}"] += by

    def _report(self, *, at_once: bool = False) -> None:
        """Tell a daemon that answers what was missed before."""
        with self._lock:
            if not self._missed or (time.monotonic() < self._next_report and not at_once):
                return
            self._next_report = time.monotonic() + REPORT_EVERY_S
        self._worker.put(self._send_report)

    def _send_report(self) -> None:
        missed = self.missed()
        try:
            self._queued.ask("plugin-report", {"host": "hermes", "missed": missed}, within_s=QUEUED_S)
        except Missed:
            return
        with self._lock:
            self._missed.subtract(missed)
            self._missed = +self._missed


def _block(topics: str) -> str:
    named = [" ".join(topic.split()) for topic in topics.replace("，", ",").replace("、", ",").split(",")]
    line = ", ".join(topic for topic in named if topic)[:MOST_TOPIC_CHARS]
    return f"{ABOUT}\nTopics: {line}" if line else ABOUT


def _is_blocked(text: str) -> bool:
    """As Hermes' own scanner says; a Hermes without it has nothing to block."""
    try:
        from tools.threat_patterns import scan_for_threats
    except ImportError:
        return False
    return bool(scan_for_threats(text, scope="strict"))
