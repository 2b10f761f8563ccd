"""Questions to a worker of our own: each is handed one as JSON, prints its answer and is gone."""

import asyncio
import json
import os
import sys
from contextlib import suppress

from earnest.effects.ground.leash import leashed
from earnest.foundation.canonical import JsonObject


async def answer_of(worker: str, question: JsonObject, wall_s: float) -> bytes:
    """What the module `worker` prints. Raises `TimeoutError`."""
    process = await asyncio.create_subprocess_exec(
        *leashed((sys.executable, "-I", "-m", worker)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(wall_s):
            answer, _ = await process.communicate(json.dumps(question).encode())
            return answer
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, 9)  # with whatever it left
        await process.wait()
