"""What the HTTP service of one process works on."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memorycore.server.clients import Clients
from memorycore.server.gate import Gate, GateRules
from memorycore.web.binding import allowed_hosts
from memorycore.web.desks import Desks
from memorycore.web.tokens import TokenFile

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    names: "Sequence[str]" = field(init=False)
    desks: Desks = field(init=False)

    def __post_init__(self) -> None:
        self.gate = Gate(
            GateRules(
                at_once=self.settings.calls_at_once,
                per_client=self.settings.client_calls_at_once,
                waiting=self.settings.client_calls_waiting,
                calls_per_s=self.settings.client_calls_per_s,
            )
        )
        self.tokens = TokenFile(self.settings.data_dir)
        self.names = allowed_hosts(self.settings)
        self.desks = Desks(self.desk, self.settings.namespace)
