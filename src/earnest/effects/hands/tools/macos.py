"""Tools of macOS: Spotlight, AppleScript and Shortcuts. No sandbox holds them: they run as the user.

`mdfind` only reads an index. What the other two do cannot be told beforehand, so each call of theirs is confirmed.
"""

import os
import posixpath
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Final

from earnest.effects.ground.process import OUTPUT_BYTES_MAX, ProgramFailed, run_group
from earnest.effects.hands.scratch import scratch
from earnest.effects.hands.tools.api import Leave, Tool, ToolPlace
from earnest.effects.hands.tools.arguments import PATH_BYTES_MAX, text_faults, texts_schema, with_home
from earnest.effects.hands.tools.failures import environmental, logical
from earnest.effects.hands.tools.program import SECRETS
from earnest.effects.hands.tools.record import RawResult, ToolCall
from earnest.foundation.canonical import JsonObject, canonical_text

MACOS: Final = "darwin"
FOUND_MAX: Final = 200
SCRIPT_BYTES_MAX: Final = 64 * 1024
NAME_BYTES_MAX: Final = 256
QUERY_BYTES_MAX: Final = 512
INPUT_BYTES_MAX: Final = 1024 * 1024


def tools_of(platform: str = sys.platform) -> tuple[Tool, ...]:
    """The tools that there are on this system."""
    return (Mdfind(Path.home()), AppleScript(), Shortcuts()) if platform == MACOS else ()


class Mdfind(Tool):
    """`mdfind {query?, name?, folder?}`: files below `home` that Spotlight knows, a path a line, hidden ones left out.

    `name` is a part of the name; `query` words of the content, or a query of Spotlight's.
    """

    name = "mdfind"
    reads_only = True
    leave = Leave.NONE
    purpose = "Find the user's files outside the workspace at once, by words in them or by a part of the name."
    SIZES: ClassVar = {"query": QUERY_BYTES_MAX, "name": NAME_BYTES_MAX, "folder": PATH_BYTES_MAX}
    args_schema = texts_schema(*SIZES)

    def __init__(self, home: Path) -> None:
        self._home = str(home.resolve())

    def args_faults(self, args: JsonObject) -> list[str]:
        """See `Tool`."""
        faults = text_faults(args, {name: size for name, size in self.SIZES.items() if name in args})
        if faults:
            return faults
        faults = [] if args.get("query") or args.get("name") else ["give a query or a name to search for"]
        if args.get("query") and args.get("name"):
            faults.append("give a query or a name, not both")
        faults += _option_faults(args, "query", "name")
        if posixpath.commonpath([self._home, self._folder(args)]) != self._home:
            faults.append(f"folder leads out of {self._home}")
        return faults

    def target(self, args: JsonObject) -> str:
        """The arguments in canonical form, the folder in its one spelling."""
        return canonical_text({**args, "folder": self._folder(args)})

    async def run(self, call: ToolCall, place: ToolPlace) -> RawResult:
        """See `Tool`."""
        folder = self._folder(call.args)
        sought = ["-name", str(call.args["name"])] if call.args.get("name") else [str(call.args["query"])]
        result = await _ran(["mdfind", "-onlyin", folder, *sought], b"", call, place)
        lines = result.stdout.decode(errors="replace").splitlines()
        shown = [line for line in lines if "/." not in line.removeprefix(folder)]
        over = f"{len(shown) - FOUND_MAX} more were found\n".encode() if len(shown) > FOUND_MAX else b""
        text = "".join(f"{line}\n" for line in shown[:FOUND_MAX])
        return replace(result, stdout=text.encode(), stderr=result.stderr + over)

    def _folder(self, args: JsonObject) -> str:
        return str(Path(self._home, with_home(str(args.get("folder", "")), self._home)).resolve())


class AppleScript(Tool):
    """`applescript {script}`: what it returns is printed. It may do whatever the user may, in any app."""

    name = "applescript"
    reads_only = False
    leave = Leave.OUTSIDE
    purpose = "Work Mac apps such as Mail, Calendar, Reminders or Music by an AppleScript; its result is printed."
    SIZES: ClassVar = {"script": SCRIPT_BYTES_MAX}
    args_schema = texts_schema(script="")

    def args_faults(self, args: JsonObject) -> list[str]:
        """See `Tool`."""
        faults = text_faults(args, self.SIZES)
        return faults or ([] if str(args["script"]).strip() else ["the script is empty"])

    def target(self, args: JsonObject) -> str:
        """The script, white space as single spaces."""
        return " ".join(str(args["script"]).split())

    async def run(self, call: ToolCall, place: ToolPlace) -> RawResult:
        """See `Tool`. The script goes in by stdin, so that no word of it is taken for an option."""
        return await _ran(["osascript", "-"], str(call.args["script"]).encode(), call, place)


class Shortcuts(Tool):
    """`shortcuts {name, input?}`: the user's Shortcut of that name, with a text as its input; its output is printed."""

    name = "shortcuts"
    reads_only = False
    leave = Leave.OUTSIDE
    purpose = "Run an Apple Shortcut of the user's by its name, with a text as input."
    SIZES: ClassVar = {"name": NAME_BYTES_MAX, "input": INPUT_BYTES_MAX}
    args_schema = texts_schema("input", name="")

    def args_faults(self, args: JsonObject) -> list[str]:
        """See `Tool`."""
        faults = text_faults(args, {name: size for name, size in self.SIZES.items() if name == "name" or name in args})
        return faults or [*_option_faults(args, "name"), *([] if str(args["name"]).strip() else ["the name is empty"])]

    def target(self, args: JsonObject) -> str:
        """The Shortcut's name."""
        return str(args["name"])

    async def run(self, call: ToolCall, place: ToolPlace) -> RawResult:
        """See `Tool`."""
        with scratch("shortcut") as folder:
            given, made = folder / "input.txt", folder / "output.txt"
            words = ["shortcuts", "run", str(call.args["name"]), "--output-path", str(made)]
            if call.args.get("input"):
                given.write_text(str(call.args["input"]), encoding="utf-8")
                words += ["--input-path", str(given)]
            result = await _ran(words, b"", call, place)
            if made.is_file():
                with made.open("rb") as file:
                    result = replace(result, stdout=result.stdout + file.read(OUTPUT_BYTES_MAX))
        return result


def _option_faults(args: JsonObject, *names: str) -> list[str]:
    """These programs take no `--`: what begins with a dash would be an option of theirs."""
    given = [(name, str(args.get(name, ""))) for name in names]
    return [f"{name} begins with -, or holds a NUL" for name, value in given if value[:1] == "-" or "\0" in value]


async def _ran(words: Sequence[str], stdin: bytes, call: ToolCall, place: ToolPlace) -> RawResult:
    environment = {name: value for name, value in os.environ.items() if name not in SECRETS}
    with scratch("macos") as folder:
        (folder / "stdin").write_bytes(stdin)
        try:
            ended = await run_group(words, folder / "stdin", environment, call.timeout_ms / 1000, place.folder)
        except ProgramFailed as failed:
            return RawResult(failure=environmental("program_failed", str(failed)))
    return RawResult(
        stdout=ended.output,
        stderr=ended.complaint,
        exit_code=ended.code,
        failure=logical("exit_code", f"it ended with exit code {ended.code}{ended.last_words}") if ended.code else None,
    )
