"""The commands by name, and their help in the user's language.

The texts of help stand with all other sentences in ``messages``, under ``help.<command>`` and
``help.<command>.<parameter>``; the functions hold none.
"""

from collections.abc import Callable
from typing import Any

import typer

from memorycore import messages
from memorycore.cli import (
    backup,
    cold,
    daemon,
    forgetting,
    help_page,
    hermes,
    imports,
    judge,
    maintain,
    overflow,
    past,
    read,
    review,
    setup,
    token,
    write,
)
from memorycore.options import Language

EVERYDAY = {
    "store": write.store,
    "recall": read.recall,
    "update": write.update,
    "forget": forgetting.forget,
    "restore": write.restore,
    "undo": past.undo,
    "review": review.review,
    "overflow": overflow.overflow,
    "maintain": maintain.maintain,
    "import": imports.import_,
    "backup": backup.backup,
}
LOOK = {
    "status": read.status,
    "audit": read.audit,
    "inspect": read.inspect,
    "trash": read.trash,
    "history": past.history,
    "export": read.export,
    "judge": judge.judge,
    "doctor": setup.doctor,
}
GROUPS = {"config": setup.CONFIG, "client": setup.CLIENT, "hermes": hermes.HERMES, "token": token.TOKEN}
SET_UP = {"demo": setup.demo, "serve": setup.serve, "cold-serve": cold.cold_serve}


def command_line(language: Language) -> Any:
    """The whole command line, ready to be called with arguments."""
    app = typer.Typer(
        name="memorycore", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )  # fmt: skip
    app.callback()(setup.memorycore)
    for panel, commands in (("everyday", EVERYDAY), ("look", LOOK), ("set_up", SET_UP)):
        for name, function in commands.items():
            app.command(name, rich_help_panel=messages.text(f"help.panel_{panel}", language))(function)
    for name, commands in GROUPS.items():
        group = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
        for part, function in commands.items():
            group.command(part, rich_help_panel=messages.text("help.commands", language))(function)
        app.add_typer(group, name=name, rich_help_panel=messages.text("help.panel_set_up", language))
    app.add_typer(_daemon(language), name="daemon", rich_help_panel=messages.text("help.panel_set_up", language))
    built: Any = typer.main.get_command(app)
    _explain(built, "memorycore", language)
    return built


def _daemon(language: Language) -> typer.Typer:
    """A group that does something by itself: without a further word it runs the daemon here."""
    group = typer.Typer(invoke_without_command=True, callback=daemon.daemon, rich_markup_mode="rich")
    for part, function in daemon.DAEMON.items():
        group.command(part, rich_help_panel=messages.text("help.commands", language))(function)
    return group


def _explain(command: Any, code: str, language: Language) -> None:
    """Put the texts of one language into a command, its parameters and those below it."""
    command.help = messages.text(f"help.{code}", language)
    command.format_help = _page_of(command, language)
    _translate_help_option(command, language)
    for parameter in command.params:
        option = parameter.param_type_name == "option"
        parameter.rich_help_panel = messages.text("help.options" if option else "help.arguments", language)
        own, shared = f"help.{code}.{parameter.name}", f"help.any.{parameter.name}"
        parameter.help = messages.text(own if messages.has(own, language) else shared, language)
        if getattr(parameter, "is_flag", False):
            parameter.metavar = " "  # a flag takes no value, so its column stays empty
    for given, below in getattr(command, "commands", {}).items():
        name = given.replace("-", "_")
        _explain(below, name if code == "memorycore" else f"{code}_{name}", language)


def _page_of(command: Any, language: Language) -> Callable[[Any, Any], None]:
    def show(context: Any, _formatter: Any) -> None:
        help_page.show(command, context, language)

    return show


def _translate_help_option(command: Any, language: Language) -> None:
    """``--help`` is made anew whenever help is shown, so its text can only be set then."""
    make = command.get_help_option

    def made(context: Any) -> Any:
        option = make(context)
        if option is not None:
            option.help = messages.text("help.any.help", language)
            option.rich_help_panel = messages.text("help.options", language)
            option.metavar = " "
        return option

    command.get_help_option = made
