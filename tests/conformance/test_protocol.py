"""The conformance suite of the protocol against the daemon, named scenarios of both eras.

``make conformance`` installs the suite and runs this. Its scenarios are named one by one: some of the others ask for a
server made for the suite, and some pass on any server that answers at all. The suite knows no tokens, so something
between it and the daemon puts one on.
"""

import json
import os
import re
import socket
import socketserver
import subprocess
import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.web import Service, service

SUITE = os.environ.get("MEMORYCORE_TEST_CONFORMANCE", "")
"""The interpreter of JavaScript and the suite's program, with a line break between them."""

pytestmark = [pytest.mark.conformance, pytest.mark.skipif(not SUITE, reason="make conformance installs the suite")]

SCENARIOS = {
    "2025-11-25": (
        "server-initialize", "server-session-lifecycle", "ping", "tools-list", "tools-call-error", "resources-list",
        "prompts-list", "dns-rebinding-protection",
    ),
    "2026-07-28": (
        "server-stateless", "tools-list", "tools-call-error", "resources-list", "prompts-list",
        "dns-rebinding-protection", "caching", "http-header-validation", "sep-2164-resource-not-found",
        "input-required-result-missing-input-response", "input-required-result-unsupported-methods",
        "input-required-result-ignore-extra-params", "input-required-result-validate-input",
    ),
}  # fmt: skip

# These call a tool that only a server made for the suite has.
OF_THE_SUITES_OWN_TOOLS = frozenset({
    "sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400",
})  # fmt: skip


class WithToken(socketserver.BaseRequestHandler):
    """Passes one request on with a token added to it, and what comes back."""

    def handle(self) -> None:
        asked: socket.socket = self.request
        head = b""
        while b"\r\n\r\n" not in head:
            more = asked.recv(65_536)
            if not more:
                return
            head += more
        first, _, rest = head.partition(b"\r\n")
        rest = re.sub(rb"(?im)^connection:[^\r]*\r\n", b"", rest)  # so that there is one request to a connection
        server: Proxy = self.server  # type: ignore[assignment]
        with socket.create_connection(server.to, timeout=60) as daemon:
            added = b"\r\nauthorization: Bearer " + server.token.encode() + b"\r\nconnection: close\r\n"
            daemon.sendall(first + added + rest)
            threading.Thread(target=pump, args=(asked, daemon), daemon=True).start()
            pump(daemon, asked)


def pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while some := source.recv(65_536):
            sink.sendall(some)
    except OSError:
        return


class Proxy(socketserver.ThreadingTCPServer):
    daemon_threads = True
    to: tuple[str, int]
    token: str


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    with service(tmp_path_factory.mktemp("conformance")) as daemon, Proxy(("127.0.0.1", 0), WithToken) as proxy:
        proxy.to, proxy.token = address(daemon), daemon.token
        threading.Thread(target=proxy.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{proxy.server_address[1]}/mcp"
        finally:
            proxy.shutdown()


def address(daemon: Service) -> tuple[str, int]:
    host, _, port = daemon.url.removeprefix("http://").partition(":")
    return host, int(port)


@pytest.mark.parametrize(
    ("era", "scenario"), [(era, scenario) for era, scenarios in SCENARIOS.items() for scenario in scenarios]
)
def test_a_scenario_passes(url: str, era: str, scenario: str, tmp_path: Path) -> None:
    command = [*SUITE.splitlines(), "server", "--url", url, "--scenario", scenario, "--spec-version", era]
    done = subprocess.run(
        [*command, "--output-dir", str(tmp_path)],
        capture_output=True, text=True, encoding="utf-8", timeout=90, check=False,
    )  # fmt: skip
    checks = [one for file in tmp_path.rglob("checks.json") for one in json.loads(file.read_text(encoding="utf-8"))]
    found = {one["id"]: one["status"] for one in checks}
    assert "SUCCESS" in found.values() or "WARNING" in found.values(), f"{done.stdout}\n{done.stderr}"
    failed = [one for one in checks if one["status"] == "FAILURE" and one["id"] not in OF_THE_SUITES_OWN_TOOLS]
    assert failed == []
