"""``memorycore judge``: how two texts stand to each other, and why. It needs no store and makes no folder."""

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from memorycore.cli.shell import MODEL_WAIT_S, Shell
from memorycore.cli.write import FromFile, Json

if TYPE_CHECKING:
    from memorycore.answers import Judgement
    from memorycore.embed import EmbeddingService

# What every line of a bulk judge answers, in this order; a line that could not be used keeps these values.
FIELDS: Mapping[str, Any] = {"ref": None, "relation": None, "evidence": [], "limited": False, "undecided": False}


def judge(
    old: Annotated[str | None, typer.Argument(metavar="OLD", show_default=False)] = None,
    new: Annotated[str | None, typer.Argument(metavar="NEW", show_default=False)] = None,
    *,
    from_file: FromFile = None,
    no_model: Annotated[bool, typer.Option("--no-model")] = False,
    json: Json = False,
) -> None:
    from memorycore.cli import bulk, shown_judge
    from memorycore.errors import InvalidInput

    shell = Shell(as_json=json)
    if (from_file is None) == (old is None) or (old is None) != (new is None):
        raise InvalidInput(field="OLD NEW", why="one_of_pair_or_from")
    with _model(shell, wanted=not no_model) as embedding:
        if from_file is not None:
            with bulk.lines_of(from_file, shell) as lines:
                results = bulk.each(lines, _pair, lambda pairs: _answers(pairs, embedding, shell))
                ended_well = all([_say(shell, result) for result in results])  # noqa: C419 every line is answered
            raise typer.Exit(0 if ended_well else 1)
        pair = _pair({"old": old, "new": new})
        answer = next(_answers(iter([pair]), embedding, shell))
    if json:
        shell.emit(answer)
    else:
        shown_judge.judged(shell, *pair, answer)


@contextmanager
def _model(shell: Shell, *, wanted: bool) -> "Generator[EmbeddingService | None]":
    """The model of the settings, which loads when it is first asked; what it measures is kept only where a store is."""
    if not wanted:
        yield None
        return
    from memorycore.embed import EmbeddingService
    from memorycore.opening import embed_choice

    options = shell.settings.core_options()
    choice = embed_choice(options)
    embedding = EmbeddingService(choice if options.data_dir.is_dir() else replace(choice, cache_dir=None))
    try:
        yield embedding
    finally:
        embedding.close()


def _answers(
    pairs: Iterator[tuple[str, str]], embedding: "EmbeddingService | None", shell: Shell
) -> "Iterator[Judgement]":
    from memorycore.core.compare import judge_pairs

    return judge_pairs(pairs, embedding=embedding, language=shell.language, wait_s=MODEL_WAIT_S)


def _pair(content: Mapping[str, Any]) -> tuple[str, str]:
    """The two texts of one line.

    Raises:
        InvalidInput: One of them is missing, empty or no text.
    """
    from memorycore.errors import InvalidInput

    for name in ("old", "new"):
        value = content.get(name)
        if not isinstance(value, str):
            raise InvalidInput(field=name, why="missing" if value is None else "not_text", value=value)
        if not value.strip():
            raise InvalidInput(field=name, why="empty")
    return content["old"], content["new"]


def _say(shell: Shell, result: Any) -> bool:
    """Answer one line; whether it could be used."""
    from memorycore import messages
    from memorycore.cli import bulk, shown_judge

    if isinstance(result, bulk.Bad):
        message = messages.error_text(result.error, shell.language, of_a_line=True)
        named = {"ref": result.ref or None, "line": result.number}
        if shell.as_json:
            shell.emit({**FIELDS, **named, "code": result.error.code, "message": message})
        else:
            shell.err.print(shell.word("say.bad_line", line=result.number, message=message), style="red")
        return False
    line, answer = cast("tuple[bulk.Line, Judgement]", result)
    content = cast("Mapping[str, Any]", line.content)
    if shell.as_json:
        shell.emit({**FIELDS, "ref": bulk.reference(content) or None, "line": line.number, **answer})
    else:
        shown_judge.judged(shell, str(content["old"]), str(content["new"]), answer, number=line.number)
    return True
