"""The tool that reads one file."""

import asyncio
import os
from typing import Final

from earnest.effects.tools.api import Leave, Place
from earnest.effects.tools.arguments import PATH_BYTES_MAX, normal_path, path_faults, text, text_faults, texts_schema
from earnest.effects.tools.beneath import opened_beneath, root_of
from earnest.effects.tools.failures import logical, of_os_error
from earnest.effects.tools.record import RawResult, ToolCall
from earnest.foundation.canonical import JsonObject

READ_BYTES_MAX: Final = 1024 * 1024


class ReadFile:
    """`read_file {path}`: the bytes of a file of at most `READ_BYTES_MAX`, of the workspace or of an input."""

    name = "read_file"
    version = "1"
    reads_only = True
    leave = Leave.NONE
    purpose = "Read one text file."
    args_schema = texts_schema(path="relative to the workspace")

    def args_faults(self, args: JsonObject) -> list[str]:
        """See `Tool`."""
        return text_faults(args, {"path": PATH_BYTES_MAX}) or path_faults(text(args, "path"))

    def tool_ids(self, _args: JsonObject) -> frozenset[str]:
        """See `Tool`."""
        return frozenset({self.name})

    def target(self, args: JsonObject) -> str:
        """The path, relative to /work."""
        return normal_path(text(args, "path"))

    async def run(self, call: ToolCall, place: Place) -> RawResult:
        """See `Tool`."""
        return await asyncio.to_thread(_read, self.target(call.args), place)


def _read(path: str, place: Place) -> RawResult:
    root, inner, _ = root_of(place, path)
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
