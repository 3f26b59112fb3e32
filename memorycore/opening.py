"""The parts that a core is opened with, made from its options."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

from memorycore.domain.memory import Target
from memorycore.embed import EmbedChoice
from memorycore.hot.tier import FILE_NAMES, HotTier
from memorycore.options import BUNDLED_MODELS, CoreOptions, FileLimits
from memorycore.store import Database, intents


def embed_choice(options: CoreOptions) -> EmbedChoice:
    """The choice of the model, from the options. Proofs and calibrations are kept in the data directory."""
    chosen = options.embed
    bundled = chosen.model in BUNDLED_MODELS and not chosen.url
    return EmbedChoice(
        backend=cast("Any", chosen.model) if bundled else "endpoint",
        url=chosen.url,
        model="" if bundled else chosen.model,
        key=chosen.key,
        dimensions=chosen.dimensions,
        query_prefix=chosen.query_prefix or None,
        passage_prefix=chosen.passage_prefix or None,
        keep_alive=chosen.keep_alive or None,
        timeout_s=chosen.timeout_s,
        cache_dir=options.data_dir,
    )


def within(tier: HotTier, limits: FileLimits, *, governs: bool) -> HotTier:
    """The file with these limits. Where nothing governs it nothing ever leaves, so all of it may be filled."""
    limit, marks = limits.hot_limits[tier.target], limits.thresholds[tier.target]
    ceiling = min(limit.chars, marks.hard) if governs else limit.chars
    return replace(tier, limit=limit.chars, limit_from=limit.where_from, ceiling=ceiling, marks=marks)


def open_tier(db: Database, options: CoreOptions, target: Target, now: datetime) -> HotTier:
    """One hot file with its row in the store, which is made at first contact."""
    tier = HotTier(
        id=0,
        namespace=options.namespace,
        target=target,
        path=options.hot_dir / FILE_NAMES[target],
        limit=options.hot_limits[target].chars,
        ceiling=options.hot_limits[target].chars,
        marks=options.thresholds[target],
        snapshots=options.data_dir / "snapshots",
        resident=timedelta(days=options.resident_days),
        lock_timeout_s=options.lock_timeout_s,
        is_frozen=options.looks_only,
    )
    with db.read() as c:
        known = intents.find_tier(c, options.namespace, tier.directory, target)
    if known is None:
        with db.write() as c:
            known = intents.tier_row(c, options.namespace, tier.directory, target, now)
    limits = FileLimits(hot_limits=options.hot_limits, thresholds=options.thresholds)
    tier = replace(tier, id=known.id, snapshots=tier.snapshots / f"{options.namespace}-{known.id}")
    return within(tier, limits, governs=options.budget.enabled)
