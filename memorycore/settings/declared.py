"""The settings themselves: each is declared once, as a field of ``Settings``.

The name of a field is the key in config.toml; its metadata holds the environment names and how a value is read.
"""

# ruff: noqa: RUF009 - setting() makes a dataclass field, which is what belongs there

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from memorycore.domain.terms import DEFAULT_QUOTA, TRASH_DAYS, Language, LimitFrom, Target
from memorycore.errors import SettingsError
from memorycore.messages import language_of
from memorycore.settings.rhythm import schedule
from memorycore.settings.unfit import UnfitError

if TYPE_CHECKING:
    from memorycore.options import CoreOptions

T = TypeVar("T")
_DURATION = re.compile(r"-?\d+(\.\d+)?|(\d+(\.\d+)?(ms|s|m|h))+")
OriginKind = Literal["default", "file", "environment", "argument", "derived", "hermes"]

CONFIG_VARIABLE = "MEMORYCORE_CONFIG"
OUR_PREFIX = "MEMORYCORE_"
TEST_PREFIXES = ("MEMORYCORE_TEST_", "MEMORYCORE_SOAK_")  # the test suite talks to itself

# These choose the optional language model together. Other programs know the same names, so one of them alone says
# nothing to us: then none of the group is read, and no text or key goes anywhere.
ONLY_TOGETHER = ("llm_url", "llm_model")
OF_THE_GROUP = (*ONLY_TOGETHER, "llm_key")

# A name that the predecessor knows and that nothing reads yet. Set or not, it changes nothing.
NOT_YET = ("MEMORYCORE_TRASH_PATH",)
# What the plugin for Hermes reads, from the environment only: in the config file they change nothing.
OF_THE_PLUGIN = ("MEMORYCORE_INDEX_TOPICS", "MEMORYCORE_PREFETCH_IN_GROUPS")


