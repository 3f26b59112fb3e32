"""Whatever goes into a hot file comes out of it, and what nobody named stays byte for byte."""

import json
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from memorycore.domain.memory import KINDS, POLICIES
from memorycore.domain.text import entry_hash
from memorycore.errors import InvalidInput, Undecodable
from memorycore.hot.document import DELIMITER, parse, render, why_not_hot
from memorycore.hot.files import Contents, Edited, change, look
from memorycore.hot.sidecar import EntryMeta, Sidecar, parse_sidecar, render_sidecar

NOW = datetime(2026, 3, 1, tzinfo=UTC)

# Text that is likely to be misread: signs, line ends, blanks and marks in all orders, among anything else.
TRICKY = st.sampled_from(
    ["§", "\n", "\n§\n", "\r\n", "\r", " ", "\t", "\u3000", "\ufeff", "\x00", "\u2028", "\x85", "a"]
)
TEXT = st.lists(TRICKY | st.text(max_size=3) | st.characters(), max_size=12).map("".join)
TIME = st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2200, 1, 1)).map(  # noqa: DTZ001 made aware below
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000, tzinfo=UTC)
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)
SHARE = st.floats(min_value=0, max_value=1)
META = st.builds(
    EntryMeta,
    type=st.sampled_from(["rule", "state", "stub"]),
    written_at=TIME,
    origin=st.text(max_size=8),
    id=st.none() | st.text(max_size=8),
    kind=st.none() | st.sampled_from(KINDS),
    policy=st.none() | st.sampled_from(POLICIES),
    protected=st.lists(st.text(max_size=8), max_size=3).map(tuple),
    importance=st.none() | SHARE,
    updated_at=st.none() | TIME,
    weight=st.none() | SHARE,
    resident_until=st.none() | TIME,
    pinned=st.booleans(),
    session_id=st.none() | TEXT,
    extra=st.dictionaries(st.sampled_from(["colour", "note"]), st.integers() | st.text(), max_size=2),
)

without_deadline = settings(deadline=None)  # a busy machine is no failure


def hermes_round_trip_holds(data: bytes) -> bool:
    text = data.decode("utf-8")
    pieces = [piece.strip() for piece in text.split(DELIMITER)]
    return text.strip() == DELIMITER.join(piece for piece in pieces if piece)


@without_deadline
@given(st.lists(TEXT, max_size=6))
def test_any_texts_come_back_as_they_are_or_are_refused(texts: list[str]) -> None:
    try:
        data = render(texts)
    except InvalidInput:
        return
    assert parse(data, path="").entries == tuple(texts)
    assert parse(data, path="").clean
    assert hermes_round_trip_holds(data)


@without_deadline
@given(TEXT)
def test_a_text_that_may_be_hot_can_be_written(text: str) -> None:
    if why_not_hot(text, limit=4000) is None:
        assert parse(render(["before", text.strip(), "after"]), path="").entries == ("before", text.strip(), "after")


@without_deadline
@given(st.binary(max_size=40) | TEXT.map(lambda text: text.encode("utf-8", "replace")))
def test_whatever_can_be_read_can_be_written_and_reads_the_same(data: bytes) -> None:
    try:
        document = parse(data, path="")
    except Undecodable:
        return
    written = render(document.entries)
    assert parse(written, path="").entries == document.entries
    assert hermes_round_trip_holds(written)
    if document.clean:
        assert hermes_round_trip_holds(data)


@without_deadline
@given(st.lists(TEXT, max_size=5), st.data())
def test_how_an_editor_saves_it_makes_no_difference(texts: list[str], data: st.DataObject) -> None:
    entries = tuple(dict.fromkeys(text for text in texts if text.isascii() and why_not_hot(text, limit=4000) is None))
    entries = tuple(dict.fromkeys(entry.strip() for entry in entries))
    blanks = st.text(" \t\n\u3000", max_size=3)
    odd = DELIMITER.join(data.draw(blanks) + entry + data.draw(blanks) for entry in entries)
    odd = odd.replace("\n", data.draw(st.sampled_from(["\n", "\r\n", "\r"])))
    odd = data.draw(st.sampled_from(["", "\ufeff", "\ufeff§\n"])) + odd + data.draw(st.sampled_from(["", "\n§", "\n"]))
    assert parse(odd.encode(), path="").entries == entries


