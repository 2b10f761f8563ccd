"""The command `earnest`."""

import gc
import sys
from typing import Final

from earnest.surfaces.cli.printing import prepare

YOUNG_OBJECTS_MAX: Final = 50_000
"""Then they are collected. What loading makes stays, and to look through it every 700 objects takes a tenth of it."""


def main() -> None:
    """The console script. Whatever goes wrong ends with a message and an exit code, never with a traceback."""
    gc.set_threshold(YOUNG_OBJECTS_MAX)
    prepare()
    try:
        from earnest.surfaces.cli.commands import program  # noqa: PLC0415 - Ctrl+C may come while it is loaded

        code = program(standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:  # Python's own exit code 1 would be read as an answer
        from earnest.surfaces.cli.endings import ending_of  # noqa: PLC0415

        code = ending_of(error)
    sys.exit(code)
