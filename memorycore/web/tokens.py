"""Named tokens: each opens one namespace in one author's name, and can be revoked alone.

They stand in ``tokens.json`` beside the database, for their owner's eyes only, and hashed: a token has 256 bits of
chance, so that a plain hash of it tells nothing. It is shown once, when it is made. Whoever holds the file open anew
sees a change at the next request.
"""

import hmac
import json
import os
import secrets
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from memorycore.errors import InvalidInput, StoreError

FILE = "tokens.json"
LOCK = "tokens.lock"
LOCK_WAIT_S = 5.0
PREFIX = "mc_"
LONGEST_NAME = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedToken:
    """What the file holds of a token. ``created_at``: ISO 8601, UTC."""

    name: str
    namespace: str
    author: str
    created_at: str
    sha256: str


class TokenFile:
    """The named tokens of one data directory. Usable from every thread."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / FILE
        self._read_as: tuple[int, int, int] | None = None
        self._known: tuple[NamedToken, ...] = ()

    def all(self) -> Sequence[NamedToken]:
        """Every token, in the order in which they were made; read again when the file has changed.

        Raises:
            StoreError: The file cannot be read, or others could.
        """
        try:
            found = self._path.stat()
        except FileNotFoundError:
            self._read_as, self._known = None, ()
            return ()
        except OSError as error:
            raise StoreError(path=str(self._path), why=error.strerror) from error
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        if stamp != self._read_as:
            if os.name == "posix" and found.st_mode & 0o077:
                raise StoreError(path=str(self._path), why="readable_by_others")
            self._known = self._read()
            self._read_as = stamp
        return self._known

    def find(self, token: str) -> NamedToken | None:
        """The token that was given, compared in constant time.

        Raises:
            StoreError: The file cannot be read, or others could.
        """
        given = _hash(token)
        found = None
        for known in self.all():
            if hmac.compare_digest(known.sha256, given):
                found = known
        return found

    def create(self, name: str, *, namespace: str, author: str) -> str:
        """Make a token and give it, this once.

        Raises:
            InvalidInput: The name is taken or is none.
            StoreError: The file cannot be read or written.
        """
        token = PREFIX + secrets.token_urlsafe(32)
        made = NamedToken(
            name=_checked("NAME", name),
            namespace=_checked("--namespace", namespace),
            author=_checked("--author", author),
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
            sha256=_hash(token),
        )
        with self._held():
            known = self.all()
            if any(one.name == made.name for one in known):
                raise InvalidInput(field="NAME", why="name_taken", value=made.name)
            self._write([*known, made])
        return token

    def revoke(self, name: str) -> NamedToken:
        """Take a token away; it opens nothing from now on.

        Raises:
            InvalidInput: There is none of that name.
            StoreError: The file cannot be read or written.
        """
        with self._held():
            known = self.all()
            gone = next((one for one in known if one.name == name), None)
            if gone is None:
                raise InvalidInput(field="NAME", why="no_such_token", value=name)
            self._write([one for one in known if one is not gone])
        return gone

    @contextmanager
    def _held(self) -> Generator[None]:
        """Two who change the file at once must not lose each other's token."""
        from filelock import FileLock, Timeout

        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with FileLock(str(self._path.with_name(LOCK)), timeout=LOCK_WAIT_S):
                yield
        except (Timeout, OSError) as error:
            raise StoreError(path=str(self._path), why=getattr(error, "strerror", None) or "locked") from error

    def _read(self) -> tuple[NamedToken, ...]:
        try:
            found: Any = json.loads(self._path.read_bytes())
            return tuple(NamedToken(**one) for one in found["tokens"])
        except OSError as error:
            raise StoreError(path=str(self._path), why=error.strerror) from error
        except (ValueError, TypeError, KeyError) as error:
            raise StoreError(path=str(self._path), why="not_json") from error

    def _write(self, tokens: Sequence[NamedToken]) -> None:
        number, name = tempfile.mkstemp(prefix=f".{FILE}.", dir=self._path.parent)  # made with mode 0600
        try:
            with os.fdopen(number, "w", encoding="utf-8") as file:
                json.dump({"tokens": [asdict(one) for one in tokens]}, file, ensure_ascii=False, indent=1)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(self._path)
        except OSError:
            with suppress(OSError):
                Path(name).unlink()
            raise


def _hash(token: str) -> str:
    return sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def _checked(field: str, word: str) -> str:
    """Names go into file names, labels and the ledger: letters, digits and ``. _ -`` only."""
    if not word or len(word) > LONGEST_NAME or not all(sign.isalnum() or sign in "._-" for sign in word):
        raise InvalidInput(field=field, why="not_a_plain_name", value=word)
    if word.startswith("."):
        raise InvalidInput(field=field, why="not_a_plain_name", value=word)
    return word
