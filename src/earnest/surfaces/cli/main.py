"""The command `earnest`."""

import sys

from earnest.surfaces import garbage
from earnest.surfaces.cli.printing import prepare


def main() -> None:
    """The console script. Whatever goes wrong ends with a message and an exit code, never with a traceback."""
    garbage.load()
    prepare()
    try:
        from earnest.surfaces.cli.commands import program  # noqa: PLC0415 - Ctrl+C may come while it is loaded

        code = program(standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:  # Python's own exit code 1 would be read as an answer
        from earnest.surfaces.cli.endings import ending_of  # noqa: PLC0415

        code = ending_of(error)
    garbage.end()
    sys.exit(code)
