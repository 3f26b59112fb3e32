"""The acts of the demo, in order."""

import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import anyio

from memorycore.cli.demo.server import Answer, Server, ServerGoneError, running_server
from memorycore.cli.demo.show import Show
from memorycore.cli.demo.world import Edit, Mistake, Question, Retirement, Statement, World
from memorycore.hot.document import Document, parse, size

PLACES = ("memory", "user", "cold", "bin", "known")
FILES = {"memory": "MEMORY.md", "user": "USER.md"}
ANSWERED_BEFORE_THE_KILL = 6
MODEL_WITHIN_S = 30.0
POLL_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One statement and what the server answered to it."""

    statement: Statement
    answer: Answer

    @property
    def id(self) -> str:
        return str(self.answer.said["id"])

    @property
    def place(self) -> str:
        said = self.answer.said
        if "duplicate" in said["status"]:
            return "known"
        return str(said["target"]) if said["tier"] == "hot" else str(said["tier"])

    @property
    def reason(self) -> str:
        """The sentence of its first reason, without the code before it."""
        reasons = self.answer.said["reasons"]
        return str(reasons[0]).partition(": ")[2] if reasons else ""


async def play(show: Show, folder: Path, world: World) -> bool:
    """All acts. True when everything that was acknowledged was there at the end.

    Raises:
        ServerGoneError: The server ended where nobody had killed it.
    """
    try:
        return await _acts(show, folder, world)
    except BaseExceptionGroup as group:  # the client's own tasks pack whatever ends them, once or more
        raise _innermost(group) from None


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


async def _acts(show: Show, folder: Path, world: World) -> bool:
    show.opening()
    async with running_server(folder, show.language) as server:
        told = await _tell(server, show, world.statements)
        await _wait_for_vectors(server, show)
        _places(show, told)
        _files(show, folder, await _limits(server))
        await _ask(server, show, world.questions)
        edited = await _edit(server, show, folder, world.edit, told)
        told.append(await _undo(server, show, world.mistake))
        came_back = await _retire(show, folder, world.retirement)
        told += await _kill(server, show, world.last)
    async with running_server(folder, show.language) as server:
        show.line("kill_again", ready=server.ready_s)
        return await _look_again(server, show, folder, world, told, edited) and came_back


async def _tell(server: Server, show: Show, statements: Sequence[Statement]) -> list[Told]:
    show.act("act_tell", count=len(statements))
    show.note("tell_how")
    started_at = time.perf_counter()
    told: list[Told] = []
    with show.progress(len(statements)) as advance:
        for statement in statements:
            told.append(await _tell_one(server, statement))
            advance()
    times = [one.answer.ms for one in told]
    show.median("tell_done", times, count=len(told), seconds=time.perf_counter() - started_at, ready=server.ready_s)
    return told


async def _tell_one(server: Server, statement: Statement) -> Told:
    answer = await server.call(
        "store_fact", content=statement.text, target=statement.target, session_id=f"demo-{statement.session}"
    )
    if "id" not in answer.said:
        raise ServerGoneError(str(answer.said.get("message", answer.said)))
    return Told(statement=statement, answer=answer)


async def _wait_for_vectors(server: Server, show: Show) -> None:
    started_at = time.perf_counter()
    waited_for = 0
    while time.perf_counter() - started_at < MODEL_WITHIN_S:
        usage = (await server.call("get_memory_usage")).said
        pending = int(usage["cold"]["pending"])
        if usage["degraded"]:
            show.note("tell_no_model", why=usage["degraded"][0])
            return
        if not pending:
            break
        waited_for = max(waited_for, pending)
        await anyio.sleep(POLL_S)
    if waited_for:
        show.note("tell_model_late", count=waited_for, seconds=time.perf_counter() - started_at)


def _places(show: Show, told: Sequence[Told]) -> None:
    show.act("act_places")
    first = {one.id: one.statement.text for one in reversed(told)}
    groups: dict[str, list[tuple[str, str]]] = {place: [] for place in PLACES}
    for one in told:
        why = show.say("same_as", text=first[one.id]) if one.place == "known" else one.reason
        groups[one.place].append((one.statement.text, why))
    show.places({place: group for place, group in groups.items() if group})


async def _limits(server: Server) -> dict[str, int]:
    usage = (await server.call("get_memory_usage")).said
    return {hot["target"]: int(hot["limit"]) for hot in usage["hot"]}


def _files(show: Show, folder: Path, limits: dict[str, int]) -> None:
    show.act("act_files")
    show.note("files_note")
    for target, name in FILES.items():
        document = _read(folder, target)
        content = _path(folder, target).read_text(encoding="utf-8")
        chars, entries = size(document.entries), len(document.entries)
        show.file(name, content, chars=chars, limit=limits[target], entries=entries)


def _read(folder: Path, target: str) -> Document:
    path = _path(folder, target)
    return parse(path.read_bytes(), path=str(path))


def _path(folder: Path, target: str) -> Path:
    return folder / "memories" / FILES[target]


async def _ask(server: Server, show: Show, questions: Sequence[Question]) -> None:
    show.act("act_ask")
    times: list[float] = []
    for question in questions:
        answer = await server.call("recall", query=question.asks, top_k=3)
        times.append(answer.ms)
        show.answer(question.asks, next(iter(answer.said["results"]), None), answer.ms)
    show.median("ask_done", times)


async def _edit(server: Server, show: Show, folder: Path, edit: Edit, told: Sequence[Told]) -> dict[str, str]:
    """Change a file as an editor does, without asking anybody, and see that the memory is still the same one.

    Returns:
        The new wording by the id of its memory.
    """
    before = next(one for one in told if one.statement.key == edit.of)
    show.act("act_edit", file=FILES[before.statement.target])
    path = _path(folder, before.statement.target)
    path.write_bytes(path.read_bytes().replace(edit.old.encode(), edit.new.encode()))
    show.difference(edit.old, edit.new)
    answer = await server.call("recall", query=edit.asks, top_k=3)
    found = answer.said["results"][0]
    show.answer(edit.asks, found, answer.ms)
    story = (await server.call("inspect", id=before.id)).said
    if found["id"] == before.id and story["content"] == edit.new:
        show.note("edit_kept", id=f"{before.id[:8]}…{before.id[-6:]}")
        for revision in story["revisions"]:
            show.note("edit_history", text=revision["content"])
    return {before.id: edit.new}


async def _undo(server: Server, show: Show, mistake: Mistake) -> Told:
    """Tell something that takes the place of what was known, and take that back."""
    show.act("act_undo")
    told = await _tell_one(server, Statement(text=mistake.says, session="mistake"))
    said = told.answer.said
    show.difference(str(said.get("before", "")), mistake.says)
    for why in said.get("why", ()):
        show.note("undo_why", why=why)
    await _ask_again(server, show, mistake, {mistake.says})
    command = str(said.get("undo", ""))
    show.line("undo_mistake", command=command)
    undone = (await server.call("undo", event=int(command.rsplit(maxsplit=1)[-1]))).said["events"][0]
    if undone["status"] == "undone":
        show.line("undo_done")
    else:
        show.line("undo_failed", why=undone.get("message", ""))
    await _ask_again(server, show, mistake, {mistake.says, str(said.get("before", ""))})
    return told


async def _ask_again(server: Server, show: Show, mistake: Mistake, about: Collection[str]) -> None:
    answer = await server.call("recall", query=mistake.asks, top_k=5)
    found = [one for one in answer.said["results"] if one["content"] in about]
    show.answer(mistake.asks, next(iter(found), None), answer.ms, beside=found[1:])


async def _retire(show: Show, folder: Path, retirement: Retirement) -> bool:
    """Fill a small file until a rule has to make room for another one, and ask for it; whether it came back."""
    show.act("act_retire", limit=retirement.limit)
    show.note("retire_how", count=len(retirement.says))
    small = folder / "small"
    small.mkdir()
    settings = {
        "MEMORYCORE_CHAR_LIMIT_MEMORY": str(retirement.limit),
        "MEMORYCORE_SOFT_THRESHOLD": "0.9",  # nothing leaves before it has to
        "MEMORYCORE_RULE_MIN_RESIDENCY_DAYS": "0",  # a new rule stays for a week, for which nobody here can wait
    }
    async with running_server(small, show.language, **settings) as server:
        for text in retirement.says[:-1]:
            await _tell_one(server, Statement(text=text, session="small"))
        before = _read(small, "memory").entries
        last = await _tell_one(server, Statement(text=retirement.says[-1], session="small"))
        after = _read(small, "memory").entries
        show.changes(before, after)
        if room := last.answer.said.get("made_room"):
            show.line("retire_undo", command=room["undo"])
        answer = await server.call("recall", query=retirement.asks, top_k=1)
        show.answer(retirement.asks, next(iter(answer.said["results"]), None), answer.ms)
        now = _read(small, "memory").entries
        show.changes(after, now)
        came_back = retirement.retires not in after and retirement.retires in now
        show.note("retire_back" if came_back else "retire_failed")
    return came_back


async def _kill(server: Server, show: Show, statements: Sequence[Statement]) -> list[Told]:
    """Tell a few more and kill the server while the next one is on its way."""
    show.act("act_kill")
    told = [await _tell_one(server, statement) for statement in statements[:ANSWERED_BEFORE_THE_KILL]]

    async def tell_in_vain() -> None:
        with suppress(ServerGoneError):  # what the act is about
            told.append(await _tell_one(server, statements[ANSWERED_BEFORE_THE_KILL]))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tell_in_vain)
        await anyio.sleep(0.002)
        server.process.kill()
    show.line("kill_done", count=len(told), pid=server.process.pid)
    return told


async def _look_again(
    server: Server, show: Show, folder: Path, world: World, told: list[Told], edited: dict[str, str]
) -> bool:
    """Ask the new server for everything that the old one had acknowledged."""
    expected = {one.id: edited.get(one.id, one.statement.text) for one in told if one.place != "known"}
    found = 0
    for memory_id, text in expected.items():
        found += (await server.call("inspect", id=memory_id)).said.get("content") == text
    complete = found == len(expected)
    cut_off = world.last[ANSWERED_BEFORE_THE_KILL]
    again = [await _tell_one(server, statement) for statement in world.last[ANSWERED_BEFORE_THE_KILL:]]
    kept = again[0].place == "known"
    integrity = (await server.call("run_cold_storage_maintenance", steps=["integrity"])).said["steps"][0]
    sound = integrity["database"] == integrity["text_index"] == "ok"
    files = {target: _read(folder, target) for target in FILES}
    entries = {target: len(document.entries) for target, document in files.items()}
    whole = all(document.clean for document in files.values())
    once = await _stands_once(server, cut_off)
    show.checks([
        ("kill_acknowledged", str(len(told)), True),
        ("kill_memories", str(len(expected)), True),
        ("kill_found", str(found) if complete else show.say("missing", count=len(expected) - found), complete),
        ("kill_flight", show.say("kill_flight_kept" if kept else "kill_flight_again"), once),
        ("kill_files", show.say("kill_files_ok" if whole else "kill_files_bad", **entries), whole),
        ("kill_database", show.say("kill_database_ok" if sound else "kill_database_bad"), sound),
    ])  # fmt: skip
    return complete and once and whole and sound


async def _stands_once(server: Server, statement: Statement) -> bool:
    results = (await server.call("recall", query=statement.text, top_k=10)).said["results"]
    return [result["content"] for result in results].count(statement.text) == 1
