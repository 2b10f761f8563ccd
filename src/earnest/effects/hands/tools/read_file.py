"""The tool that reads one file."""

import asyncio
import os
import sys
from typing import Final

from earnest.effects.ground.beneath import opened_beneath
from earnest.effects.hands.tools.api import Leave, Tool, ToolPlace
from earnest.effects.hands.tools.arguments import (
    PATH_BYTES_MAX,
    TEXT,
    normal_path,
    object_schema,
    path_faults,
    text,
    text_faults,
)
from earnest.effects.hands.tools.failures import logical, of_os_error
from earnest.effects.hands.tools.record import RawResult, ToolCall
from earnest.foundation.canonical import JsonObject

READ_BYTES_MAX: Final = 1024 * 1024


class ReadFile(Tool):
    """`read_file {path, from?, to?}`: a file of at most `READ_BYTES_MAX`, of the workspace or of an input, as it is.

    With `from` or `to`, the first and last line, only these, each with its number.
    """

    name = "read_file"
    version = "2"
    reads_only = True
    leave = Leave.NONE
    purpose = "Read a text file, or some numbered lines of it."
    args_schema = object_schema({"path": TEXT, "from": {"type": "integer"}, "to": {"type": "integer"}}, ("path",))

    def args_faults(self, args: JsonObject) -> list[str]:
        """See `Tool`."""
        lines = {name: args[name] for name in ("from", "to") if name in args}
        rest = {name: value for name, value in args.items() if name not in lines}
        faults = text_faults(rest, {"path": PATH_BYTES_MAX}) or path_faults(text(rest, "path"))
        wrong = [name for name, line in lines.items() if type(line) is not int or line < 1]
        return faults + [f"{name} must be the number of a line, from 1" for name in wrong]

    def target(self, args: JsonObject) -> str:
        """The path, relative to /work."""
        return normal_path(text(args, "path"))

    async def run(self, call: ToolCall, place: ToolPlace) -> RawResult:
        """See `Tool`."""
        raw = await asyncio.to_thread(_read, self.target(call.args), place)
        if raw.failure is not None or not {"from", "to"} & call.args.keys():
            return raw
        first, last = call.args.get("from", 1), call.args.get("to", sys.maxsize)
        assert isinstance(first, int)
        assert isinstance(last, int)
        lines = raw.stdout.splitlines(keepends=True)
        if first > max(1, len(lines)):
            return RawResult(failure=logical("no_such_line", f"{self.target(call.args)} has {len(lines)} lines"))
        numbers = range(first, min(last, len(lines)) + 1)
        return RawResult(stdout=b"".join(b"%d\t%s" % (number, lines[number - 1]) for number in numbers))


def _read(path: str, place: ToolPlace) -> RawResult:
    root, inner, _ = place.root_of(path)
    try:
        with opened_beneath(root, inner, os.O_RDONLY) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(READ_BYTES_MAX + 1)
    except OSError as error:
        return RawResult(failure=of_os_error(error, path))
    if len(data) > READ_BYTES_MAX:
        return RawResult(
            failure=logical("too_large", f"{path}: over {READ_BYTES_MAX} bytes; read a part of it instead")
        )
    return RawResult(stdout=data)
