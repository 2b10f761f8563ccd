"""How a command ends: exit codes, and what a person is told when something went wrong."""

import os
import sys
from enum import IntEnum

import click

from earnest.foundation.errors import Broken, Faulty, Refused, Unavailable


class ExitCode(IntEnum):
    """The same for every command; `verify` has its own meaning for 1 and 2 (docs/cli.md)."""

    ACCEPT = 0
    ABANDON = 1
    UNMET = 2
    BAD_INPUT = 3


def ending_of(error: BaseException) -> int:
    """Say what went wrong on stderr, and give the exit code. `EARNEST_DEBUG` set: with the traceback."""
    if os.environ.get("EARNEST_DEBUG"):
        import traceback  # noqa: PLC0415

        traceback.print_exception(error)
    match error:
        case click.exceptions.Exit(exit_code=code):
            return code
        case click.exceptions.Abort() | KeyboardInterrupt():
            return _say("stopped", 130)
        case click.ClickException():
            error.show()
            return ExitCode.BAD_INPUT
        case Faulty() | Refused():
            return _say(str(error), ExitCode.BAD_INPUT)
        case Unavailable() | Broken():
            return _say(str(error), ExitCode.ABANDON)
        case OSError():
            return _say(f"{error.filename or 'system'}: {error.strerror or error}", ExitCode.BAD_INPUT)
        case _:
            hint = "this is a fault of earnest; set EARNEST_DEBUG=1 to see where"
            return _say(f"{type(error).__name__}: {error} ({hint})", ExitCode.ABANDON)


def _say(message: str, code: int) -> int:
    for line in message.splitlines() or [""]:
        print(f"earnest: {line}", file=sys.stderr)  # noqa: T201
    return code
