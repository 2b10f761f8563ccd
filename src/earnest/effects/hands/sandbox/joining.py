"""Two executions joined by a pipe each way: bytes cross it, and neither descriptors nor rights."""

import asyncio
import contextlib
import os
import socket
from dataclasses import dataclass


class Pipe:
    """A pipe. Our copies of its ends are closed when they were handed over, at the latest with `stack`."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        reading, writing = os.pipe()
        self.reading = stack.enter_context(os.fdopen(reading, "rb", buffering=0))
        self.writing = stack.enter_context(os.fdopen(writing, "wb", buffering=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """What one of the two is given: a processor, what it reads and what it writes."""

    cpu: int
    reads: Pipe
    writes: Pipe

    async def send(self, channel: socket.socket) -> None:
        """Hand its two ends over and close ours, so that each side sees when the other is gone."""
        ends = (self.reads.reading, self.writes.writing)
        while True:
            try:
                socket.send_fds(channel, [b"="], [end.fileno() for end in ends])
                break
            except BlockingIOError:
                await _room(channel)
        for end in ends:
            end.close()


async def _room(channel: socket.socket) -> None:
    """Until the channel takes more."""
    loop, room = asyncio.get_running_loop(), asyncio.Event()
    loop.add_writer(channel, room.set)
    try:
        await room.wait()
    finally:
        loop.remove_writer(channel)
