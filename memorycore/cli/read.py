"""Commands that only look: recall, status, audit, inspect, trash, export."""

import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from memorycore.cli.shell import ACTOR, Shell
from memorycore.cli.write import FromFile, Json, MemoryId, Words, option

if TYPE_CHECKING:
    from memorycore.answers import Recalled
    from memorycore.core import MemoryCore
    from memorycore.settings import Settings

EXIT_BY_LEVEL = {"ok": 0, "degraded": 1, "needs_you": 2}


def recall(  # noqa: PLR0913 a parameter is an option of the command
    query: Annotated[str | None, typer.Argument(metavar="QUERY", show_default=False)] = None,
    *,
    from_file: FromFile = None,
    top_k: Annotated[int, typer.Option("--top-k", "-k", min=1, max=1000)] = 5,
    kind: Annotated[str | None, option("--kind", "KIND")] = None,
    policy: Annotated[str | None, option("--policy", "POLICY")] = None,
    tags: Words = None,
    since: Annotated[str | None, option("--since", "DATE")] = None,
    until: Annotated[str | None, option("--until", "DATE")] = None,
    tier: Annotated[str | None, option("--tier", "hot|cold")] = None,
    target: Annotated[str | None, option("--target", "memory|user")] = None,
    session_id: Annotated[str | None, option("--session", "ID")] = None,
    author: Annotated[str | None, option("--author", "NAME")] = None,
    as_of: Annotated[str | None, option("--as-of", "DATE")] = None,
    include: Annotated[list[str] | None, option("--include", "superseded")] = None,
    explain: Annotated[bool, typer.Option("--explain")] = False,
    json: Json = False,
) -> None:
    from memorycore.cli import bulk
    from memorycore.core import RecallFilters
    from memorycore.domain.memory import parse_time
    from memorycore.errors import InvalidInput

    shell = Shell(as_json=json)
    if (query is None) == (from_file is None):
        raise InvalidInput(field="QUERY", why="one_of_query_or_from")
    zone = shell.settings.zone()
    filters = RecallFilters(
        kind=cast("Any", kind),
        policy=cast("Any", policy),
        tags=bulk.tags_of(",".join(tags or [])),
        since=parse_time(since, zone=zone, name="since") if since else None,
        until=parse_time(until, zone=zone, end_of_day=True, name="until") if until else None,
        tier=cast("Any", tier),
        target=cast("Any", target),
        session_id=session_id or "",
        author=author or "",
        as_of=parse_time(as_of, zone=zone, end_of_day=True, name="as_of") if as_of else None,
        include=cast("Any", _past(include or [])),
    )
    with shell.looking(with_model=True) as core:
        if from_file is not None:
            asked = {
                "top_k": top_k, "filters": filters, "viewer_session": session_id or "", "explain": explain,
                "log": False,
            }  # fmt: skip
            raise typer.Exit(0 if _recall_many(shell, core, from_file, asked) else 1)
        answer = core.recall(
            query or "",
            top_k=top_k,
            filters=filters,
            viewer_session=session_id or "",
            explain=explain,
            revive=not core.options.looks_only,
            actor=ACTOR,
        )
    if json:
        shell.emit(answer)
        return
    from memorycore.cli import shown_recall

    shown_recall.recalled(shell, answer)


def _past(words: list[str]) -> tuple[str, ...]:
    from memorycore.errors import InvalidInput

    for word in words:
        if word != "superseded":
            raise InvalidInput(field="include", why="unknown value", value=word, allowed="superseded")
    return tuple(words)


def _recall_many(shell: Shell, core: "MemoryCore", file: str, asked: Mapping[str, Any]) -> bool:
    """Whether every line could be used."""
    from memorycore.cli import bulk, shown, shown_recall

    bad = 0
    with bulk.lines_of(file, shell) as lines:
        results = bulk.each(lines, _question, lambda questions: _answers(core, questions, asked))
        for result in results:
            if isinstance(result, bulk.Bad):
                bad += 1
                shown.bad_line(shell, result)
                continue
            line, answer = result
            content = cast("dict[str, Any]", line.content)
            if shell.as_json:
                none: dict[str, Any] = {"ref": None, "refs": []}
                found = [none | cast("dict[str, Any]", item) for item in answer["results"]]
                named = {"ref": bulk.reference(content) or None}
                shell.emit(named | cast("dict[str, Any]", answer) | {"results": found})
            else:
                shown_recall.question(shell, str(content["query"]))
                shown_recall.recalled(shell, answer)
    return not bad


def _question(content: Mapping[str, Any]) -> str:
    from memorycore.errors import InvalidInput

    query = content.get("query")
    if not isinstance(query, str):
        raise InvalidInput(field="query", why="not_text")
    return query


