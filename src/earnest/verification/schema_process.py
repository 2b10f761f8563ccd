"""A process for JSON Schemas whose references could make the answer take ages.

In a process of its own with bounded CPU time and memory, ended when its time is over: the schema is no more to be
trusted than whoever wrote the spec. No code of theirs runs in it, so a process that has answered in time is asked
again: to start one takes far longer than most schemas.
"""

import asyncio
import atexit
import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from earnest.foundation.canonical import JsonValue
from earnest.foundation.errors import Unavailable
from earnest.verification.schema import SIZE_BYTES

PROGRAM: Final = "import sys; sys.path[:] = sys.argv[1:]; from earnest.verification.schema import main; main()"
"""Finds its modules where this process does: isolation alone would know of installed packages only."""
SCHEMA_WALL_MS: Final = 10_000
IDLE_MAX: Final = 4
ANSWERS_MAX: Final = 10_000
"""How often one process answers before another takes its place."""


async def schema_problems(schema: JsonValue, value: JsonValue, *, wall_ms: int = SCHEMA_WALL_MS) -> list[str]:
    """What of `value` does not satisfy `schema`: a few problems, each with its JSON pointer. Empty: valid.

    Raises `Unavailable` if that could not be found out within the bounds.
    """
    evaluator = _IDLE.pop() if _IDLE else _Evaluator()
    try:
        async with asyncio.timeout(wall_ms / 1000):
            answer = await asyncio.to_thread(evaluator.ask, json.dumps([schema, value]).encode())
    except TimeoutError:
        evaluator.kill()
        raise Unavailable(f"the schema could not be evaluated within {wall_ms} ms") from None
    except BaseException:
        evaluator.kill()
        raise
    if answer is None:
        raise Unavailable("the schema could not be evaluated within its bounds of time and memory")
    if len(_IDLE) < IDLE_MAX and evaluator.answers < ANSWERS_MAX:
        _IDLE.append(evaluator)
    else:
        evaluator.end()
    problems: list[str] = json.loads(answer)
    return problems


class _Evaluator:
    """One process, asked by one thread at a time."""

    def __init__(self) -> None:
        folders = [folder for folder in sys.path if Path(folder).is_absolute()]
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-I", "-c", PROGRAM, *folders],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.answers = 0

    def ask(self, request: bytes) -> bytes | None:
        """The answer to one request, or None: the process is gone, because of its bounds or because it was killed."""
        asked, told = self._pipes()
        try:
            asked.write(len(request).to_bytes(SIZE_BYTES, "big") + request)
            asked.flush()
            size = told.read(SIZE_BYTES)
            answer = told.read(int.from_bytes(size, "big"))
        except OSError:
            size = answer = b""
        if len(size) < SIZE_BYTES or len(answer) < int.from_bytes(size, "big"):
            self.end()
            return None
        self.answers += 1
        return answer

    def kill(self) -> None:
        """Let a thread that waits for its answer go on without one."""
        self._process.kill()

    def end(self) -> None:
        """End it, and close what leads to it."""
        self._process.kill()
        self._process.wait()
        for pipe in self._pipes():
            with suppress(OSError):
                pipe.close()

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout


_IDLE: Final[list[_Evaluator]] = []


@atexit.register
def _end_all() -> None:
    while _IDLE:
        _IDLE.pop().end()
