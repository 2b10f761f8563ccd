"""The commands of `earnest`: doors only. Nothing heavy is imported before a command needs it."""

import sys
from importlib import import_module
from typing import Annotated, Any, Final

import typer

from earnest.foundation.version import VERSION
from earnest.surfaces.cli.examples import add_examples

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
"""The commands of each file; a function bears its command's name."""
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


def app_of(chosen: str = "") -> typer.Typer:
    """The program with the command or group that is `chosen`, loaded alone; with all of them if that is none."""
    app = typer.Typer(
        name="earnest",
        help="Work under contract: promises with criteria, recorded evidence, verdicts, consequences.",
        invoke_without_command=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(root)
    commands = {name: file for file, names in COMMANDS.items() for name in names}
    known = chosen in commands or chosen in GROUPS
    for name, file in commands.items():
        if name == chosen or not known:
            app.command(name=name)(getattr(_file(file), name))
    for name in GROUPS:
        if name == chosen or not known:
            app.add_typer(_file(name).app, name=name)
    add_examples(app)
    return app


def _file(name: str) -> Any:
    return import_module(f"earnest.surfaces.cli.{name}")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"earnest {VERSION}")
        raise typer.Exit


def root(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - answered by its callback
        bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Work under contract: promises with criteria, recorded evidence, verdicts, consequences."""
    if context.invoked_subcommand is None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            typer.echo(context.get_help(), err=True)
            raise typer.Exit(3)
        _file("chat").chat()
