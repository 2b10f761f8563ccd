"""`earnest help`: what `--help` says of any command, and notes on it; as a manual page of all of them too.

The notes stand in notes.txt: below the name of each command Markdown, whose links begin in docs/.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, cast

import typer


def help(  # noqa: A001 - the command's name
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[COMMAND]...", help="Such as: run, or jobs post.")
    ] = None,
    man: Annotated[bool, typer.Option("--man", help="Print a manual page of all commands, in roff.")] = False,
) -> None:
    """Explain a command, or list all of them."""
    from earnest.surfaces.cli.commands import app_of  # noqa: PLC0415

    context = typer.main.get_command(app_of()).make_context("earnest", [], resilient_parsing=True)
    if man:
        typer.echo("\n".join(_page(cast("typer.Context", context))))
        return
    for word in command or ():
        found = context.command.get_command(context, word) if hasattr(context.command, "get_command") else None
        if found is None:
            raise typer.BadParameter(f"{context.command_path} has no command {word!r}")
        context = found.make_context(word, [], parent=context, resilient_parsing=True)
    typer.echo("\n".join([context.get_help(), *_noted(context.command_path)]))


def _page(root: typer.Context) -> Iterator[str]:
    """Of section 1; see man-pages(7)."""
    from earnest.foundation.version import VERSION  # noqa: PLC0415

    yield f'.TH EARNEST 1 "" "earnest {VERSION}"'
    yield from (".SH NAME", "earnest \\- work under contract", ".SH SYNOPSIS", ".B earnest", "COMMAND [ARGS]...")
    yield ".SH COMMANDS"
    yield from _section(root)


def _section(context: typer.Context) -> Iterator[str]:
    commands: dict[str, Any] = getattr(context.command, "commands", {})
    if not commands:
        usage, *text = context.get_help().splitlines()
        yield from (
            ".SS",
            _roff(usage.removeprefix("Usage: ")),
            ".nf",
            *map(_roff, text),
            *map(_roff, _noted(context.command_path)),
        )
        yield ".fi"
    for name, command in commands.items():
        yield from _section(command.make_context(name, [], parent=context, resilient_parsing=True))


def _noted(path: str) -> Iterator[str]:
    """What the notes say of the command, as wide as the help."""
    note = as_plain_text(notes().get(path.removeprefix("earnest "), ""))
    for paragraph in note.split("\n\n") if note else ():
        yield from ("", *textwrap.wrap(paragraph, 78, initial_indent="  ", subsequent_indent="  "))


def _roff(line: str) -> str:
    """Text that roff takes for nothing else."""
    escaped = line.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


@cache
def notes() -> Mapping[str, str]:
    """The notes, by command."""
    text = (files("earnest.surfaces.cli") / "notes.txt").read_text(encoding="utf-8")
    found = re.findall(r"^## ([^\n]+)\n\n(.+?)\n(?=\n## |\Z)", text, flags=re.MULTILINE | re.DOTALL)
    return dict(found)


def as_plain_text(note: str) -> str:
    """A note for a terminal: of a link its words."""
    return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", note)
