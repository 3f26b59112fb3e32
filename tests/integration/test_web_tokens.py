"""Named tokens: each opens one namespace in one author's name, shown once, revoked alone."""

import json
import stat
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from memorycore.errors import InvalidInput, NotAvailable, StoreError
from memorycore.settings import load_settings
from memorycore.web import binding
from memorycore.web.tokens import FILE, TokenFile
from tests.daemons import DaemonHome
from tests.web import Service, service


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with service(tmp_path_factory.mktemp("tokens")) as running:
        yield running


def command(home: DaemonHome, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "memorycore", "token", *arguments, "--json"],
        env=home.environment(), capture_output=True, text=True, encoding="utf-8", check=False, timeout=60,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_a_token_made_by_the_command_opens_until_it_is_revoked(daemon: Service) -> None:
    made = command(daemon.home, "create", "laptop", "--author", "Ann")
    assert (made["namespace"], made["author"]) == ("default", "Ann")
    assert daemon.ask("status", token=made["token"]).status_code == 200
    assert "laptop" in [one["name"] for one in command(daemon.home, "list")["tokens"]]
    assert command(daemon.home, "revoke", "laptop") == {"name": "laptop", "revoked": True}
    assert daemon.ask("status", token=made["token"]).status_code == 401
    assert command(daemon.home, "revoke", "laptop")["code"] == "invalid_input"


def test_a_token_stores_in_its_authors_name_and_no_other(daemon: Service) -> None:
    token = daemon.named("phone", author="Bea")
    stored = daemon.answer("store", token=token, content="The lift in Lugano is out of order.", author="Ann")
    assert daemon.answer("inspect", id=stored["id"])["fields"]["author"] == "Bea"


def test_a_token_of_another_namespace_sees_that_one_only(daemon: Service) -> None:
    bot = daemon.named("bot", namespace="helpdesk")
    theirs = daemon.answer("store", token=bot, content="The spare keys hang in the cellar of Tartu.")
    rule = daemon.answer("store", token=bot, content="Always answer the tickets from Tartu first.", target="memory")
    ours = daemon.answer("store", content="The router in Tartu is blue.")
    assert [one["id"] for one in daemon.answer("recall", query="cellar keys of Tartu", token=bot)["results"]]
    assert daemon.ask("inspect", id=theirs["id"]).status_code == 404
    assert daemon.ask("inspect", id=ours["id"], token=bot).status_code == 404
    assert ours["id"] not in json.dumps(daemon.answer("recall", query="router in Tartu", token=bot))
    assert rule["tier"] == "hot"
    assert not any("Tartu first" in row["text"] for row in daemon.answer("audit")["targets"][0]["rows"])


def test_the_file_holds_no_token_and_is_for_its_owner_only(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path)
    token = tokens.create("one", namespace="default", author="one")
    assert token not in (tmp_path / FILE).read_text(encoding="utf-8")
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    found = tokens.find(token)
    assert found is not None
    assert (found.name, tokens.find(token[:-1]), tokens.find("")) == ("one", None, None)


def test_two_tokens_do_not_share_a_name_and_a_name_is_plain(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path)
    tokens.create("one", namespace="default", author="Ann")
    for name in ("one", "", "../up", "a b", ".hidden", "x" * 65):
        with pytest.raises(InvalidInput):
            tokens.create(name, namespace="default", author="Ann")
    with pytest.raises(InvalidInput):
        tokens.create("two", namespace="../../etc", author="Ann")
    assert [one.name for one in tokens.all()] == ["one"]


def test_another_process_sees_a_change_at_once(tmp_path: Path) -> None:
    one, other = TokenFile(tmp_path), TokenFile(tmp_path)
    assert other.all() == ()
    token = one.create("a", namespace="default", author="a")
    assert other.find(token) is not None
    one.revoke("a")
    assert other.find(token) is None


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_a_file_that_others_can_read_or_that_is_damaged_opens_nothing(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path)
    token = tokens.create("a", namespace="default", author="a")
    (tmp_path / FILE).chmod(0o644)
    with pytest.raises(StoreError):
        TokenFile(tmp_path).find(token)
    (tmp_path / FILE).chmod(0o600)
    (tmp_path / FILE).write_text('{"tokens": [{"name": "a"}]}', encoding="utf-8")
    with pytest.raises(StoreError):
        TokenFile(tmp_path).find(token)


def test_another_address_needs_allowed_hosts_and_a_token(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "MEMORYCORE_HTTP_HOST": "0.0.0.0"}  # noqa: S104 - what must not be without a token
    with pytest.raises(NotAvailable) as without_names:
        binding.check(load_settings(env))
    assert without_names.value.facts["why"] == "needs_hosts"
    settings = load_settings({**env, "MEMORYCORE_HTTP_ALLOWED_HOSTS": "memory.example, other.example"})
    with pytest.raises(NotAvailable) as without_token:
        binding.check(settings)
    assert without_token.value.facts["why"] == "needs_tokens"
    TokenFile(settings.data_dir).create("a", namespace="default", author="a")
    binding.check(settings)
    assert binding.allowed_hosts(settings) == ["memory.example", "other.example"]


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("127.0.0.1:8080", "127.0.0.1"),
        ("[::1]:8080", "[::1]"),
        ("http://LOCALHOST:1", "localhost"),
        ("https://memory.example", "memory.example"),
        ("null", "null"),
        ("127.0.0.1.evil.example", "127.0.0.1.evil.example"),
        ("127.0.0.1@evil.example", "127.0.0.1@evil.example"),
        ("", ""),
    ],
)
def test_the_name_in_a_header_is_read_without_port_and_scheme(header: str, name: str) -> None:
    assert binding.host_name(header) == name


def test_the_numbers_of_the_whole_daemon_are_for_its_own_namespace(daemon: Service) -> None:
    ours, theirs = daemon.named("prometheus"), daemon.named("stranger", namespace="elsewhere")
    assert daemon.client.get(f"{daemon.url}/metrics", headers=daemon.bearer(ours)).status_code == 200
    refused = daemon.client.get(f"{daemon.url}/metrics", headers=daemon.bearer(theirs))
    assert (refused.status_code, refused.json()["code"]) == (403, "unauthorised")
    assert "memorycore_memories" not in refused.text
