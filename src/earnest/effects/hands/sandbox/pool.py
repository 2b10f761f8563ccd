"""Boxes that stand ready, each used once: of each kind, what it shows and the program that is loaded in it."""

import asyncio
import contextlib
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Final

from earnest.effects.hands.sandbox import wire
from earnest.effects.hands.sandbox.api import ExecutionLimits, Program
from earnest.effects.hands.sandbox.attack import EXECUTES
from earnest.effects.hands.sandbox.bubblewrap import SIZE_MARGIN_BYTES, Shape
from earnest.effects.hands.sandbox.launcher import Box, Launcher
from earnest.foundation.errors import Unavailable

START_MS: Final = 10_000
WAITING: Final = b"+"
KINDS_MAX: Final = 5  # of boxes that stand ready: those that were asked for last

PLAIN: Final = Shape(disk_bytes=ExecutionLimits().disk_bytes)
"""With whatever of the host's own folders is hidden from everybody, the shape of boxes without an environment."""

Kind = tuple[Shape, Program | None]


async def begin(launcher: Launcher, binary: Path, shape: Shape, message: bytes = wire.NO_PROGRAM) -> Box:
    """A box whose pid 1 waits for its job, with what `message` holds. Raises `Unavailable`, with bubblewrap's words."""
    box = await launcher.start(shape, binary)
    try:
        async with asyncio.timeout(START_MS / 1000):
            with contextlib.suppress(ConnectionError):  # then it has said why on stderr
                await asyncio.get_running_loop().sock_sendall(box.channel, message)
            if await _waits(box):
                return box
            said = await box.ended
    except BaseException:
        await launcher.end(box)
        raise
    await launcher.end(box)
    raise Unavailable(said or "it ended at once")


async def _waits(box: Box) -> bool:
    """True once its pid 1 has said so."""
    with contextlib.suppress(ConnectionError):
        box.waits = box.waits or await asyncio.get_running_loop().sock_recv(box.channel, 1) == WAITING
    return box.waits


class Pool:
    """At most `size` boxes of each kind; `plain` is the shape of those that show no environment.

    A program's boxes come from zygotes (`zygote.py`) where the machine lets one box start another: each has at most one
    box at a time, and makes the next one ready when that has reported.
    """

    def __init__(self, launcher: Launcher, binary: Path, plain: Shape, size: int) -> None:
        self.plain = plain
        self.boxes: dict[Kind, deque[Box]] = {}
        self.no_zygotes = ""
        """Why there are none; empty as long as nothing is known against them."""
        self.zygotes_hold = False
        """True once the self-test has been green with boxes of theirs."""
        self._launcher = launcher
        self._binary = binary
        self._size = size

    @property
    def fewest(self) -> int:
        """How many stand ready of the kind of which there are fewest; as many as shall, while none was asked for."""
        return min(map(len, self.boxes.values()), default=self._size)

    def keep(self, box: Box) -> None:
        """Have a waiting plain box ready for the next execution that fits it."""
        if self.plain.masks:
            box.close()
        else:
            self.boxes.setdefault((self.plain, None), deque()).append(box)

    async def take(self, shape: Shape, program: Program | None) -> Box:
        """A box for this shape and program: one that stands ready, or a new one."""
        # Masks that hide more than the plain ones were asked for by one execution.
        lasts = shape.lasts and shape.masks == self.plain.masks and shape.disk_bytes == self.plain.disk_bytes
        ready = self._of((shape, program)) if lasts else None
        while ready:
            box = ready.popleft()
            if not box.ended.done() and await self._is_there(box):
                return box
            box.close()
        by_zygote = lasts and (program is EXECUTES or (self._size > 0 and self.zygotes_hold))
        return await self.begin(shape, program, by_zygote=by_zygote)

    def _of(self, kind: Kind) -> deque[Box]:
        """The boxes of a kind, which is the last asked for now; the one that nobody asked for longest may make way."""
        boxes = self.boxes.pop(kind, None)
        if boxes is None and len(self.boxes) >= KINDS_MAX:
            _hang_up(self.boxes.pop(next(iter(self.boxes))))
        self.boxes[kind] = boxes = deque() if boxes is None else boxes
        return boxes

    async def begin(self, shape: Shape, program: Program | None, *, by_zygote: bool) -> Box:
        """A new box; by a zygote of its own if it can be. Raises `Unavailable`."""
        if by_zygote and program is not None and not self.no_zygotes:
            message = wire.program_message(program, (self._launcher.call_filter, shape.disk_bytes + SIZE_MARGIN_BYTES))
            try:
                zygote = await begin(self._launcher, self._binary, replace(shape, filtered=False), message)
                box = zygote.next()
                if await self._is_there(box):
                    return box
                self.no_zygotes = "a box cannot start another"
            except (Unavailable, TimeoutError) as error:
                self.no_zygotes = str(error)
        return await begin(self._launcher, self._binary, shape, wire.program_message(program))

    async def leave(self, box: Box, kind: Kind, *, reported: bool) -> None:
        """Let go of a box; of one that has reported, nothing lives but its pid 1, which need not be waited for."""
        ready = self.boxes.get(kind)
        if not reported:
            await self._launcher.end(box)
        elif box.zygote is None or ready is None or len(ready) >= self._size:
            await self._launcher.dismiss(box)
        else:
            box.channel.close()
            ready.append(box.zygote.next())

    async def add(self) -> None:
        """One more of the kind of which there are fewest. Raises `Unavailable`."""
        (shape, program), boxes = min(self.boxes.items(), key=lambda item: len(item[1]))
        boxes.append(await self.begin(shape, program, by_zygote=self.zygotes_hold))

    def forget(self, program: Program) -> None:
        """Hang up on the boxes that have it."""
        for kind in [kind for kind in self.boxes if kind[1] is program]:
            _hang_up(self.boxes.pop(kind))

    def close(self) -> None:
        """Hang up on all of them."""
        for boxes in self.boxes.values():
            _hang_up(boxes)

    async def _is_there(self, box: Box) -> bool:
        """True if its pid 1 waits, for which that of a zygote's box may need a moment; else it is ended."""
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(START_MS / 1000):
                    return await _waits(box)
        finally:
            if not box.waits:
                await self._launcher.end(box)
        return False


def _hang_up(boxes: deque[Box]) -> None:
    while boxes:
        boxes.pop().close()