def _answers(core: "MemoryCore", questions: Iterator[str], asked: Mapping[str, Any]) -> "Iterator[Recalled]":
    for question in questions:
        yield core.recall(question, **asked)


def status(*, json: Json = False) -> None:
    shell = Shell(as_json=json)
    with shell.looking(with_model=True, tells=False) as core:
        answer = core.status()
        if core.options.looks_only:
            answer["data_dir"] = str(shell.settings.data_dir)
            answer["level"] = "needs_you"
            answer["verdict"] = shell.word("say.from_copy", path=shell.settings.data_dir)
    from memorycore.cli import shown_daemon, shown_status
    from memorycore.cli.hermes import in_use_instead

    daemon = shown_daemon.glance(shell.settings.data_dir)
    other = in_use_instead(shell.settings)
    if json:
        shell.emit({**answer, "daemon": daemon, **({"other_profile": other} if other else {})})
    else:
        shown_status.status(shell, answer, daemon, other_profile=other)
    raise typer.Exit(EXIT_BY_LEVEL[answer["level"]])


def audit(
    target: Annotated[str | None, typer.Argument(metavar="[memory|user]", show_default=False)] = None,
    *,
    verbose: Annotated[bool, typer.Option("--verbose", "-v")] = False,
    json: Json = False,
) -> None:
    from memorycore.domain.memory import TARGETS
    from memorycore.errors import InvalidInput

    shell = Shell(as_json=json)
    if target not in {None, "both", *TARGETS}:
        raise InvalidInput(field="target", why="unknown value", value=target, allowed=", ".join(TARGETS))
    with shell.looking(with_model=True) as core:
        answer = core.audit(None if target == "both" else cast("Any", target))
    if json:
        shell.emit(answer)
        return
    from memorycore.cli import shown_audit

    shown_audit.audited(shell, answer, verbose=verbose)


def inspect(memory_id: MemoryId, *, json: Json = False) -> None:
    shell = Shell(as_json=json)
    with shell.looking() as core:
        answer = core.inspect(memory_id)
    if json:
        shell.emit(answer)
        return
    from memorycore.cli import shown_story

    shown_story.story(shell, answer)


def trash(*, reason: Annotated[str | None, option("--reason", "REASON")] = None, json: Json = False) -> None:
    shell = Shell(as_json=json)
    with shell.looking() as core:
        answer = core.trash(reason=reason or "")
    if json:
        shell.emit(answer)
        return
    from memorycore.cli import shown

    shown.binned(shell, answer)


def export(
    file: Annotated[str | None, typer.Argument(metavar="FILE", show_default=False)] = None, *, json: Json = False
) -> None:
    from memorycore.errors import StoreError

    shell = Shell(as_json=json)
    count = 0
    with _writable(shell.settings) as settings, shell.looking(settings=settings) as core, written_lines(file) as write:
        known = core.status()
        expected = known["memories"] + known["usage"]["binned"]
        for line in core.export():
            write(line)
            count += 1
        if count < expected:  # a file that lacks something must not take the place of a whole one
            raise StoreError(path=str(core.db.path), why="export_short", count=count, expected=expected)
    shell.err.print(shell.word("say.exported", count=count, file=file))


@contextmanager
def _writable(settings: "Settings") -> Generator["Settings", None, None]:
    """The settings, with a copy of the database in the place of one that nobody may write, such as a backup medium.

    No memory files stand beside the copy: what they hold is in the database, and they may be newer or older than it.
    """
    import os
    from dataclasses import replace

    from memorycore.cli.copies import whole_copy

    with ExitStack() as stack:
        if settings.data_dir.exists() and not os.access(settings.data_dir, os.W_OK):
            with suppress(OSError):  # without a copy the database itself says what is wrong
                folder = stack.enter_context(whole_copy(settings.data_dir))
                settings = replace(settings, data_dir=folder, hot_dir=folder / "memories")
        yield settings


@contextmanager
def written_lines(file: str | None) -> Generator[Callable[[Mapping[str, object]], None], None, None]:
    """Write JSON lines to stdout, or to a new file of mode 0600 that takes its name when it is whole.

    Raises:
        Unwritable: The system refuses; a file that was there before is untouched.
    """
    import json as codec
    import os
    from pathlib import Path

    from memorycore.errors import Unwritable

    if file is None or file == "-":
        yield Shell().emit
        sys.stdout.flush()
        return
    part = Path(f"{file}.part-{os.getpid()}")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:

            def write(line: Mapping[str, object]) -> None:
                out.write(codec.dumps(line, ensure_ascii=False) + "\n")

            yield write
            out.flush()
            os.fsync(out.fileno())
        part.replace(file)
    except OSError as error:
        raise Unwritable(path=file, why=error.strerror or str(error), mode="-") from error
    finally:
        part.unlink(missing_ok=True)
