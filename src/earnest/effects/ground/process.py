"""A program in a group of its own, or a worker of ours: it ends in time and leaves nobody."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from earnest.effects.ground.leash import leashed
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import EarnestError

OUTPUT_BYTES_MAX: Final = 1024 * 1024
COMPLAINT_BYTES: Final = 4_000
TOLD_BYTES_MAX: Final = 4_096
TELL_MS: Final = 100
GRACE_S: Final = 3
"""Between SIGTERM and SIGKILL; and for pipes that somebody outside the group still holds."""


class ProgramFailed(EarnestError):
    """The program did not end by itself; the message says how."""


class Ended(NamedTuple):
    """How it ended: the exit code (below 0: a signal), stdout, and the end of stderr."""

    code: int
    output: bytes
    complaint: bytes

    @property
    def last_words(self) -> str:
        """The last line of stderr, cut, behind a colon; empty if it said nothing."""
        last = self.complaint.decode(errors="replace").strip().splitlines()[-1:]
        return f": {last[0][:300]}" if last else ""


async def run_group(
    words: Sequence[str],
    stdin: Path,
    environment: Mapping[str, str],
    timeout_s: float,
    folder: Path | None = None,
    *,
    hear: Callable[[int, bytes, int], None] | None = None,
) -> Ended:
    """Run it, in `folder` if one is given. However this ends, cancelled too, the group is gone.

    `hear` is told what it puts out on 1 or 2, as `Paced` does. It must not raise.

    Raises `ProgramFailed` where it cannot be started, takes too long, or says more than `OUTPUT_BYTES_MAX`.
    """
    output = _Heard(OUTPUT_BYTES_MAX, partial(hear, 1) if hear else None)
    complaint = _Heard(COMPLAINT_BYTES, partial(hear, 2) if hear else None)
    async with _pipe(output) as out, _pipe(complaint) as err:
        process = await _spawned(words, stdin, environment, (out, err), folder)
        output.too_much = lambda: _signal(process, signal.SIGKILL)
        try:
            async with asyncio.timeout(timeout_s):
                code = await process.wait()
        except TimeoutError:
            raise ProgramFailed(f"it was not done within {timeout_s:g} s") from None
        finally:
            await _end(process)
        await output.over()
        await complaint.over()
    if output.is_too_much:
        raise ProgramFailed(f"it wrote more than {OUTPUT_BYTES_MAX} bytes to stdout")
    return Ended(code, bytes(output.data), bytes(complaint.data))


async def answer_of(worker: str, question: JsonObject, wall_s: float) -> bytes:
    """What a module of ours prints that is handed a question as JSON. Raises `TimeoutError`."""
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
            os.killpg(process.pid, signal.SIGKILL)  # with whatever it left
        await process.wait()


class Paced:
    """Passes on what comes, at most `TOLD_BYTES_MAX` each `TELL_MS`: the newest, and how much before it is left out."""

    def __init__(self, hear: Callable[[bytes, int], None]) -> None:
        self._hear = hear
        self._waiting = b""
        self._left_out = 0
        self._timer: asyncio.TimerHandle | None = None

    def take(self, data: bytes) -> None:
        """Some more has come."""
        waiting = self._waiting + data[-TOLD_BYTES_MAX:]
        self._left_out += max(0, len(self._waiting) + len(data) - TOLD_BYTES_MAX)
        self._waiting = waiting[-TOLD_BYTES_MAX:]
        if self._timer is None:
            self._pass_on()

    def end(self) -> None:
        """Nothing more comes."""
        if self._timer is not None:
            self._timer.cancel()
        if self._waiting:
            self._hear(self._waiting, self._left_out)
            self._waiting = b""

    def _pass_on(self) -> None:
        self._timer = None
        if self._waiting:
            self._hear(self._waiting, self._left_out)
            self._waiting, self._left_out = b"", 0
            self._timer = asyncio.get_running_loop().call_later(TELL_MS / 1000, self._pass_on)


class _Heard(asyncio.Protocol):
    """What came through one pipe: the last `bytes_max` of it. The first time that it is more, `too_much` is called."""

    def __init__(self, bytes_max: int, hear: Callable[[bytes, int], None] | None) -> None:
        self.data = bytearray()
        self._told = Paced(hear) if hear else None
        self.is_too_much = False
        self.too_much: Callable[[], None] = lambda: None
        self._bytes_max = bytes_max
        self._over = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        self.data += data
        if self._told:
            self._told.take(data)
        if len(self.data) > self._bytes_max:
            del self.data[: -self._bytes_max]
            if not self.is_too_much:
                self.is_too_much = True
                self.too_much()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """See `asyncio.Protocol`."""
        if self._told:
            self._told.end()
        self._over.set()

    async def over(self) -> None:
        """Return once nobody can write any more, or after `GRACE_S`."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), GRACE_S)


@asynccontextmanager
async def _pipe(heard: _Heard) -> AsyncIterator[int]:
    """The end to write to; whoever is handed it closes it. Pipes of our own, so that `wait` waits for the end alone."""
    reading, writing = os.pipe()
    file = os.fdopen(reading, "rb", buffering=0)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: heard, file)
    try:
        yield writing
    finally:
        transport.close()


async def _spawned(
    words: Sequence[str],
    stdin: Path,
    environment: Mapping[str, str],
    pipes: tuple[int, int],
    folder: Path | None,
) -> asyncio.subprocess.Process:
    out, err = pipes
    try:
        with stdin.open("rb") as file:
            return await asyncio.create_subprocess_exec(
                *leashed(words, environment.get("PATH"), folder),
                stdin=file,
                stdout=out,
                stderr=err,
                env=dict(environment),
                cwd=folder,
                start_new_session=True,
            )
    except (OSError, ValueError) as error:
        raise ProgramFailed(f"it cannot be started: {error}") from None
    finally:
        os.close(out)
        os.close(err)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ask whoever is left in its group to leave, then kill it, even where nobody has the patience to wait."""
    try:
        if process.returncode is None:
            _signal(process, signal.SIGTERM)
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), GRACE_S)
    finally:
        _signal(process, signal.SIGKILL)
    await process.wait()


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
