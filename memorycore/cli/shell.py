"""What every command needs: settings, the open core, and a way to answer a person or a script."""

import json
import os
import sys
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from memorycore import messages
from memorycore.errors import MemoryCoreError, SettingsError, StoreError
from memorycore.options import Language

if TYPE_CHECKING:
    from rich.console import Console

    from memorycore.core import MemoryCore
    from memorycore.options import CoreOptions
    from memorycore.settings import Settings

ACTOR = "cli"
MODEL_WAIT_S = 10.0  # a command waits for its model, which takes half a second; it works without, but finds less
MOST_COLUMNS = 100  # longer lines are hard to read, however wide the window is


def never_fail_to_print() -> None:
    """A console that cannot show a sign shows a question mark; no command ends because of it."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def showable(language: Language) -> Language:
    try:
        "中文".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "en"
    return language


@dataclass
class Shell:
    """One run of a command. Settings are read when first asked for, so that help and mistakes in them go together."""

    as_json: bool = False

    @cached_property
    def settings(self) -> "Settings":
        from memorycore.settings import load_settings

        return load_settings(os.environ)

    @cached_property
    def language(self) -> Language:
        """English where the console cannot show Chinese; JSON can always carry it."""
        try:
            chosen = self.settings.language
        except SettingsError:
            chosen = messages.language(os.environ)
        return chosen if self.as_json else showable(chosen)

    @contextmanager
    def core(
        self, *, with_model: bool = False, settings: "Settings | None" = None
    ) -> Generator["MemoryCore", None, None]:
        """The core for one command; closed at its end.

        ``with_model``: wait until the model is there, or is not coming. ``settings``: in the place of this shell's own.

        Raises:
            MemoryCoreError: Settings, directories or database cannot be used.
        """
        from memorycore.core import MemoryCore

        core = MemoryCore.open((settings or self.settings).core_options(), long_lived=False)
        try:
            if with_model:
                core.embedding.wait_ready(MODEL_WAIT_S)
            yield core
        finally:
            core.close()

    @contextmanager
    def looking(
        self, *, with_model: bool = False, settings: "Settings | None" = None, tells: bool = True
    ) -> Generator["MemoryCore", None, None]:
        """As ``core``, for a command that only looks: into a copy where the database cannot be used as it stands.

        ``tells``: that it was a copy is said here, on stderr.
        """
        from memorycore.cli.copies import copied, sweep

        options = (settings or self.settings).core_options()
        sweep()
        with ExitStack() as stack:
            try:
                core = self._looked_into(options, stack)
            except StoreError as failure:
                if failure.code != StoreError.code:
                    raise
                core = self._looked_into(stack.enter_context(copied(options, failure)), stack)
                if tells:
                    self.err.print(self.word("say.from_copy", path=options.data_dir), style="yellow")
            if with_model:
                core.embedding.wait_ready(MODEL_WAIT_S)
            yield core

    def _looked_into(self, options: "CoreOptions", stack: ExitStack) -> "MemoryCore":
        """A core that was open and looked at its files once; what it cannot write when it ends is no failure."""
        from memorycore.core import MemoryCore

        core = MemoryCore.open(options, long_lived=False)
        stack.callback(_closed, core)
        core.touch()
        return core

    @cached_property
    def out(self) -> "Console":
        return _console(to_stderr=False)

    @cached_property
    def err(self) -> "Console":
        return _console(to_stderr=True)

    def word(self, code: str, **facts: object) -> str:
        return messages.text(code, self.language, **facts)

    def emit(self, answer: Mapping[str, Any]) -> None:
        """One JSON object on one line of stdout. Escaped where the stream is not UTF-8, so that nothing is lost."""
        in_unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
        sys.stdout.write(json.dumps(answer, ensure_ascii=not in_unicode, default=str) + "\n")

    def refuse(self, error: MemoryCoreError) -> None:
        if self.as_json:
            self.emit(messages.problem(error, self.language))
        else:
            self.err.print(messages.error_text(error, self.language), style="red")


def _closed(core: "MemoryCore") -> None:
    with suppress(StoreError):
        core.close()


def _console(*, to_stderr: bool) -> "Console":
    from rich.console import Console

    console = Console(stderr=to_stderr, highlight=False, markup=False, emoji=False)
    return Console(stderr=to_stderr, highlight=False, markup=False, emoji=False, width=min(console.width, MOST_COLUMNS))
