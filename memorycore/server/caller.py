"""Who calls a tool: the name that the client gave itself, and one id for its connection."""

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from memorycore.domain.text import sanitise

if TYPE_CHECKING:
    from collections.abc import Callable

    from memorycore.govern.steps.work import Progress

UNNAMED = "mcp"
PRINCIPAL = "memorycore.principal"  # where the HTTP service keeps it in the scope of a request
LONGEST_NAME = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """``name`` is the default author of what this client stores, ``session_id`` its default session.

    ``bound``: it stores in no other name. ``via``: by what way it came, mcp or api. ``report`` tells it how far a long
    call is.
    """

    name: str
    session_id: str
    bound: bool = False
    via: str = "mcp"
    report: "Callable[[Progress], None] | None" = None

    @property
    def actor(self) -> str:
        return f"{self.via}:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Whom a token of the HTTP service stands for. All empty: the user's own programs, bound to nothing."""

    token: str = ""
    namespace: str = ""
    author: str = ""


def caller(client_name: str, session: str = "") -> Caller:
    """The caller of one request.

    ``session`` is the HTTP session id, or what its place at the desk was given. It may let whoever holds it speak for
    that client, so only a digest of it is kept.
    """
    name = " ".join(sanitise(client_name).split())[:LONGEST_NAME] or UNNAMED
    return Caller(name=name, session_id=f"{name}-{sha256(session.encode()).hexdigest()[:12]}")
