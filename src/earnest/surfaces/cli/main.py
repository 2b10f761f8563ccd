"""The command `earnest`. Judging is called from scripts, often: its plain forms go without the argument parser."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from earnest.surfaces.cli.printing import prepare

SWITCHES: Final = frozenset({"--json", "--keep", "--no-keep"})


def main() -> None:
    """The console script. Whatever goes wrong ends with a message and an exit code, never with a traceback."""
    prepare()
    try:
        code = _called(sys.argv[1:])
        sys.stdout.flush()
    except BaseException as error:  # Python's own exit code 1 would be read as an answer
        from earnest.surfaces.cli.endings import ending_of  # noqa: PLC0415

        code = ending_of(error)
    sys.exit(code)


def _called(words: Sequence[str]) -> Any:
    """What a command line comes to. Loading the parser takes longer than all else that judging loads."""
    rest = words[1:]
    paths = [word for word in rest if not word.startswith("-")]
    if words[:1] == ["verify"] and len(paths) > 1 and "" not in paths and SWITCHES.issuperset({*rest} - {*paths}):
        from earnest.surfaces.cli.verifying import judge  # noqa: PLC0415

        kept = [word == "--keep" for word in rest if word in {"--keep", "--no-keep"}]
        spec, *submissions = map(Path, paths)
        return judge(spec, submissions, as_json="--json" in rest, keep=kept[-1] if kept else None)
    from earnest.surfaces.cli.commands import program  # noqa: PLC0415

    return program(standalone_mode=False)
