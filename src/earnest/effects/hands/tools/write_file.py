"""The tool that writes one file."""

import asyncio
import os
from typing import Final

from earnest.effects.ground.beneath import opened_beneath
from earnest.effects.hands.tools.api import Leave, SingleTool, ToolPlace
from earnest.effects.hands.tools.arguments import (
    PATH_BYTES_MAX,
    normal_path,
    path_faults,
    text,
    text_faults,
    texts_schema,
)
from earnest.effects.hands.tools.failures import environmental, of_os_error
from earnest.effects.hands.tools.record import RawResult, ToolCall
from earnest.foundation.canonical import JsonObject

WRITE_BYTES_MAX: Final = 8 * 1024 * 1024


class WriteFile(SingleTool):
    """`write_file {path, content}`: at most `WRITE_BYTES_MAX` of UTF-8, over what was there; folders are made."""

    name = "write_file"
    version = "1"
    reads_only = False
    leave = Leave.NONE
    purpose = "Write a whole text file, over what was there."
    args_schema = texts_schema(path="", content="")

    def args_faults(self, args: JsonObject) -> list[str]:
        """See `Tool`."""
        wanted = {"path": PATH_BYTES_MAX, "content": WRITE_BYTES_MAX}
        return text_faults(args, wanted) or path_faults(text(args, "path"))

    def target(self, args: JsonObject) -> str:
        """The path, relative to /work."""
        return normal_path(text(args, "path"))

    async def run(self, call: ToolCall, place: ToolPlace) -> RawResult:
        """See `Tool`."""
        return await asyncio.to_thread(_write, self.target(call.args), text(call.args, "content").encode(), place)


def _write(path: str, content: bytes, place: ToolPlace) -> RawResult:
    root, inner, is_input = place.root_of(path)
    if is_input:
        return RawResult(failure=environmental("erofs", f"{path}: inputs are read-only"))
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    try:
        with (
            opened_beneath(root, inner, flags, make_parents=True) as descriptor,
            os.fdopen(descriptor, "wb", closefd=False) as file,
        ):
            file.write(content)
    except OSError as error:
        return RawResult(failure=of_os_error(error, path))
    return RawResult(stdout=f"wrote {len(content)} bytes to {path}".encode())
