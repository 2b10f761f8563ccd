"""`earnest help`: what `--help` says of any command, and notes on it; as a manual page of all of them too.

The notes stand in notes.txt: below the name of each command Markdown, whose links begin in docs/.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import click


@click.command()
@click.argument("command", nargs=-1, help="Such as: run, or jobs post.")
@click.option("--man", is_flag=True, help="Print a manual page of all commands, in roff.")
def help(command: tuple[str, ...], *, man: bool) -> None:  # noqa: A001 - the command's name
    """Explain a command, or list all of them."""
    from earnest.surfaces.cli.commands import program  # noqa: PLC0415

    context = program.make_context("earnest", [], resilient_parsing=True)
    if man:
        click.echo("\n".join(_page(context)))
        return
    for word in command:
        inner = dict(commands_in(context))
        if word not in inner:
            raise click.BadParameter(f"{context.command_path} has no command {word!r}")
        context = inner[word]
    click.echo("\n".join([context.get_help(), *_noted(context.command_path)]))


def commands_in(context: click.Context) -> Iterator[tuple[str, click.Context]]:
    """What a group holds, by name, as it is when it is asked for help; nothing for a command."""
    group = context.command
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            if command := group.get_command(context, name):
                yield name, command.make_context(name, [], parent=context, resilient_parsing=True)


def _page(root: click.Context) -> Iterator[str]:
    """Of section 1; see man-pages(7)."""
    from earnest.foundation.version import VERSION  # noqa: PLC0415

    yield f'.TH EARNEST 1 "" "earnest {VERSION}"'
    yield from (".SH NAME", "earnest \\- work under contract", ".SH SYNOPSIS", ".B earnest", "COMMAND [ARGS]...")
    yield ".SH COMMANDS"
    yield from _section(root)


def _section(context: click.Context) -> Iterator[str]:
    if not isinstance(context.command, click.Group):
        usage, *text = [*context.get_help().splitlines(), *_noted(context.command_path)]
        yield from (".SS", _roff(usage.removeprefix("Usage: ")), ".nf", *map(_roff, text), ".fi")
    for _, inner in commands_in(context):
        yield from _section(inner)


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
    text = Path(__file__).with_name("notes.txt").read_text(encoding="utf-8")
    found = re.findall(r"^## ([^\n]+)\n\n(.+?)\n(?=\n## |\Z)", text, flags=re.MULTILINE | re.DOTALL)
    return dict(found)


def as_plain_text(note: str) -> str:
    """A note for a terminal: of a link its words."""
    return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", note)
