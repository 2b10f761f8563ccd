"""How a command ends: exit codes, and what a person is told when something went wrong."""

import os
import sys
from enum import IntEnum

import typer
from typer.exceptions import TyperException

from earnest.foundation.errors import Broken, Faulty, Refused, Unavailable


class ExitCode(IntEnum):
    """The same for every command; `verify` has its own meaning for 1 and 2 (docs/cli.md)."""

    ACCEPT = 0
    ABANDON = 1
    UNMET = 2
    BAD_INPUT = 3
    STOPPED = 130


def ending_of(error: BaseException) -> int:
    """Say what went wrong on stderr, and give the exit code. `EARNEST_DEBUG` set: with the traceback."""
    if os.environ.get("EARNEST_DEBUG"):
        import traceback  # noqa: PLC0415

        traceback.print_exception(error)
    code, message = _told(error)
    for line in message.splitlines():
        print(f"earnest: {line}", file=sys.stderr)  # noqa: T201
    return code


def _told(error: BaseException) -> tuple[int, str]:
    match error:
        case TyperException():
            wrong = str(getattr(error, "format_message", error.__str__)())
            return ExitCode.BAD_INPUT, f"{wrong}\nsee `earnest --help`"
        case typer.Abort() | KeyboardInterrupt():
            return ExitCode.STOPPED, "stopped"
        case Faulty() | Refused():
            return ExitCode.BAD_INPUT, str(error)
        case Unavailable() | Broken():
            return ExitCode.ABANDON, str(error)
        case OSError():
            return ExitCode.BAD_INPUT, f"{error.filename or 'system'}: {error.strerror or error}"
        case _:
            hint = "this is a fault of earnest; set EARNEST_DEBUG=1 to see where"
            return ExitCode.ABANDON, f"{type(error).__name__}: {error} ({hint})"
