"""What the core is told: the settings, checked against each other, as the plain values of ``options``."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from memorycore.domain.terms import TARGETS
from memorycore.errors import NotAvailable, SettingsError
from memorycore.hosts import hermes
from memorycore.options import (
    BUNDLED_MODELS,
    BudgetOptions,
    CoreOptions,
    EmbedOptions,
    FileLimits,
    GateOptions,
    HotLimit,
    LimitsSource,
    LlmOptions,
    MaintenanceOptions,
    RemoteOptions,
    Thresholds,
    thresholds_of,
)
from memorycore.outbound import read_address
from memorycore.settings.declared import Origin
from memorycore.settings.rhythm import paces_and_times

if TYPE_CHECKING:
    from memorycore.domain.terms import Target
    from memorycore.settings.declared import Settings

OLLAMA_URL = "http://localhost:11434/v1"
OLLAMA_MODEL = "qwen3-embedding:0.6b"


def core_options(settings: "Settings") -> CoreOptions:
    """What ``MemoryCore.open`` is told.

    Raises:
        NotAvailable: A cold backend that is not built yet.
        SettingsError: Thresholds that contradict each other.
    """
    if settings.cold_backend == "postgres":
        raise NotAvailable(
            what=f"MEMORYCORE_COLD_BACKEND={settings.cold_backend}",
            why="not_built",
            instead="MEMORYCORE_COLD_BACKEND=local",
        )
    limits = _limits(settings)
    return CoreOptions(
        hot_dir=settings.hot_dir,
        data_dir=settings.data_dir,
        namespace=settings.namespace,
        hermes_home=settings.hermes_home,
        hot_limits=limits.hot_limits,
        thresholds=limits.thresholds,
        limits_source=_limits_source(settings),
        remote=_remote(settings),
        embed=_embed(settings),
        llm=LlmOptions(
            model=settings.llm_model.strip(),
            url=settings.llm_url.strip(),
            key=settings.llm_key,
            timeout_s=settings.llm_timeout_s,
            changes_a_day=settings.llm_changes_a_day,
            compress=settings.compress,
            ask_dormant=settings.ask_dormant,
        ),
        vector_weight=settings.vector_weight,
        store_wait_ms=settings.store_wait_ms,
        lock_timeout_s=settings.lock_timeout_s,
        gates=GateOptions(secrets=cast("Any", settings.secrets), pii=cast("Any", settings.pii), quota=settings.quota),
        importance_share=settings.importance_share,
        trash_days=settings.trash_days,
        undo_sticky_days=settings.undo_sticky_days,
        resident_days=settings.rule_min_residency_days,
        state_ttl_days=settings.state_ttl_days,
        activity_log=settings.activity_log_enabled,
        budget=_budget(settings),
        maintenance=_maintenance(settings),
        timezone=settings.zone(),
        language=settings.language,
    )


def _limits(settings: "Settings") -> FileLimits:
    chars: dict[Target, int] = {"memory": settings.char_limit_memory, "user": settings.char_limit_user}
    return FileLimits(
        hot_limits={name: HotLimit(chars=most, where_from=settings.limit_from(name)) for name, most in chars.items()},
        thresholds={name: _thresholds(settings, most) for name, most in chars.items()},
    )


def _limits_source(settings: "Settings") -> LimitsSource | None:
    """Where to look for other limits later; nowhere when both were set by us, or no Hermes is around."""
    theirs: list[Target] = [name for name in TARGETS if settings.limit_from(name).startswith("hermes")]
    home = hermes.home_around(settings.hot_dir, (settings.hermes_home,)) if settings.hermes_home else None
    if not theirs or home is None:
        return None

    def read() -> FileLimits | None:
        """The limits as they are now; None when the config is broken, or while somebody writes it."""
        found = {f"char_limit_{name}": hermes.hot_limit(home, name) for name in theirs}
        if any(one.where_from == "hermes_unreadable" for one in found.values()):
            return None
        origins = {key: Origin("hermes", one.where_from) for key, one in found.items()}
        chars: dict[str, Any] = {key: one.chars for key, one in found.items()}
        try:
            return _limits(replace(settings, **chars, origins={**settings.origins, **origins}))
        except SettingsError:  # marks in characters that would not go with it; the next start says so
            return None

    return LimitsSource(file=home / hermes.CONFIG, read=read)


def _remote(settings: "Settings") -> RemoteOptions | None:
    if settings.cold_backend != "remote":
        return None
    if not settings.remote_url.strip():
        raise SettingsError(key="MNEMOSYNE_URL", why="missing")
    try:
        read_address(settings.remote_url)
    except ValueError:
        raise SettingsError(key="MNEMOSYNE_URL", why="no_address") from None
    return RemoteOptions(url=settings.remote_url.strip(), key=settings.remote_key, timeout_s=settings.remote_timeout_s)


def _maintenance(settings: "Settings") -> MaintenanceOptions:
    if settings.cold_soft_entries > settings.cold_hard_entries:
        raise SettingsError(
            key="cold_soft_entries", why="above_another", value=settings.cold_soft_entries, than="cold_hard_entries",
            most=settings.cold_hard_entries,
        )  # fmt: skip
    paces, crons = paces_and_times(settings.schedule)
    return MaintenanceOptions(
        every=paces,
        cron=crons,
        soft_entries=settings.cold_soft_entries,
        hard_entries=settings.cold_hard_entries,
        decay_bin=settings.decay_bin,
        consolidate=cast("Any", settings.consolidate),
        source_days=settings.source_days,
        backups_kept=settings.backups_kept,
    )


def _budget(settings: "Settings") -> BudgetOptions:
    return BudgetOptions(
        enabled=settings.rule_budget_enabled,
        half_life_days=settings.weight_half_life_days,
        protected_times=settings.protected_times,
        sink_weight=settings.sink_weight,
        most_evicted=settings.max_evict_per_run,
        strong_score=settings.hit_strong_cos,
        strong_hits=cast("Any", settings.hit_strong_mode),
        strong_adds=settings.hit_strong_adds,
        weak_adds=settings.hit_weak_adds,
        recall_adds=settings.hit_recall_adds,
        weak_hits=cast("Any", settings.hit_weak_mode),
        pin_share=settings.pin_share,
        pointer_chars=settings.pointer_chars,
        pointer_share=settings.pointer_share,
        pointer_rest_days=settings.pointer_rest_days,
        most_restored=settings.max_restore_per_recall,
        promote_days=settings.promote_days,
        restore_rest_days=settings.restore_rest_days,
        session_idle_minutes=settings.session_idle_minutes,
        room_step=settings.room_step,
        compress_idle_days=settings.compress_idle_days,
        compress_chars=settings.compress_chars,
        pointer_idle_days=settings.pointer_idle_days,
        completed_days=settings.completed_days,
        dormant_days=settings.dormant_days,
        redundant_days=settings.redundant_days,
        log_days=settings.activity_log_days,
        log_kb=settings.activity_log_kb,
    )


def _thresholds(settings: "Settings", limit: int) -> Thresholds:
    base = thresholds_of(limit)

    def mark(value: float | None) -> int | None:
        """A ratio up to 1, or code points; these cannot be more than the file holds."""
        return None if value is None else min(limit, round(limit * value) if value <= 1 else int(value))

    aim, soft, hard = mark(settings.target_ratio), mark(settings.soft_threshold), mark(settings.hard_threshold)
    # A mark that was not given makes room for those that were; only given ones can contradict each other.
    ends_at = hard if hard is not None else limit
    starts_at = soft if soft is not None else max(aim or 0, min(base.soft, ends_at))
    aims_at = aim if aim is not None else min(base.aim, starts_at)
    if hard is None:
        ends_at = max(base.hard, starts_at)
    for key, value, upper, most in (
        ("target_ratio", aims_at, "soft_threshold", starts_at),
        ("soft_threshold", starts_at, "hard_threshold", ends_at),
    ):
        if value > most:
            raise SettingsError(key=key, why="above_another", value=value, than=upper, most=most)
    rules = mark(settings.rule_budget_chars)
    return Thresholds(
        soft=starts_at, hard=ends_at, aim=aims_at, rule_budget=base.rule_budget if rules is None else rules
    )


def _embed(settings: "Settings") -> EmbedOptions:
    model, url = settings.embed_model.strip(), settings.embed_url.strip()
    if model in BUNDLED_MODELS and (model != "auto" or not url):
        url = ""  # a model of the package, or none, was asked for by name: an address in the config rests
    elif not url:
        url = OLLAMA_URL
    elif model == "auto":
        model = OLLAMA_MODEL
    return EmbedOptions(
        model=model,
        url=url,
        key=settings.embed_key,
        dimensions=settings.embed_dimensions,
        query_prefix=settings.embed_query_prefix,
        passage_prefix=settings.embed_passage_prefix,
        keep_alive=settings.embed_keep_alive,
        timeout_s=settings.embed_timeout_s,
    )