@without_deadline
@given(st.dictionaries(TEXT.map(lambda text: entry_hash(text.encode("utf-8", "replace").decode())), META, max_size=2))
def test_any_meta_comes_back(metas: dict[str, EntryMeta]) -> None:
    assert parse_sidecar(render_sidecar(Sidecar(entries=metas))) == Sidecar(entries=metas)


@without_deadline
@given(st.binary(max_size=30) | JSON.map(lambda value: json.dumps(value).encode()))
def test_no_sidecar_is_too_odd_to_be_read_and_written(data: bytes) -> None:
    sidecar = parse_sidecar(data)
    again = parse_sidecar(render_sidecar(sidecar))
    assert again.entries == sidecar.entries
    assert again.extra == sidecar.extra
    assert not again.damaged


class HotFile(RuleBasedStateMachine):
    """Our changes and those of others, in any order, on a real file; ``expected`` is what must stand in it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "MEMORY.md"
        self.expected: list[str] = []
        self.count = 0

    def teardown(self) -> None:
        self.folder.cleanup()

    def new_text(self, tail: str) -> str:
        self.count += 1
        return f"{self.count} {tail}".strip()

    def edit(self, entries: Sequence[str]) -> None:
        def to_these(found: Contents) -> Edited:
            assert list(found.entries) == self.expected
            return Edited(entries=tuple(entries))

        change(self.path, to_these, snapshots=None, now=NOW)
        self.expected = list(entries)
        assert hermes_round_trip_holds(self.path.read_bytes())

    @rule(tail=st.sampled_from(["§ 12", "中文", "two\nlines", "a\n§§\nb", "x" * 80]))
    def add(self, tail: str) -> None:
        self.edit([*self.expected, self.new_text(tail)])

    @precondition(lambda self: self.expected)
    @rule(data=st.data())
    def replace(self, data: st.DataObject) -> None:
        index = data.draw(st.integers(0, len(self.expected) - 1))
        self.edit([*self.expected[:index], self.new_text("replaced"), *self.expected[index + 1 :]])

    @precondition(lambda self: self.expected)
    @rule(data=st.data())
    def remove_some(self, data: st.DataObject) -> None:
        gone = data.draw(st.sets(st.sampled_from(self.expected), min_size=1))
        self.edit([entry for entry in self.expected if entry not in gone])

    @rule(join=st.sampled_from(["\n§\n", "\n\n§ \n\n", "\r\n§\r\n"]), tail=st.sampled_from(["by hand", "手写"]))
    def somebody_appends(self, join: str, tail: str) -> None:
        text = self.new_text(tail)
        with self.path.open("ab") as file:
            file.write(f"{join}{text}\n".encode())
        self.expected.append(text)

    @precondition(lambda self: self.path.exists())
    @rule(change_of=st.sampled_from([("\n", "\r\n"), ("\n§\n", "\n§ \n"), ("\n§\n", "\n\n§\n"), ("", "")]))
    def somebody_saves_it_oddly(self, change_of: tuple[str, str]) -> None:
        old, new = change_of
        text = self.path.read_bytes().decode().replace("\r\n", "\n")
        self.path.write_bytes(b"\xef\xbb\xbf" + (text.replace(old, new) if old else text).encode())

    @invariant()
    def nothing_else_changed(self) -> None:
        assert list(look(self.path).entries) == self.expected


TestHotFile = HotFile.TestCase
TestHotFile.settings = settings(max_examples=20, stateful_step_count=20, deadline=None)
