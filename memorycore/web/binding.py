"""On which addresses the service may listen, and under which names it may be reached."""

from collections.abc import Sequence
from ipaddress import ip_address

from memorycore.errors import NotAvailable
from memorycore.web.tokens import TokenFile

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def check(host: str, *, allowed_hosts: Sequence[str], tokens: TokenFile) -> None:
    """Other machines come in with a token of their own only, and under a name that was meant to lead here.

    Raises:
        NotAvailable: The address is not this machine's loopback, and tokens or names are missing.
        StoreError: The file with the tokens cannot be read.
    """
    if is_loopback(host):
        return
    if not tokens.all():
        raise NotAvailable(what=f"--host {host}", why="needs_named_token", instead="memorycore token create NAME")
    if not allowed_hosts:
        raise NotAvailable(
            what=f"--host {host}", why="needs_allowed_hosts", instead="MEMORYCORE_HTTP_ALLOWED_HOSTS=memory.example"
        )


def host_name(header: str) -> str:
    """The name in a ``Host`` header, or behind ``https://`` in an ``Origin``, without its port, in small letters."""
    name = header.strip().lower().rpartition("//")[2]
    if name.startswith("["):
        return name.partition("]")[0] + "]"
    return name.partition(":")[0]
