"""What the doctor looks at around the memory: the daemon, what runs by itself, the service elsewhere, the clients."""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from memorycore import endpoint, messages
from memorycore.cli.finding import Finding
from memorycore.options import CoreOptions

if TYPE_CHECKING:
    from memorycore.settings import Settings


def check_daemon(settings: "Settings") -> Iterator[Finding]:
    """Whether one runs here, answers, and is the one that clients with these settings would use."""
    from memorycore.cli.shown_daemon import differences
    from memorycore.daemon import control, logs

    found = control.find(settings.data_dir)
    if found is None:
        left = endpoint.read(settings.data_dir)
        if left is not None:
            yield Finding(level="warn", code="daemon_left", facts={"path": settings.data_dir / endpoint.FILE})
        if settings.daemon == "require":
            yield Finding(level="fail", code="daemon_required")
        else:
            yield Finding(level="pass", code="daemon_none")
        return
    who = found.leader
    facts: dict[str, object] = {"pid": who.pid, "version": who.version, "host": who.host}
    if found.endpoint is None:
        yield Finding(level="fail", code="daemon_silent", facts={**facts, "log": settings.data_dir / logs.FILE})
        return
    yield Finding(level="pass", code="daemon", facts={**facts, "url": found.endpoint.url})
    for difference in differences(settings, found.endpoint):
        is_newer = difference == "version" and not control.is_older(who.version)
        yield Finding(level="warn", code="daemon_newer" if is_newer else f"daemon_{difference}", facts=facts)


def check_remote(options: CoreOptions) -> Iterator[Finding]:
    """Whether the service that keeps copies of the cold tier answers. It is asked how much it has, and told nothing."""
    if options.remote is None:
        return
    from memorycore.cold.remote import RemoteColdStore
    from memorycore.errors import MemoryCoreError

    store = RemoteColdStore(options.remote.url, key=options.remote.key, timeout_s=options.remote.timeout_s)
    try:
        total = store.stats().total
    except MemoryCoreError as error:
        what = messages.error_text(error, options.language)
        yield Finding(level="warn", code="remote_silent", facts={"host": store.host, "why": error.code, "what": what})
    else:
        yield Finding(level="pass", code="remote", facts={"host": store.host, "count": total})
    finally:
        store.close()


def check_clients(env: Mapping[str, str]) -> Iterator[Finding]:
    """Whether what the files of clients name can be started. A client without an entry of ours is no matter."""
    from memorycore.hosts import clients
    from memorycore.settings import user_home

    for name in clients.CLIENTS:
        found = clients.client(name, home=user_home(env), env=env)
        command = clients.written_command(found)
        if command is None:
            continue
        facts = {"client": name, "file": found.file, "command": command}
        works = os.access(command, os.X_OK) if Path(command).is_absolute() else shutil.which(command) is not None
        yield Finding(level="pass" if works else "fail", code="client" if works else "client_broken", facts=facts)
