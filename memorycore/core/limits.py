"""The limits of the hot files while we run: a host may change what it allows, and asks nobody."""

import logging
import time
from collections.abc import MutableMapping

from memorycore.domain.memory import Target
from memorycore.hot.tier import HotTier
from memorycore.opening import within
from memorycore.options import CoreOptions, FileLimits

SETTLED_AFTER_S = 2.0
"""So long a config without limits must stay as it is until they fall: an editor may be in the middle of writing it."""

_log = logging.getLogger(__name__)


class Limits:
    """Keeps the open files as their host's config says. To look costs one ``stat``; only what changed is read."""

    def __init__(self, options: CoreOptions, tiers: MutableMapping[Target, HotTier], *, long_lived: bool) -> None:
        self._source = options.limits_source
        self._governs = options.budget.enabled
        self._tiers = tiers
        # Whoever lives long may have read its settings long before it opens its files.
        self._seen = None if long_lived else self._stamp()
        self._unsettled: tuple[tuple[int, ...], float] | None = None

    def may_differ(self) -> bool:
        """Whether the config changed since it was last read."""
        return self._source is not None and self._stamp() != self._seen

    def follow(self) -> None:
        """Take over what the config says, if it changed."""
        if self._source is None or (stamp := self._stamp()) == self._seen:
            return
        limits = self._source.read()
        if limits is not None and self._falls_for_lack(limits) and not self._is_settled(stamp):
            return
        self._seen = stamp  # taken before it was read: what is written meanwhile is another change
        if limits is None:
            _log.warning("%s says nothing that can be used; the limits stay as they were", self._source.file)
            return
        for target, tier in list(self._tiers.items()):
            self._tiers[target] = within(tier, limits, governs=self._governs)

    def _falls_for_lack(self, limits: FileLimits) -> bool:
        """Whether a file would have to shrink, and not because somebody said so."""
        return any(
            limits.hot_limits[target].where_from == "hermes_default" and limits.hot_limits[target].chars < tier.limit
            for target, tier in self._tiers.items()
        )

    def _is_settled(self, stamp: tuple[int, ...]) -> bool:
        now = time.monotonic()
        if self._unsettled is None or self._unsettled[0] != stamp:
            self._unsettled = (stamp, now)
        return now - self._unsettled[1] >= SETTLED_AFTER_S

    def _stamp(self) -> tuple[int, ...]:
        """What tells one state of the file from another; of one that is not there or out of reach, zeros."""
        if self._source is None:
            return (0, 0, 0)
        try:
            found = self._source.file.stat()
        except OSError:
            return (0, 0, 0)
        # With the time of its rights too: a file that could not be read may be readable later.
        return found.st_mtime_ns, found.st_size, found.st_ino, found.st_ctime_ns
