"""Making room in the memory files: overflow, and what it would do to anybody's files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from memorycore.cli.shell import Shell
from memorycore.cli.write import DryRun, Json, option

if TYPE_CHECKING:
    from memorycore.answers_overflow import Overflown
    from memorycore.domain.memory import Target


def overflow(
    *,
    target: Annotated[str | None, option("--target", "memory|user")] = None,
    folder: Annotated[Path | None, option("--dir", "PATH")] = None,
    limits: Annotated[str | None, option("--limits", "N,N")] = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    from memorycore.domain.memory import TARGETS
    from memorycore.errors import HotFileError, InvalidInput

    shell = Shell(as_json=json)
    if target not in {None, "both", *TARGETS}:
        raise InvalidInput(field="--target", why="unknown value", value=target, allowed=", ".join(TARGETS))
    wanted = None if target == "both" else cast("Target | None", target)
    if folder is not None:
        if not dry_run:
            raise InvalidInput(field="--dry-run", why="needed_with_dir")
        answer = _preview(folder, limits, wanted)
    elif limits is not None:
        raise InvalidInput(field="--dir", why="needed_with_limits")
    else:
        with shell.core(with_model=not dry_run) as core:
            answer = core.overflow(wanted, dry_run=dry_run)
    if json:
        shell.emit(answer)
    else:
        from memorycore.cli import shown_overflow

        shown_overflow.overflown(shell, answer)
    if any("problem" in run for run in answer["runs"]):
        raise typer.Exit(HotFileError.exit_code)


def _preview(folder: Path, limits: str | None, target: "Target | None") -> "Overflown":
    """With the limits that would hold if these files were ours: given, else set, else those of Hermes."""
    import os

    from memorycore.core.preview import folder_of, preview
    from memorycore.settings import load_settings

    where = folder_of(folder.expanduser().absolute())
    given: dict[str, Any] = {"hot_dir": where, **_limits(limits)}
    return preview(where, load_settings(os.environ, overrides=given).core_options(), target)


def _limits(text: str | None) -> dict[str, int]:
    """``2200,1375``, or one number for both files.

    Raises:
        InvalidInput: It is neither.
    """
    from memorycore.errors import InvalidInput

    if text is None:
        return {}
    numbers = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() for part in numbers) or len(numbers) not in {1, 2}:
        raise InvalidInput(field="--limits", why="not_limits", value=text)
    return {"char_limit_memory": int(numbers[0]), "char_limit_user": int(numbers[-1])}
