"""The live view: a line for whatever happens in a run and, on a terminal, a status line that moves."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final

from rich.console import Console
from rich.status import Status as Spinner
from rich.text import Text

from earnest.effects.bus.api import Bus, Envelope, Subscription
from earnest.effects.clock import Clock
from earnest.engine.messages import ExecutionResult, Role, SubTask, SubTaskOutcome
from earnest.foundation.instants import duration_text
from earnest.foundation.text import printable
from earnest.surfaces.cli.lines import Teller
from earnest.surfaces.cli.printing import abandon_stdout, short

QUEUE_MAX: Final = 10_000
REFRESH_MS: Final = 100
TARGET_CHARACTERS_MAX: Final = 70
STATUS_CHARACTERS_MAX: Final = 60
WIDTH_MIN: Final = 60

NAMES: Final[dict[str, str]] = {
    Role.R1: "R1 perceiver",
    Role.R2: "R2 planner",
    Role.R3: "R3 executor",
    Role.R4A: "R4a validator",
    Role.R4B: "R4b validator",
    Role.R7: "R7 solver",
}


@contextlib.asynccontextmanager
async def watching(bus: Bus, clock: Clock, run_id: str) -> AsyncIterator[None]:
    """Print what happens in the run until the block ends. That nobody listens any more does not end the run."""
    subscription = bus.subscribe("live view", None, capacity=QUEUE_MAX)
    task = asyncio.get_running_loop().create_task(_View(_Console(highlight=False), clock, run_id).follow(subscription))
    try:
        yield
    finally:
        subscription.close()
        await task


class _Console(Console):
    """A console that goes quiet, instead of ending the process, when its reader is gone."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        abandon_stdout()


class _View:
    def __init__(self, console: Console, clock: Clock, run_id: str) -> None:
        self._console = console
        self._clock = clock
        self._run_id = run_id
        self._started_ms = clock.now_ms()
        self._teller = Teller(TARGET_CHARACTERS_MAX)
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
            busy = short(", ".join(self._busy.values()) or "deciding", STATUS_CHARACTERS_MAX)
            spinner.update(Text(f"{spent}  {busy}"))
            await self._clock.sleep_ms(REFRESH_MS)

    def _show(self, envelope: Envelope) -> None:
        self._track(envelope.payload)
        when = "before" if envelope.replayed else duration_text(envelope.at_ms - self._started_ms)
        margin = f"{when:>7}  {NAMES.get(envelope.sender, envelope.sender):<13}  "
        for text, style in self._teller.lines_of(envelope.payload):
            self._print(margin, printable(text), style)
            margin = " " * len(margin)

    def _print(self, margin: str, text: str, style: str) -> None:
        """On a terminal, wrapped beside the margin; elsewhere one line, whatever its length."""
        line = Text(text, style=style)
        if not self._console.is_terminal or self._console.width < WIDTH_MIN:
            self._console.print(Text(margin).append_text(line), soft_wrap=True)
            return
        for part in line.wrap(self._console, self._console.width - len(margin)):
            self._console.print(Text.assemble((margin, "dim"), part), soft_wrap=True)
            margin = " " * len(margin)

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
