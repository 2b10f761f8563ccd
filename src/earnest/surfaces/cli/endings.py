"""How a command ends: exit codes, and what a person is told when something went wrong."""

import os
from enum import IntEnum
from typing import Final

import click

from earnest.effects.ground.faults import why
from earnest.foundation.errors import EarnestError, Waits
from earnest.surfaces.cli.printing import NobodyListens, abandon_stdout, complain


class ExitCode(IntEnum):
    """The same for every command; some give 1 and 2 a meaning of their own (docs/cli.md)."""

    ACCEPT = 0
    ABANDON = 1
    UNMET = 2
    NO_ANSWER = 3
    """Bad input, bad usage, or something that is needed is missing or broken. Never read as an answer."""
    WAITS = 4
    """Not an answer yet: the run is to be resumed, by the line that is told."""
    STOPPED = 130
    NOBODY_LISTENS = 141


EXTRAS: Final = {
    "aiosmtplib": "server",
    "fastapi": "server",
    "httpx2": "client",
    "mcp": "server",
    "prometheus_client": "server",
    "stripe": "stripe",
    "uvicorn": "server",
}
"""Which extra of the package brings a library that the base is without."""


def ending_of(error: BaseException) -> int:
    """Say what went wrong on stderr, and give the exit code. `EARNEST_DEBUG` set: with the traceback."""
    if os.environ.get("EARNEST_DEBUG"):
        import traceback  # noqa: PLC0415

        traceback.print_exception(error)
    match error:
        case SystemExit(code=0):  # what completes words ends so
            return ExitCode.ACCEPT
        case BrokenPipeError() | NobodyListens():
            abandon_stdout()
            return ExitCode.NOBODY_LISTENS
        case click.Abort() | KeyboardInterrupt():
            complain(["stopped"])
            return ExitCode.STOPPED
        case click.ClickException():
            _explain_usage(error)
        case Waits():
            complain([*str(error).splitlines(), f"to go on: {way_on(error)}"])
            return ExitCode.WAITS
        case EarnestError():
            complain(str(error).splitlines())
        case ModuleNotFoundError(name=str() as name) if name.partition(".")[0] in EXTRAS:
            library = name.partition(".")[0]
            complain([f"{library} is not installed: install 'earnest[{EXTRAS[library]}]'"])
        case OSError():
            abandon_stdout()
            complain([f"{error.filename or 'system'}: {why(error)}"])
        case _:
            told = f"{type(error).__name__}: {error}".splitlines()
            complain([*told, "this is a fault of earnest; set EARNEST_DEBUG=1 to see where"])
    return ExitCode.NO_ANSWER


def way_on(waits: Waits) -> str:
    """The line to type."""
    answer = " --effect happened|absent|give-up" if waits.asks else ""
    return f"earnest resume {waits.run_id}{answer}"


def _explain_usage(error: click.ClickException) -> None:
    """A group without a command is answered with its help, anything else with the way to it."""
    message = error.format_message()
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(message, err=True)
        return
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "earnest"
    # choices come indented, one below the other
    lines = message.removeprefix("Invalid value: ").replace("\n\t", " ").splitlines()
    complain([*lines, f"see `{command} --help`"])
