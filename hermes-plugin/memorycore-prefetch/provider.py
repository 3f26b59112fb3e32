"""What Hermes calls around a turn. Every hook ends in time by itself; the user never sees that one failed.

The two files are the truth: what a hook missed, the daemon finds by looking at them.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from agent.memory_provider import MemoryProvider

from .client import Daemon, Missed, Place, place, start
from .refused import refusals
from .tally import Tally, file_of
from .worker import Worker

NAME = "memorycore-prefetch"
LABEL, GLYPH = "MemoryCore", "\N{BRAIN}"
# Hermes is promised 0.3 s for a prefetch and 0.5 s for a write; the rest is for a thread that wakes up late.
PREFETCH_S = 0.25
MEMORY_WRITE_S = 0.45
QUEUED_S = 5.0
WRITE = "memory-write"
DRAIN_S = 2.0
REPORT_EVERY_S = 60.0
SETUP_ENDS_WITHIN_S = 120.0
# A daemon that is just being started answers within seconds; until then a write is told again after these pauses.
STARTING = frozenset({"no_daemon", "unreachable"})
AGAIN_AFTER_S = (0.5, 1.0, 2.0, 4.0, 8.0)
# So many questions in a row without an answer are more than a daemon that was just starting.
IN_VAIN = 3
LONGEST_QUERY = 1_000
MOST_GIVEN = 500  # ids of memories that a session got
MOST_TOPIC_CHARS = 300
TOPICS = "MEMORYCORE_INDEX_TOPICS"
ENABLED, OFF = "MEMORYCORE_PREFETCH_ENABLED", frozenset({"0", "false", "no", "off"})
# Others read along there, and what is remembered may be for one person: the agent may ask, nothing comes unasked.
IN_GROUPS, ON = "MEMORYCORE_PREFETCH_IN_GROUPS", frozenset({"1", "true", "yes", "on"})
GROUPS = frozenset({"group", "room", "forum", "channel", "thread"})
# Nobody speaks there: what such a session asks and writes says nothing about the user.
SILENT_CONTEXTS = frozenset({"cron", "subagent", "flush"})
COMPRESSION = "compression"
ABOUT = (
    "MEMORYCORE (memory beyond the two files)\n"
    "Notes that fit a message come along with it, each with its day and id; the tool memorycore_recall finds more."
)
ON_DEMAND = (
    "MEMORYCORE (memory beyond the two files)\nThe tool memorycore_recall finds what was noted, with day and id."
)
DEGRADED = "It has not answered lately: notes may be missing in this session."
NOT_FOUND = "MemoryCore was not found; run `memorycore hermes install` where it is installed"
HERE = Path(__file__).resolve().parent


class MemoryCoreProvider(MemoryProvider):
    """One agent's view of MemoryCore. Hermes makes one for each agent and calls it from several threads.

    ``prefetch_s`` and ``memory_write_s``: seconds after which a turn and a write go on without an answer.
    """

    prefetch_s = PREFETCH_S
    memory_write_s = MEMORY_WRITE_S

    def __init__(self) -> None:
        self._over = threading.Event()
        self._worker = Worker()
        self._bind(_home_around(HERE))
        self._session = ""
        self._silent = False
        self._on_demand = _says(self._at, ENABLED, OFF)
        self._block = ""
        self._given: dict[str, list[str]] = {}
        self._given_chars = Counter[str]()
        self._ended = ""
        self._recalled = 0
        self._lock = threading.Lock()
        self._next_report = self._next_keep = 0.0
        self._write_waits = False

    @property
    def name(self) -> str:
        return NAME

    def is_available(self) -> bool:
        """Whether MemoryCore can be found; nothing is connected to."""
        return bool(self._at.command) or self._at.endpoint() is not None

    def unavailable_reason(self) -> str:
        return "" if self.is_available() else NOT_FOUND

    def initialize(self, session_id: str = "", **kwargs: Any) -> None:
        """Remember whose memory and which session this is, and have the daemon started if it does not run."""
        self._begin(session_id, kwargs)
        if self._silent:
            return
        if self._at.endpoint() is None:
            start(self._at)
        is_away = self._tally.in_vain() >= IN_VAIN and not self._send_report(within_s=self.prefetch_s)
        self._block = _block(self._at, on_demand=self._on_demand, is_away=is_away)
        self._hint()  # a file that was filled meanwhile has room before the memory tool needs it

    def initialize_for_inspection(self, session_id: str = "", **kwargs: Any) -> None:
        """As ``initialize``, for somebody who only looks: no daemon is started and none is told anything."""
        self._begin(session_id, kwargs)

    def system_prompt_block(self) -> str:
        """The same bytes for the life of this provider, so that the prompt's cache stays good."""
        return self._block

    def prefetch(self, query: str, *, session_id: str = "", **kwargs: Any) -> str:
        """Dated notes that fit the question; an empty text when there are none, or no answer came in time."""
        self._recalled = 0
        if self._silent or self._on_demand or not str(query or "").strip():
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
        self._recalled = len(text.splitlines())
        return text

    def recall_status(self) -> Any:
        """How many notes came with the last message, as newer versions of Hermes show it; None for none."""
        try:
            from agent.memory_provider import RecallStatus
        except ImportError:
            return None
        return RecallStatus(provider_label=LABEL, count=self._recalled, glyph=GLYPH) if self._recalled else None

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
        if not self._hint():
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

    def post_setup(self, hermes_home: str = "", config: Any = None, **kwargs: Any) -> None:
        """``hermes memory setup`` does what ``memorycore hermes install`` does, and shows it."""
        self._bind(hermes_home or self._at.env["HERMES_HOME"])
        if not self._at.command:
            sys.stdout.write(f"\n  {NOT_FOUND}.\n\n")
            return
        sys.stdout.flush()
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(  # noqa: S603 the installer's own interpreter, no shell
                [*self._at.command, "hermes", "install"],
                env=dict(self._at.env),
                stdin=subprocess.DEVNULL,
                timeout=SETUP_ENDS_WITHIN_S,
                check=False,
            )

    def get_status_config(self, provider_config: Any = None, **kwargs: Any) -> dict[str, str]:
        """What ``hermes memory status`` prints."""
        found = {
            "memorycore": " ".join(self._at.command) or "not found",
            "memory": str(self._at.hot_dir),
            "data": str(self._at.data_dir),
            "daemon": _seen(self._at),
        }
        if waits := self._tally.to_tell().missed:
            found["not answered"] = ", ".join(f"{name} {count}" for name, count in waits.most_common())
        return {**found, "more": "memorycore status, memorycore hermes doctor"}

    def backup_paths(self) -> list[str]:
        """MemoryCore's own backups; its database is not copied while others write to it."""
        backups = self._at.data_dir / "backups"
        return [str(backups)] if backups.is_dir() else []

    def shutdown(self) -> None:
        """Hand over what waits, with a limit. What cannot be told is kept for the next process."""
        self._over.set()
        self._report(at_once=True)
        if left := self._worker.end(DRAIN_S):
            self._tally.miss("shutdown", "left", left)
        self._tally.keep()

    def missed(self) -> dict[str, int]:
        """How often a hook went without, by hook and reason, since this was last told to the daemon."""
        return self._tally.missed()

    def _begin(self, session_id: str, facts: Mapping[str, Any]) -> None:
        if self._worker.is_over:
            self._over, self._worker = threading.Event(), Worker()
        self._bind(facts.get("hermes_home") or self._at.env["HERMES_HOME"])
        self._session = str(session_id or "")
        self._silent = facts.get("agent_context") in SILENT_CONTEXTS
        self._on_demand = _says(self._at, ENABLED, OFF) or (
            str(facts.get("chat_type")).lower() in GROUPS and not _says(self._at, IN_GROUPS, ON)
        )
        self._block = _block(self._at, on_demand=self._on_demand)

    def _bind(self, hermes_home: Path | str) -> None:
        """To this home for life, whatever the environment says later."""
        self._at = place(HERE, hermes_home, os.environ)
        self._tally = Tally(file_of(self._at.data_dir, self._at.hot_dir), may_make_folder=bool(self._at.command))
        # Each with a breaker of its own: a write that takes long says nothing against questions.
        self._asked, self._told, self._queued = (Daemon(at=self._at, over=self._over) for _ in range(3))

    def _tell(self, route: str, **arguments: str) -> None:
        """Have a call made by the worker; skipped and counted when too many wait."""
        if self._silent or not arguments["session_id"]:
            return
        if not self._worker.put(partial(self._ask, self._queued, route, arguments, QUEUED_S)):
            self._count(route, "queue_full")

    def _hint(self) -> bool:
        """Have the daemon told that a file may have been written; once for any number of writes that wait."""
        with self._lock:
            if self._write_waits:
                return True
            self._write_waits = True
        if not self._worker.put(self._tell_of_write):
            self._write_waits = False
            return False
        return True

    def _tell_of_write(self) -> None:
        """Without hurry; a daemon that is just being started is waited for, but not by the end of a session."""
        with self._lock:
            self._write_waits = False
        for pause_s in (*AGAIN_AFTER_S, 0.0):
            try:
                self._queued.ask(WRITE, {"session_id": self._session}, within_s=QUEUED_S)
            except Missed as missed:
                if missed.why not in STARTING or not self._at.command or self._over.wait(pause_s):
                    return
            else:
                self._told.breaker.note(failed=False)  # it is slow, but there: the next write is worth waiting for
                self._answered()
                return

    def _ask(
        self, daemon: Daemon, route: str, arguments: Mapping[str, Any], within_s: float
    ) -> Mapping[str, Any] | None:
        """The answer, or None when there was none in time."""
        try:
            answer = daemon.ask(route, arguments, within_s=within_s)
        except Missed as missed:
            self._count(route, missed.why)
            return None
        self._answered()
        return answer

    def _shown(self, text: str) -> str:
        """``text`` without the lines that Hermes would block in a memory."""
        kept = [line for line in text.splitlines() if not _is_blocked(line)]
        if len(kept) < len(text.splitlines()):
            self._count("prefetch", "blocked", len(text.splitlines()) - len(kept))
        return "\n".join(kept)

    def _count(self, hook: str, why: str, by: int = 1) -> None:
        """One more miss; what is counted is in the file soon, should this process be killed."""
        self._tally.miss(hook, why, by, question=hook == "prefetch" and why != "blocked")
        with self._lock:
            if time.monotonic() < self._next_keep:
                return
            self._next_keep = time.monotonic() + REPORT_EVERY_S
        self._worker.put(self._tally.keep)

    def _answered(self) -> None:
        if self._tally.answered():
            self._report()

    def _report(self, *, at_once: bool = False) -> None:
        """Tell a daemon that answers what was missed before."""
        with self._lock:
            if at_once and not self._tally.missed():
                return
            if time.monotonic() < self._next_report and not at_once:
                return
            self._next_report = time.monotonic() + REPORT_EVERY_S
        self._worker.put(self._send_report)

    def _send_report(self, *, within_s: float = QUEUED_S) -> bool:
        """Whether a daemon was told."""
        waits = self._tally.to_tell()
        try:
            self._queued.ask("plugin-report", {"host": "hermes", "missed": dict(waits.missed)}, within_s=within_s)
        except Missed:
            return False
        self._tally.told(waits)
        return True