@dataclass(frozen=True, slots=True)
class Origin:
    """Who set a value. ``detail``: the variable, the file, or the rule in a stable word."""

    kind: OriginKind
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One line of ``config show``. A secret never shows its value, only whether it is set."""

    key: str
    variable: str
    value: str | int | float | bool | None
    origin: Origin
    secret: bool = False


# Readers: what stands in the environment (always text) or in the file (a TOML value) becomes a value.


def text(raw: object) -> str:
    if not isinstance(raw, str):
        raise UnfitError("not_text")
    return raw


def yes_or_no(raw: object) -> bool:
    if isinstance(raw, bool):
        return raw
    word = str(raw).strip().lower()
    if word in {"1", "true", "yes", "on"}:
        return True
    if word in {"0", "false", "no", "off"}:
        return False
    raise UnfitError("not_yes_or_no")


def number(least: float, most: float) -> Callable[[object], float]:
    def read(raw: object) -> float:
        if isinstance(raw, bool):
            raise UnfitError("not_a_number")
        try:
            value = float(str(raw))
        except ValueError:
            raise UnfitError("not_a_number") from None
        if not least <= value <= most:  # NaN fails here too
            raise UnfitError("not_between", least=f"{least:.12g}", most=f"{most:.12g}")
        return value

    return read


def whole(least: int, most: int) -> Callable[[object], int]:
    def read(raw: object) -> int:
        value = number(least, most)(raw)
        if not value.is_integer():
            raise UnfitError("not_whole")
        return int(value)

    return read


def duration(raw: object) -> str:
    """Seconds as a number, negative for "for ever", or with units such as ``5m`` and ``1h30m``; text either way."""
    words = "" if isinstance(raw, bool) else str(raw).strip()
    if not _DURATION.fullmatch(words):
        raise UnfitError("not_a_duration")
    return words


def one_of(*allowed: str) -> Callable[[object], str]:
    def read(raw: object) -> str:
        word = text(raw).strip().lower()
        if word not in allowed:
            raise UnfitError("not_one_of", allowed=", ".join(allowed))
        return word

    return read


def spoken_language(raw: object) -> Language:
    found = language_of(text(raw))
    if found is None:
        raise UnfitError("not_one_of", allowed="en, zh")
    return found


def setting(
    default: T,
    *variables: str,
    read: Callable[[object], Any] = text,
    secret: bool = False,
    path: bool = False,
    shared: bool = True,
) -> T:
    """Declare one setting. ``shared`` False: processes that work for each other need not agree on it."""
    facts = {"variables": variables, "read": read, "secret": secret, "path": path, "shared": shared}
    return field(default=default, metadata=facts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)  # what makes neither starts sooner
class Settings:
    """All settings with their final values. What a setting is for stands in ``messages``, under ``setting.<key>``."""

    hot_dir: Path = setting(Path(), "MEMORY_DIR", path=True, shared=False)
    data_dir: Path = setting(Path(), "MEMORYCORE_DATA_DIR", "MNEMOSYNE_DATA_DIR", path=True, shared=False)
    hermes_home: Path | None = setting(None, "HERMES_HOME", path=True)
    namespace: str = setting("", "MEMORYCORE_NAMESPACE", shared=False)
    language: Language = setting("en", "MEMORYCORE_LANG", read=spoken_language, shared=False)
    timezone: str = setting("", "MEMORYCORE_TIMEZONE")

    char_limit_memory: int = setting(0, "MEMORYCORE_CHAR_LIMIT_MEMORY", read=whole(200, 1_000_000))
    char_limit_user: int = setting(0, "MEMORYCORE_CHAR_LIMIT_USER", read=whole(200, 1_000_000))
    soft_threshold: float | None = setting(None, "MEMORYCORE_SOFT_THRESHOLD", read=number(0.05, 1_000_000))
    hard_threshold: float | None = setting(None, "MEMORYCORE_HARD_THRESHOLD", read=number(0.05, 1_000_000))
    target_ratio: float | None = setting(None, "MEMORYCORE_TARGET_RATIO", read=number(0.05, 1_000_000))
    rule_budget_chars: float | None = setting(None, "MEMORYCORE_RULE_BUDGET_CHARS", read=number(0.05, 1_000_000))
    state_ttl_days: int = setting(7, "MEMORYCORE_STATE_TTL_DAYS", read=whole(0, 36_500))
    rule_min_residency_days: int = setting(7, "MEMORYCORE_RULE_MIN_RESIDENCY_DAYS", read=whole(0, 36_500))
    rule_budget_enabled: bool = setting(True, "MEMORYCORE_RULE_BUDGET_ENABLED", read=yes_or_no)  # noqa: FBT003 a default
    weight_half_life_days: float = setting(30.0, "MEMORYCORE_WEIGHT_HALF_LIFE_DAYS", read=number(0.01, 36_500))
    protected_times: float = setting(3.0, "MEMORYCORE_PROTECTED_TIMES", read=number(1, 1_000))
    sink_weight: float = setting(0.5, "MEMORYCORE_SINK_WEIGHT", read=number(0, 1_000))
    max_evict_per_run: int = setting(3, "MEMORYCORE_MAX_EVICT_PER_RUN", read=whole(0, 1_000))
    hit_strong_cos: float | None = setting(None, "MEMORYCORE_HIT_STRONG_COS", read=number(-1, 1))
    hit_strong_mode: str = setting("best", "MEMORYCORE_HIT_STRONG_MODE", read=one_of("best", "all"))
    hit_strong_adds: float = setting(1.0, "MEMORYCORE_HIT_STRONG_ADDS", read=number(0, 1_000))
    hit_weak_adds: float = setting(0.3, "MEMORYCORE_HIT_WEAK_ADDS", read=number(0, 1_000))
    hit_recall_adds: float = setting(0.75, "MEMORYCORE_HIT_RECALL_ADDS", read=number(0, 1_000))
    hit_weak_mode: str = setting("degraded", "MEMORYCORE_HIT_WEAK_MODE", read=one_of("degraded", "off"))
    pin_share: float = setting(0.25, "MEMORYCORE_PIN_SHARE", read=number(0, 1))
    pointer_chars: int = setting(40, "MEMORYCORE_POINTER_CHARS", read=whole(16, 200))
    pointer_share: float = setting(0.15, "MEMORYCORE_POINTER_SHARE", read=number(0, 1))
    pointer_rest_days: float = setting(1.0, "MEMORYCORE_POINTER_REST_DAYS", read=number(0, 36_500))
    max_restore_per_recall: int = setting(3, "MEMORYCORE_MAX_RESTORE_PER_RECALL", read=whole(0, 1_000))
    promote_days: int = setting(2, "MEMORYCORE_PROMOTE_DAYS", read=whole(0, 1_000))
    restore_rest_days: float = setting(1.0, "MEMORYCORE_RESTORE_REST_DAYS", read=number(0, 36_500))
    session_idle_minutes: float = setting(10.0, "MEMORYCORE_SESSION_IDLE_MINUTES", read=number(0, 100_000))
    room_step: float = setting(0.05, "MEMORYCORE_ROOM_STEP", read=number(0, 1))
    compress_idle_days: float = setting(30.0, "MEMORYCORE_COMPRESS_IDLE_DAYS", read=number(0, 36_500))
    compress_chars: int = setting(200, "MEMORYCORE_COMPRESS_CHARS", read=whole(1, 1_000_000))
    pointer_idle_days: float = setting(45.0, "MEMORYCORE_POINTER_IDLE_DAYS", read=number(0, 36_500))
    completed_days: float = setting(60.0, "MEMORYCORE_COMPLETED_DAYS", read=number(0, 36_500))
    dormant_days: float = setting(30.0, "MEMORYCORE_DORMANT_DAYS", read=number(0, 36_500))
    redundant_days: float = setting(30.0, "MEMORYCORE_REDUNDANT_DAYS", read=number(0, 36_500))
    trash_days: int = setting(TRASH_DAYS, "MEMORYCORE_TRASH_DAYS", read=whole(1, 36_500))
    undo_sticky_days: int = setting(TRASH_DAYS, "MEMORYCORE_UNDO_STICKY_DAYS", read=whole(0, 36_500))
    schedule: str = setting("", "MEMORYCORE_SCHEDULE", read=schedule)
    cold_soft_entries: int = setting(6_000, "MEMORYCORE_COLD_SOFT_ENTRIES", read=whole(1, 1_000_000_000))
    cold_hard_entries: int = setting(10_000, "MEMORYCORE_COLD_HARD_ENTRIES", read=whole(1, 1_000_000_000))
    decay_bin: bool = setting(False, "MEMORYCORE_DECAY_BIN", read=yes_or_no)  # noqa: FBT003 a default
    consolidate: str = setting("merge", "MEMORYCORE_CONSOLIDATE", read=one_of("merge", "propose", "off"))
    source_days: float = setting(90.0, "MEMORYCORE_SOURCE_DAYS", read=number(0.01, 36_500))
    backups_kept: int = setting(5, "MEMORYCORE_BACKUPS_KEPT", read=whole(1, 1_000))

    secrets: str = setting("mask", "MEMORYCORE_SECRETS", read=one_of("mask", "refuse"))
    pii: str = setting("off", "MEMORYCORE_PII", read=one_of("off", "redact", "block"))
    quota: int = setting(DEFAULT_QUOTA, "MEMORYCORE_QUOTA", read=whole(1, 1_000_000_000))
    importance_share: float = setting(0.3, "MEMORYCORE_IMPORTANCE_SHARE", read=number(0, 1))

    cold_backend: str = setting("local", "MEMORYCORE_COLD_BACKEND", read=one_of("local", "remote", "postgres"))
    remote_url: str = setting("", "MNEMOSYNE_URL")
    remote_timeout_s: float = setting(10.0, "MNEMOSYNE_TIMEOUT", read=number(0.1, 600))
    remote_key: str = setting("", "MEMORYCORE_REMOTE_KEY", secret=True)
    embed_model: str = setting("auto", "MEMORYCORE_EMBED_MODEL")
    embed_url: str = setting("", "MEMORYCORE_EMBED_URL")
    embed_key: str = setting("", "MEMORYCORE_EMBED_KEY", secret=True)
    embed_dimensions: int | None = setting(None, "MEMORYCORE_EMBED_DIMENSIONS", read=whole(8, 16_384))
    embed_query_prefix: str = setting("", "MEMORYCORE_EMBED_QUERY_PREFIX")
    embed_passage_prefix: str = setting("", "MEMORYCORE_EMBED_PASSAGE_PREFIX")
    embed_keep_alive: str = setting("", "MEMORYCORE_EMBED_KEEP_ALIVE", read=duration)
    embed_timeout_s: float = setting(10.0, "MEMORYCORE_EMBED_TIMEOUT_S", read=number(0.1, 600))
    vector_weight: float | None = setting(None, "MEMORYCORE_VECTOR_WEIGHT", read=number(0, 1))

    llm_url: str = setting("", "LLM_BASE_URL")
    llm_model: str = setting("", "LLM_MODEL")
    llm_key: str = setting("", "LLM_API_KEY", secret=True)
    llm_timeout_s: float = setting(30.0, "MEMORYCORE_LLM_TIMEOUT_S", read=number(0.1, 600))
    llm_changes_a_day: int = setting(50, "MEMORYCORE_LLM_CHANGES_A_DAY", read=whole(0, 1_000_000))
    compress: bool = setting(True, "MEMORYCORE_COMPRESS", read=yes_or_no)  # noqa: FBT003 a default
    ask_dormant: bool = setting(False, "MEMORYCORE_ASK_DORMANT", read=yes_or_no)  # noqa: FBT003 a default

    store_wait_ms: int = setting(150, "MEMORYCORE_STORE_WAIT_MS", read=whole(0, 60_000))
    lock_timeout_s: float = setting(2.0, "MEMORYCORE_LOCK_TIMEOUT_S", read=number(0.05, 600))
    activity_log_enabled: bool = setting(True, "ACTIVITY_LOG_ENABLED", read=yes_or_no)  # noqa: FBT003 a default
    activity_log_days: float = setting(45.0, "MEMORYCORE_ACTIVITY_LOG_DAYS", read=number(0.01, 36_500))
    activity_log_kb: int = setting(2048, "MEMORYCORE_ACTIVITY_LOG_KB", read=whole(1, 1_000_000))

    toolset: str = setting("core", "MEMORYCORE_TOOLSET", read=one_of("core", "full"), shared=False)
    http_host: str = setting("127.0.0.1", "MEMORYCORE_HTTP_HOST", shared=False)
    http_port: int = setting(8765, "MEMORYCORE_HTTP_PORT", read=whole(0, 65_535), shared=False)
    cold_serve_port: int = setting(8766, "MEMORYCORE_COLD_SERVE_PORT", read=whole(0, 65_535), shared=False)
    daemon: str = setting("auto", "MEMORYCORE_DAEMON", read=one_of("auto", "off", "require"), shared=False)
    daemon_port: int = setting(0, "MEMORYCORE_DAEMON_PORT", read=whole(0, 65_535), shared=False)
    daemon_idle_minutes: float = setting(
        10.0, "MEMORYCORE_DAEMON_IDLE_MINUTES", read=number(0, 1_000_000), shared=False
    )
    http_allowed_hosts: str = setting("", "MEMORYCORE_HTTP_ALLOWED_HOSTS", shared=False)
    calls_at_once: int = setting(8, "MEMORYCORE_CALLS_AT_ONCE", read=whole(1, 64), shared=False)
    client_calls_at_once: int = setting(2, "MEMORYCORE_CLIENT_CALLS_AT_ONCE", read=whole(1, 64), shared=False)
    client_calls_waiting: int = setting(64, "MEMORYCORE_CLIENT_CALLS_WAITING", read=whole(1, 10_000), shared=False)
    client_calls_per_s: float = setting(20.0, "MEMORYCORE_CLIENT_CALLS_PER_S", read=number(0.1, 100_000), shared=False)

    prefetch_enabled: bool = setting(True, "MEMORYCORE_PREFETCH_ENABLED", read=yes_or_no)  # noqa: FBT003 a default
    prefetch_results: int = setting(5, "MEMORYCORE_PREFETCH_RESULTS", read=whole(1, 20))
    prefetch_chars: int = setting(1_500, "MEMORYCORE_PREFETCH_CHARS", read=whole(100, 100_000))
    prefetch_session_chars: int = setting(12_000, "MEMORYCORE_PREFETCH_SESSION_CHARS", read=whole(100, 10_000_000))

    config_file: Path | None = None
    origins: Mapping[str, Origin] = field(default_factory=dict[str, Origin])
    without_effect: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Settings(hot_dir={str(self.hot_dir)!r}, data_dir={str(self.data_dir)!r})"  # no secret in a log

    def describe(self) -> list[Shown]:
        """Every setting with its value and origin, in the order of declaration."""
        return [self._shown(declared) for declared in declared_settings()]

    def fingerprint(self) -> str:
        """One word that two processes have in common when they would do the same with a request.

        Directories and namespace are left out, which are compared by themselves, and so is what each process may
        choose alone (language, toolset, addresses). Secrets count; none can be read out of it.
        """
        import hashlib

        shared = {each.name: getattr(self, each.name) for each in declared_settings() if each.metadata["shared"]}
        shared["timezone"] = self.zone()
        words = "\n".join(f"{name}={value!s}" for name, value in sorted(shared.items()))
        return hashlib.sha256(words.encode("utf-8", "surrogateescape")).hexdigest()

    def _shown(self, declared: Field[Any]) -> Shown:
        value = getattr(self, declared.name)
        secret = bool(declared.metadata["secret"])
        if isinstance(value, Path):
            value = str(value)
        return Shown(
            key=declared.name,
            variable=declared.metadata["variables"][0],
            value=bool(value) if secret else value,
            origin=self.origins.get(declared.name, Origin("default")),
            secret=secret,
        )

    def limit_from(self, target: Target) -> LimitFrom:
        origin = self.origins.get(f"char_limit_{target}", Origin("default"))
        if origin.kind == "hermes":
            return cast("LimitFrom", origin.detail)
        return "default" if origin.kind == "default" else "setting"

    def zone(self) -> tzinfo:
        """The zone in which a date without a time is read; the system's own when nothing is set."""
        return time_zone(self.timezone)

    def core_options(self) -> "CoreOptions":
        """What ``MemoryCore.open`` is told.

        Raises:
            NotAvailable: A cold backend that is not built yet.
            SettingsError: Thresholds that contradict each other.
        """
        from memorycore.settings.for_core import core_options  # whoever only reads settings does without it

        return core_options(self)


def declared_settings() -> tuple[Field[Any], ...]:
    return tuple(declared for declared in fields(Settings) if "variables" in declared.metadata)


def variables() -> dict[str, str]:
    """Every environment name that is read, with the key it sets."""
    known = {name: declared.name for declared in declared_settings() for name in declared.metadata["variables"]}
    for declared in declared_settings():
        if declared.metadata["secret"]:
            known[declared.metadata["variables"][0] + "_FILE"] = declared.name + "_file"
    return known


def time_zone(name: str) -> tzinfo:
    """The zone of that name; the system's own for an empty name.

    Raises:
        SettingsError: No zone has this name.
    """
    import zoneinfo

    if name:
        try:
            return zoneinfo.ZoneInfo(name)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise SettingsError(key="timezone", why="no_time_zone", value=name) from error
    link = Path("/etc/localtime")
    _, found, system = str(link.resolve()).rpartition("zoneinfo/") if link.is_symlink() else ("", "", "")
    for candidate in (os.environ.get("TZ", "").lstrip(":"), system if found else ""):
        if candidate:
            try:
                return zoneinfo.ZoneInfo(candidate)
            except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
                continue
    return datetime.now().astimezone().tzinfo or UTC  # a fixed offset: right today, an hour off across the change
