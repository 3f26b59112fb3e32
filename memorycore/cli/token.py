"""``memorycore token``: who else may use the daemon's HTTP service, each with a token of its own."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from memorycore.cli.layout import columns, inside, minute
from memorycore.cli.shell import Shell
from memorycore.cli.write import Json, option

if TYPE_CHECKING:
    from memorycore.web.tokens import TokenFile

Name = Annotated[str, typer.Argument(metavar="NAME", show_default=False)]


def token_create(
    name: Name,
    *,
    namespace: Annotated[str | None, option("--namespace", "NAMESPACE")] = None,
    author: Annotated[str | None, option("--author", "AUTHOR")] = None,
    json: Json = False,
) -> None:
    shell = Shell(as_json=json)
    space = namespace or shell.settings.namespace
    token = _file(shell).create(name, namespace=space, author=author or name)
    if json:
        shell.emit({"name": name, "namespace": space, "author": author or name, "token": token})
        return
    sys.stdout.write(f"{token}\n")  # alone on stdout, so that it can be piped on
    shell.err.print(shell.word("token.once", name=name, namespace=space, author=author or name), style="dim")


def token_list(*, json: Json = False) -> None:
    shell = Shell(as_json=json)
    known = _file(shell).all()
    if json:
        told = [
            {"name": one.name, "namespace": one.namespace, "author": one.author, "created_at": one.created_at}
            for one in known
        ]
        shell.emit({"tokens": told})
    elif known:
        heads = [shell.word(f"token.{head}") for head in ("name", "namespace", "author", "created")]
        rows = [(one.name, one.namespace, one.author, minute(shell, one.created_at)) for one in known]
        shell.out.print(inside(columns(heads, *rows)))
    else:
        shell.out.print(shell.word("token.none"))


def token_revoke(name: Name, *, json: Json = False) -> None:
    shell = Shell(as_json=json)
    gone = _file(shell).revoke(name)
    if json:
        shell.emit({"name": gone.name, "revoked": True})
    else:
        shell.out.print(shell.word("token.revoked", name=gone.name))


def _file(shell: Shell) -> "TokenFile":
    from memorycore.web.tokens import TokenFile

    return TokenFile(shell.settings.data_dir)


TOKEN = {"create": token_create, "list": token_list, "revoke": token_revoke}
