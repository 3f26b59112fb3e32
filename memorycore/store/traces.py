"""Looking for what should be gone, in the raw bytes of files: what anybody reads who has the disk."""

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import apsw

from memorycore.domain.text import index_tokens

Form = Literal["text", "utf-16", "json", "words", "vector"]

LEAST_CHARS = 6
LEAST_BYTES = 12
WHOLE_CHARS = 200
PIECE_CHARS = 48
MOST_PIECES = 24
WHOLE_VECTOR_BYTES = 1_200
LOCAL_BYTES = 380  # of a row that is too long for a page so much is there, the rest on others
BLOCK_BYTES = 8 * 1024 * 1024
# The index of the write-ahead log holds numbers of pages and no text. It carries the locks of SQLite: a process that
# opens and closes it beside the driver drops its own.
NOT_READ = "-shm"
DATABASES = ".db"

Read = Callable[[int, int], bytes]
"""``read(offset, size)``: so many bytes, fewer at the end."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Bytes that a text or a vector leaves behind, and in which form it is then."""

    form: Form
    needle: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """How much was searched, which form of it was found in which file, and what could not be read."""

    files: int
    size_bytes: int
    found: tuple[tuple[Path, Form], ...]
    unread: tuple[Path, ...]

    def together(self, other: "Searched") -> "Searched":
        """Two searches of one set of files, of which the other one may have seen only some."""
        return Searched(
            files=max(self.files, other.files),
            size_bytes=max(self.size_bytes, other.size_bytes),
            found=tuple(dict.fromkeys((*self.found, *other.found))),
            unread=tuple(dict.fromkeys((*self.unread, *other.unread))),
        )


def is_telling(text: str) -> bool:
    """Whether a text is long enough to be searched for: a few letters stand everywhere."""
    return len(text) >= LEAST_CHARS and len(text.encode("utf-8")) >= LEAST_BYTES


def pieces(text: str, *, most: int = MOST_PIECES) -> list[str]:
    """A text as it is searched for: whole; a long one, which may lie on several pages, in pieces, evenly taken."""
    if len(text) <= WHOLE_CHARS:
        return [text]
    cut = [text[start : start + PIECE_CHARS] for start in range(0, len(text) - PIECE_CHARS + 1, PIECE_CHARS)]
    step = -(-len(cut) // most)
    return list(dict.fromkeys(piece for piece in (*cut[::step], text[-PIECE_CHARS:]) if is_telling(piece.strip())))


def of_words(text: str, *, most: int = MOST_PIECES) -> list[tuple[str, Trace]]:
    """The words of a text as the text index holds them, piece by piece, each with what to search for."""
    return [
        (piece, Trace("words", piece.encode("utf-8")))
        for piece in pieces(index_tokens(text), most=most)
        if is_telling(piece)
    ]


def of_text(text: str, *, most: int = MOST_PIECES) -> list[tuple[str, list[Trace]]]:
    """The pieces of a text, each with every form in which one of ours would write it: plain, in JSON, on Windows."""
    found: list[tuple[str, list[Trace]]] = []
    for piece in pieces(text, most=most):
        plain = piece.encode("utf-8")
        escaped = {json.dumps(piece, ensure_ascii=ascii_only)[1:-1].encode("utf-8") for ascii_only in (True, False)}
        forms = [Trace("text", plain), Trace("utf-16", piece.encode("utf-16-le"))]
        found.append((piece, [*forms, *(Trace("json", one) for one in sorted(escaped - {plain}))]))
    return found


def of_vector(vector: bytes) -> list[Trace]:
    """A vector whole, or the beginning, the end and a middle of one that may lie on several pages."""
    middle = len(vector) // 2
    parts = {vector[:LOCAL_BYTES], vector[middle : middle + LOCAL_BYTES], vector[-LOCAL_BYTES:]}
    return [Trace("vector", part) for part in ({vector} if len(vector) <= WHOLE_VECTOR_BYTES else parts) if any(part)]


def files_below(data_dir: Path, hot_dir: Path) -> list[Path]:
    """Every file of the data directory, at any depth, and every one beside the hot files."""
    found = [*data_dir.rglob("*"), *(hot_dir.iterdir() if hot_dir.is_dir() else ())]
    return sorted({path for path in found if not path.name.endswith(NOT_READ) and path.is_file()})


def search(files: Iterable[Path], traces: Sequence[Trace]) -> Searched:
    """Look for each trace in each file."""
    found: dict[tuple[Path, Form], None] = {}
    unread: list[Path] = []
    count = size_bytes = 0
    for path in files:
        try:
            with opened(path) as read:
                for block in _blocks(read, overlap=max((len(trace.needle) for trace in traces), default=1) - 1):
                    for trace in traces:
                        if trace.needle in block:
                            found[path, trace.form] = None
                    size_bytes += min(len(block), BLOCK_BYTES)
        except FileNotFoundError:  # a snapshot that somebody else just dropped
            continue
        except (OSError, apsw.Error):
            unread.append(path)
            continue
        count += 1
    return Searched(files=count, size_bytes=size_bytes, found=tuple(found), unread=tuple(unread))


@contextmanager
def opened(path: Path) -> Generator[Read]:
    """Read a file in pieces; a database through the driver.

    POSIX drops every lock that a process has on a file when it closes any handle of it. The driver knows, and keeps
    its own handles open for that; a plain ``open`` would leave our connections without locks.
    """
    if path.suffix == DATABASES:
        flags = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY
        file = apsw.VFSFile("", str(path), [flags, 0])
        try:
            size = file.xFileSize()
            yield lambda offset, wanted: file.xRead(max(0, min(wanted, size - offset)), offset)
        finally:
            file.xClose()
        return
    with closing(path.open("rb")) as plain:

        def read(offset: int, wanted: int) -> bytes:
            plain.seek(offset)
            return plain.read(wanted)

        yield read


def _blocks(read: Read, *, overlap: int) -> Iterator[bytes]:
    offset = 0
    while block := read(offset, BLOCK_BYTES + overlap):
        yield block
        if len(block) < BLOCK_BYTES + overlap:
            return
        offset += BLOCK_BYTES
