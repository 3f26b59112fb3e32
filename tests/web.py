"""A running daemon spoken to over HTTP: the requests that programs send, and what a page of metrics says."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from memorycore.web.tokens import TokenFile
from tests.daemons import DaemonHome, daemon_home


@dataclass
class Service:
    """One daemon in a home of its own. ``token``: that of its endpoint file."""

    home: DaemonHome
    url: str
    token: str
    client: httpx.Client

    def ask(self, route: str, *, token: str | None = None, **arguments: Any) -> httpx.Response:
        return self.client.post(f"{self.url}/v1/{route}", json=arguments, headers=self.bearer(token))

    def answer(self, route: str, *, token: str | None = None, **arguments: Any) -> dict[str, Any]:
        response = self.ask(route, token=token, **arguments)
        assert response.status_code == 200, f"{response.text} {self.broke()}"
        return response.json()

    def broke(self) -> list[str]:
        """What the daemon's log says of faults."""
        log = self.home.data / "daemon.log"
        return [line for line in log.read_text(encoding="utf-8").splitlines() if " broke " in line]

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.client.get(self.url + path, headers={**self.bearer(), **headers})

    def bearer(self, token: str | None = None) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token if token is None else token}"}

    def named(self, name: str, *, namespace: str = "default", author: str = "") -> str:
        """A new named token."""
        return TokenFile(self.home.data).create(name, namespace=namespace, author=author or name)

    def metrics(self) -> dict[str, float]:
        """Every sample of ``/metrics`` by its name and labels, as they stand on the page."""
        page = self.get("/metrics")
        assert page.headers["content-type"].startswith("text/plain; version=0.0.4")
        lines = [line for line in page.text.splitlines() if not line.startswith("#")]
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


@contextmanager
def service(home: Path, **env: str) -> Generator[Service]:
    with daemon_home(home, **env) as ours, httpx.Client(timeout=30) as client:
        ours.foreground()
        here = ours.leader_of_now()
        yield Service(home=ours, url=here.url, token=here.token, client=client)