def _home_around(folder: Path) -> Path:
    """The home that the plugin lies in, until Hermes says which one is meant."""
    if folder.parent.name == "plugins":
        return folder.parent.parent
    return Path(os.environ.get("HERMES_HOME") or Path.home() / ".hermes")


def _seen(at: Place) -> str:
    """What can be said of the daemon without asking it."""
    here = at.endpoint()
    if here is None:
        return "none now; it is started when it is needed"
    return str(here["url"]) if at.is_served_by(here) else f"works for {here['hot_dir']}, not for this home"


def _says(at: Place, name: str, words: frozenset[str]) -> bool:
    """What a variable says to us, whatever a daemon that runs already was told."""
    return at.env.get(name, "").strip().lower() in words


def _block(at: Place, *, on_demand: bool, is_away: bool = False) -> str:
    topics = at.env.get(TOPICS, "")
    named = [" ".join(topic.split()) for topic in topics.replace("，", ",").replace("、", ",").split(",")]
    line = ", ".join(topic for topic in named if topic)[:MOST_TOPIC_CHARS]
    about = ON_DEMAND if on_demand else ABOUT
    return "\n".join([about, *([DEGRADED] if is_away else []), *([f"Topics: {line}"] if line else [])])


def _is_blocked(text: str) -> bool:
    """As Hermes' own scanner says; a Hermes without it has nothing to block."""
    try:
        from tools.threat_patterns import scan_for_threats
    except ImportError:
        return False
    return bool(scan_for_threats(text, scope="strict"))
