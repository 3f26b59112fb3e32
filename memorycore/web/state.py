"""What the HTTP service of one process works on."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from memorycore.server.clients import Clients
from memorycore.server.gate import Gate, GateRules
from memorycore.web.tokens import TokenFile

if TYPE_CHECKING:
    from memorycore.server.desk import Desk
    from memorycore.settings import Settings


@dataclass(slots=True, kw_only=True, eq=False)
class State:
    """``desk`` serves the namespace of ``settings``; named tokens of other namespaces get desks of their own.

    ``token`` opens everything, as the user's own programs read it from ``daemon.json``. ``gate`` and ``clients`` are
    shared with whoever else serves calls in this process.
    """

    settings: "Settings"
    desk: "Desk"
    token: str = field(repr=False)
    clients: Clients = field(default_factory=Clients)
    gate: Gate = field(init=False)
    tokens: TokenFile = field(init=False)

    def __post_init__(self) -> None:
        self.gate = Gate(rules_of(self.settings))
        self.tokens = TokenFile(Path(self.settings.data_dir))

    @property
    def allowed_hosts(self) -> Sequence[str]:
        return allowed_hosts(self.settings)


def rules_of(settings: "Settings") -> GateRules:
    return GateRules(
        at_once=settings.calls_at_once,
        per_client=settings.client_calls_at_once,
        waiting=settings.client_calls_waiting,
        calls_per_s=settings.client_calls_per_s,
    )


def allowed_hosts(settings: "Settings") -> list[str]:
    return [name.strip().lower() for name in settings.http_allowed_hosts.split(",") if name.strip()]
