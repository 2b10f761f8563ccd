"""The commands of `earnest`: doors only. Nothing heavy is imported before a command needs it."""

import sys
from functools import cache
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any, Final, cast

import click

from earnest.foundation.version import VERSION
from earnest.surfaces.cli.completing import install_completion_option, show_completion_option
from earnest.surfaces.cli.examples import add_examples
from earnest.surfaces.cli.options import Group
from earnest.surfaces.cli.printing import told_apart

COMMANDS: Final = {
    "chat": ("chat",),
    "run": ("run", "resume"),
    "runs": ("runs", "show"),
    "edits": ("diff", "apply", "undo"),
    "verify": ("verify", "replay"),
    "memory": ("dream",),
    "serve": ("serve",),
    "worker": ("worker",),
    "simulate": ("simulate", "recompute"),
    "doctor": ("doctor",),
    "wallet": ("wallet",),
    "score": ("score",),
    "dashboard": ("dashboard",),
    "metrics": ("metrics",),
    "backup": ("backup", "restore"),
    "gc": ("gc",),
    "migrate": ("migrate",),
    "export": ("export",),
    "forget": ("forget",),
    "scaffold": ("init", "lint"),
    "helping": ("help",),
}
"""The commands of each file; each bears its name there."""
GROUPS: Final = (
    "agent",
    "audit",
    "environment",
    "memory",
    "review",
    "journal",
    "keys",
    "heartbeat",
    "jobs",
    "periods",
    "receipt",
    "world",
)
FILES: Final = {name: file for file, names in COMMANDS.items() for name in names} | {name: name for name in GROUPS}
"""The file of each command and group, in the order of the help."""


class Program(Group):
    """The whole program. A command or group is loaded when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click calls it
        """See `click.Group`."""
        return list(FILES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """See `click.Group`. Of a name that nothing has all are loaded: what comes near it is told."""
        for name in FILES if cmd_name not in FILES else {cmd_name} - {*self.commands}:
            self.commands[name] = getattr(import_module(f"earnest.surfaces.cli.{FILES[name]}"), name)
            add_examples(self.commands[name], name)
        return super().get_command(ctx, cmd_name)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """See `click.Command`, which prints its help here, and ends with 1 where nobody reads it."""
        with told_apart():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """See `click.Command`; here the help of the commands is printed."""
        with told_apart():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """See `click.Group`. To load every command for its first sentence would take a third of the time."""
        limit = formatter.width - 6 - max(map(len, FILES))
        with formatter.section("Commands"):
            formatter.write_dl([(name, _help_of(name).get_short_help_str(limit)) for name in FILES])


def _help_of(name: str) -> click.Command:
    """The command with its help alone: its function's docstring, which is the first constant of compiled code."""
    code = _code_of(FILES[name])
    (function,) = (one for one in code.co_consts if isinstance(one, CodeType) and one.co_name == name)
    return click.Command(name, help=function.co_consts[0])


@cache
def _code_of(file: str) -> CodeType:
    loader = SourceFileLoader(f"earnest.surfaces.cli.{file}", str(Path(__file__).with_name(f"{file}.py")))
    return cast("CodeType", loader.get_code(loader.name))


@click.group(cls=Program, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="earnest", message="%(prog)s %(version)s")
@install_completion_option
@show_completion_option
@click.pass_context
def program(context: click.Context) -> None:
    """Work under contract: promises with criteria, recorded evidence, verdicts, consequences."""
    if context.invoked_subcommand is None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            click.echo(context.get_help(), err=True)
            raise click.exceptions.Exit(3)
        from earnest.surfaces.cli.chat import chat  # noqa: PLC0415

        context.invoke(chat)
