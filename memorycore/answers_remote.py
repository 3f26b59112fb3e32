"""What every surface tells of the service that has copies of the cold tier."""

from typing import NotRequired, TypedDict


class RemoteUsage(TypedDict):
    """The service that has copies: what waits for it, and what it refused.

    While it cannot be used, ``down_since``, ``next_try`` and ``why``, a code.
    """

    url: str
    waiting: int
    failed: int
    down_since: NotRequired[str]
    next_try: NotRequired[str]
    why: NotRequired[str]
