"""On which addresses the service may listen, and under which names it may be reached."""

from ipaddress import ip_address
from typing import TYPE_CHECKING

from memorycore.errors import NotAvailable
from memorycore.web.tokens import TokenFile

if TYPE_CHECKING:
    from memorycore.settings import Settings

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def is_everywhere(host: str) -> bool:
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def check(settings: "Settings") -> None:
    """Other machines come in with a token of their own only, and under a name that was meant to lead here.

    Raises:
        NotAvailable: The address is not this machine's loopback, and tokens or names are missing.
        StoreError: The file with the tokens cannot be read.
    """
    host = settings.http_host
    if is_loopback(host):
        return
    if not allowed_hosts(settings):
        raise NotAvailable(what=f"MEMORYCORE_HTTP_HOST={host}", why="needs_hosts", instead="127.0.0.1")
    if not TokenFile(settings.data_dir).all():
        raise NotAvailable(what=f"MEMORYCORE_HTTP_HOST={host}", why="needs_tokens", instead="127.0.0.1")


def allowed_hosts(settings: "Settings") -> list[str]:
    """The names of this machine that other machines may use."""
    return [name.strip().lower() for name in settings.http_allowed_hosts.split(",") if name.strip()]


def host_name(header: str) -> str:
    """The name in a ``Host`` header, or behind ``https://`` in an ``Origin``, without its port, in small letters."""
    name = header.strip().lower().rpartition("//")[2]
    if name.startswith("["):
        return name.partition("]")[0] + "]"
    return name.partition(":")[0]
