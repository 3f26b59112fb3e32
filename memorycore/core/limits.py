"""The limits of the hot files while we run: a host may change what it allows, and asks nobody."""

import logging
from collections.abc import MutableMapping

from memorycore.domain.memory import Target
from memorycore.hot.tier import HotTier
from memorycore.opening import within
from memorycore.options import CoreOptions

_log = logging.getLogger(__name__)


class Limits:
    """Keeps the open files as their host's config says. To look costs one ``stat``; only what changed is read."""

    def __init__(self, options: CoreOptions, tiers: MutableMapping[Target, HotTier], *, long_lived: bool) -> None:
        self._source = options.limits_source
        self._governs = options.budget.enabled
        self._tiers = tiers
        # Whoever lives long may have read its settings long before it opens its files.
        self._seen = None if long_lived else self._stamp()

    def may_differ(self) -> bool:
        """Whether the config changed since it was last read."""
        return self._source is not None and self._stamp() != self._seen

    def follow(self) -> None:
        """Take over what the config says, if it changed."""
        if self._source is None or (stamp := self._stamp()) == self._seen:
            return
        self._seen = stamp  # taken before it is read: what is written meanwhile is another change
        if (limits := self._source.read()) is None:
            _log.warning("%s says nothing that can be used; the limits stay as they were", self._source.file)
            return
        for target, tier in list(self._tiers.items()):
            self._tiers[target] = within(tier, limits, governs=self._governs)

    def _stamp(self) -> tuple[int, int, int]:
        """What tells one state of the file from another; of one that is not there or out of reach, zeros."""
        if self._source is None:
            return (0, 0, 0)
        try:
            found = self._source.file.stat()
        except OSError:
            return (0, 0, 0)
        return found.st_mtime_ns, found.st_size, found.st_ino
