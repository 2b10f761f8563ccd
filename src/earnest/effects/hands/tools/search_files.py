"""The tool that finds files of the user outside the workspace, by name or content."""

import posixpath
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from earnest.effects.hands.sandbox.api import Execution, Profile
from earnest.effects.hands.tools.api import Leave, Tool, ToolPlace
from earnest.effects.hands.tools.arguments import PATH_BYTES_MAX, text, text_faults, texts_schema, with_home
from earnest.effects.hands.tools.failures import of_report
from earnest.effects.hands.tools.record import RawResult, ToolCall, raw_of
from earnest.foundation.canonical import JsonObject, canonical_text

NAME_BYTES_MAX: Final = 256
TEXT_BYTES_MAX: Final = 512
WALL_MS_MAX: Final = 60_000
_SIZES: Final = {"name": NAME_BYTES_MAX, "text": TEXT_BYTES_MAX, "folder": PATH_BYTES_MAX}


class SearchFiles(Tool):
    """`search_files {name?, text?, folder?}`: files below `home`, a line each, sought for by a walk in the sandbox.

    So it finds what a command can read and nothing that is private. Capitals do not count. `name` is a pattern, or a
    part of the name; `text` a regular expression that some line of the file matches; `folder` where to begin. The
    limits are those of `home_walk`, and the call's timeout.
    """

    name = "search_files"
    reads_only = True
    leave = Leave.NONE
    purpose = (
        "Find the user's files outside the workspace by part of a name, *.pdf or a line's regex; read them by shell."
    )
    args_schema = texts_schema(*_SIZES)

    def __init__(self, home: Path) -> None:
        self._home = str(home.resolve())

    def args_faults(self, args: JsonObject) -> list[str]:
        """See `Tool`."""
        faults = text_faults(args, {name: size for name, size in _SIZES.items() if name in args})
        if faults:
            return faults
        given = {name: text(args, name) for name in args}
        if any("\0" in value for value in given.values()):
            return ["no argument may hold a NUL"]
        faults = [] if given.get("name") or given.get("text") else ["give a name or a text to search for"]
        if "/" in given.get("name", ""):
            faults.append("a name holds no /: give the folder as folder")
        if posixpath.commonpath([self._home, self._folder(args)]) != self._home:
            faults.append(f"folder leads out of {self._home}")
        return faults

    def target(self, args: JsonObject) -> str:
        """The arguments in canonical form, the folder in its one spelling."""
        return canonical_text({**args, "folder": self._folder(args)})

    async def run(self, call: ToolCall, place: ToolPlace) -> RawResult:
        """See `Tool`."""
        wall_ms = min(call.timeout_ms, WALL_MS_MAX)
        sought = (str(call.args.get("name", "")), str(call.args.get("text", "")))
        report = await place.sandbox.run(
            Execution(
                profile=Profile.WORK,
                argv=("python3", "-I", "-S", "-c", _program(), self._home, self._folder(call.args), *sought),
                work=place.folder,
                limits=replace(place.limits, wall_ms=wall_ms, cpu_ms=wall_ms),
            )
        )
        raw = raw_of(report, of_report(report, ()))
        return raw if report.broken_limit is None else replace(raw, exit_code=None)

    def _folder(self, args: JsonObject) -> str:
        """Absolute, in its shortest spelling; `~` is the home, and so is what a relative path begins at."""
        given = with_home(str(args.get("folder", "")), self._home)
        return "/" + posixpath.normpath(posixpath.join(self._home, given)).lstrip("/")


@cache
def _program() -> str:
    return (files("earnest.effects.hands.tools") / "home_walk.py").read_text(encoding="utf-8")
