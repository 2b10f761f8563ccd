"""How is a JSON Schema evaluated whose references could make the answer take ages?

In a process of its own with bounded CPU time and memory, ended when its time is over: the schema is no more to be
trusted than whoever wrote the spec.
"""

import asyncio
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from earnest.foundation.canonical import JsonValue
from earnest.foundation.errors import Unavailable

PROGRAM: Final = "import sys; sys.path[:] = sys.argv[1:]; from earnest.verification.schema import main; main()"
"""Finds its modules where this process does: isolation alone would know of installed packages only."""
SCHEMA_WALL_MS: Final = 10_000


async def schema_problems(schema: JsonValue, value: JsonValue, *, wall_ms: int = SCHEMA_WALL_MS) -> list[str]:
    """What of `value` does not satisfy `schema`: a few problems, each with its JSON pointer. Empty: valid.

    Raises `Unavailable` if that could not be found out within the bounds.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-c",
        PROGRAM,
        *(folder for folder in sys.path if Path(folder).is_absolute()),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(wall_ms / 1000):
            answer, _ = await process.communicate(json.dumps([schema, value]).encode())
    except TimeoutError:
        raise Unavailable(f"the schema could not be evaluated within {wall_ms} ms") from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode != 0:
        raise Unavailable("the schema could not be evaluated within its bounds of time and memory")
    problems: list[str] = json.loads(answer)
    return problems
