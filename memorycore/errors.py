"""Every error that a caller of MemoryCore may catch.

MemoryCoreError
├── InvalidInput           the request itself is wrong; nothing changed
│   ├── TooLong            more than 64 KiB of text
│   └── SettingsError      an unknown key or an impossible value in a setting
├── NotFound               no memory has this id
├── Conflict               somebody changed the text meanwhile; nothing was overwritten
├── NotAvailable           a part that is not built or not installed
│   └── DaemonGone         the daemon went away before it answered; the call may be made again
├── HotFileError           MEMORY.md or USER.md cannot be used now; the file is untouched
│   ├── Undecodable        a byte that is not UTF-8
│   ├── Unreadable         no permission, a folder in its place, an I/O error
│   ├── Unwritable         read-only file, folder or disk, or no space left
│   └── LockTimeout        another program holds the file lock
├── StoreError             the local database cannot be used now
│   ├── StoreBusy          another process holds the write lock for too long
│   ├── StoreDamaged       the file is not a sound SQLite database
│   ├── SchemaTooNew       written by a newer MemoryCore
│   ├── RemoteUnreachable  the service that keeps the cold tier cannot be used now
│   └── RemoteRefused      that service answered that it does not do this
├── EmbeddingError         no vector could be made; the text itself is safe
├── LlmError               the language model gave no usable answer; both texts stay as they are
├── Unauthorised           no token, or one that does not open this
└── TooManyCalls           this client has too many calls under way; the others come first

Each class carries a stable ``code``; the facts are keyword arguments and become
attributes. Sentences for people, in English and Chinese, live in
``memorycore.messages`` under the same code.
"""

from typing import ClassVar


class MemoryCoreError(Exception):
    """Base of all errors that MemoryCore raises on purpose."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, **facts: object) -> None:
        self.facts = facts
        super().__init__(", ".join(f"{name}={value}" for name, value in facts.items()) or self.code)


class InvalidInput(MemoryCoreError):
    code = "invalid_input"
    exit_code = 2


class TooLong(InvalidInput):
    code = "too_long"


class SettingsError(InvalidInput):
    code = "settings_error"


class NotFound(MemoryCoreError):
    code = "not_found"
    exit_code = 3


class Conflict(MemoryCoreError):
    code = "conflict"
    exit_code = 4
    retryable = True


class NotAvailable(MemoryCoreError):
    code = "not_available"
    exit_code = 5


class DaemonGone(NotAvailable):
    code = "daemon_gone"
    retryable = True


class HotFileError(MemoryCoreError):
    code = "hot_file_error"
    exit_code = 6


class Undecodable(HotFileError):
    """Facts: ``path``, ``offset`` (bytes from the start of the file)."""

    code = "undecodable"


class Unreadable(HotFileError):
    """Facts: ``path``, ``why`` (the system's own words)."""

    code = "unreadable"


class Unwritable(HotFileError):
    """Facts: ``path``, ``why``, ``mode`` (octal text, or ``-``)."""

    code = "unwritable"


class LockTimeout(HotFileError):
    """Facts: ``path`` of the lock file, ``waited_s``."""

    code = "lock_timeout"
    retryable = True


class StoreError(MemoryCoreError):
    code = "store_error"
    exit_code = 7


class StoreBusy(StoreError):
    code = "store_busy"
    retryable = True


class StoreDamaged(StoreError):
    code = "store_damaged"


class SchemaTooNew(StoreError):
    """Facts: ``path``, ``found``, ``known`` (schema numbers)."""

    code = "schema_too_new"


class RemoteUnreachable(StoreError):
    """Facts: ``host``, ``why``, ``sent`` (the call may have been carried out); ``status``, ``retry_after_s``."""

    code = "remote_unreachable"
    retryable = True


class RemoteRefused(StoreError):
    """Facts: ``host``, ``why``; ``status`` where there is one."""

    code = "remote_refused"


class EmbeddingError(MemoryCoreError):
    """Facts: ``model``, ``why``."""

    code = "embedding_error"
    exit_code = 8
    retryable = True


class LlmError(MemoryCoreError):
    """Facts: ``model``, ``why``; ``host``, ``status`` and ``retry_after_s`` where a service answered so."""

    code = "llm_error"
    exit_code = 9
    retryable = True


class Unauthorised(MemoryCoreError):
    """Facts: ``why``."""

    code = "unauthorised"
    exit_code = 10


class TooManyCalls(MemoryCoreError):
    """Facts: ``most`` calls that may wait, ``retry_after_s``."""

    code = "too_many_calls"
    exit_code = 11
    retryable = True
