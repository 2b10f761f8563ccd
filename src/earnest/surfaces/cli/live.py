"""The live view: a line for whatever happens in a run, and a status line that moves."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final

from rich.console import Console
from rich.status import Status as Spinner
from rich.text import Text

from earnest.effects.bus.api import Bus, Envelope, Subscription
from earnest.effects.clock import Clock
from earnest.engine.messages import ExecutionResult, SubTask, SubTaskOutcome
from earnest.foundation.instants import duration_text
from earnest.surfaces.cli.lines import lines_of

QUEUE_MAX: Final = 10_000
REFRESH_MS: Final = 100


@contextlib.asynccontextmanager
async def watching(bus: Bus, clock: Clock, run_id: str) -> AsyncIterator[None]:
    """Print what happens in the run until the block ends."""
    console = Console(highlight=False)
    subscription = bus.subscribe("live view", None, capacity=QUEUE_MAX)
    task = asyncio.get_running_loop().create_task(_View(console, clock, run_id).follow(subscription))
    try:
        yield
    finally:
        subscription.close()
        await task


class _View:
    def __init__(self, console: Console, clock: Clock, run_id: str) -> None:
        self._console = console
        self._clock = clock
        self._run_id = run_id
        self._started_ms = clock.now_ms()
        self._busy: dict[str, str] = {}

    async def follow(self, subscription: Subscription) -> None:
        with self._console.status("starting") as spinner:
            ticker = asyncio.get_running_loop().create_task(self._tick(spinner))
            async for envelope in subscription:
                if envelope.run_id == self._run_id:
                    self._show(envelope)
            ticker.cancel()

    async def _tick(self, spinner: Spinner) -> None:
        while True:
            spent = duration_text(self._clock.now_ms() - self._started_ms)
            spinner.update(Text(f"{spent}  {', '.join(self._busy.values()) or 'deciding'}"))
            await self._clock.sleep_ms(REFRESH_MS)

    def _show(self, envelope: Envelope) -> None:
        self._track(envelope.payload)
        when = "before" if envelope.replayed else duration_text(envelope.at_ms - self._started_ms)
        for text, style in lines_of(envelope.payload):
            line = Text(f"{when:>8}  {envelope.sender:<10}  ")
            self._console.print(line.append(text, style=style), soft_wrap=True)

    def _track(self, payload: object) -> None:
        match payload:
            case SubTask(subtask=subtask):
                self._busy[subtask.id] = f"{subtask.id}: working"
            case ExecutionResult(subtask_id=subtask_id):
                self._busy[subtask_id] = f"{subtask_id}: being judged"
            case SubTaskOutcome(subtask_id=subtask_id):
                self._busy.pop(subtask_id, None)
            case _:
                pass
