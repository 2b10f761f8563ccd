"""Messages of this process told on to a bus between machines, so that nothing here waits for it or depends on it.

What is said goes out at once, in its order. While the bus is away it waits, up to a limit; what is lost beyond that,
or by the end of the process, is taken from the facts: a file for each run says that the bus may lack some of it.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

from earnest.effects.ground.bus.api import Envelope
from earnest.effects.ground.bus.wire import SentMessage, StreamWriter, sent_message
from earnest.effects.ground.clock import Clock
from earnest.effects.ground.storage.reader import BooksReader, ReadPool
from earnest.engine.facts import FINISHED, MESSAGES, message_of
from earnest.engine.messages import FinalResult
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import EarnestError, Unavailable
from earnest.runtime.tree_heads import encode_said

WAITING_MAX: Final = 16_384
"""Messages that wait for the bus; beyond them a run's are taken from the facts later."""
BATCH: Final = 256
RUN: Final = "run_"
"""How the ids of runs begin. What is said between runs goes without a second chance: it is in no run's facts."""
AGAIN_MS: Final = 500
LOOK_MS: Final = 60_000
"""How often runs are looked for that other processes left behind."""
CLOSING_MS: Final = 2_000
"""How long an ending process waits for the bus."""
_log: Final = logging.getLogger(__name__)


class BusRelay:
    """Tells on what a process's bus carries. `folder` has a file for each run that the bus may lack messages of."""

    def __init__(
        self,
        writer: StreamWriter,
        *,
        books: ReadPool,
        folder: Path,
        clock: Clock,
        encode: Callable[[object], JsonObject] = encode_said,
    ) -> None:
        self._writer = writer
        self._books = books
        self._folder = folder
        self._clock = clock
        self._encode = encode
        self._waiting: deque[Envelope] = deque()
        self._own: set[str] = set()
        """Runs that this process tells of, and has told all of so far."""
        self._cut: set[str] = set()
        """Runs of which it has lost messages: the rest is taken from the facts, in order."""
        self._lost = 0
        self._has_looked = False
        """Whether what others left behind has been told."""
        self._hint = asyncio.Event()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def gauges(self) -> Mapping[str, tuple[str, Callable[[], float]]]:
        """What monitoring may ask."""
        return {
            "bus_away": ("1 while the bus does not answer.", lambda: bool(self._writer.fault)),
            "bus_waiting": ("Messages that wait for the bus.", lambda: len(self._waiting)),
            "bus_lost": ("Messages that did not fit; those of runs are told from the facts.", lambda: self._lost),
            "bus_behind": ("Runs that the bus may lack messages of.", lambda: len(list(self._folder.iterdir()))),
        }

    def see(self, envelope: Envelope) -> None:
        """A tap of the bus: have a message told on. Never raises."""
        run_id = envelope.run_id
        if run_id.startswith(RUN) and run_id not in self._own:
            self._own.add(run_id)
            self._note(run_id)
        if run_id in self._cut or len(self._waiting) >= WAITING_MAX:
            self._lose(run_id)
        else:
            self._waiting.append(envelope)
        self._hint.set()

    async def run(self) -> None:
        """Tell on, until cancelled."""
        looked_ns = -LOOK_MS * 1_000_000
        while True:
            self._hint.clear()
            try:
                await self._tell()
                if self._clock.ticks_ns() - looked_ns >= self._rest_ms * 1_000_000:
                    await self._catch_up()
                    self._has_looked, looked_ns = True, self._clock.ticks_ns()
            except Unavailable:
                await self._clock.sleep_ms(AGAIN_MS)
            else:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._rest_ms / 1000):
                        await self._hint.wait()

    @property
    def _rest_ms(self) -> int:
        """Between two looks at what the bus lacks: short from the moment that it lacks something."""
        return AGAIN_MS if self._cut else LOOK_MS

    async def close(self) -> None:
        """Wait a moment for the bus to take what waits or was left behind; the rest stands in the facts."""
        end_ns = self._clock.ticks_ns() + CLOSING_MS * 1_000_000
        while (self._waiting or not self._has_looked) and self._clock.ticks_ns() < end_ns:
            await self._clock.sleep_ms(5)

    async def _tell(self) -> None:
        """Send what waits. Raises `Unavailable`, with it waiting on."""
        while self._waiting:
            batch = list(islice(self._waiting, BATCH))
            await self._writer.send([self._message(one) for one in batch])
            for one in batch:
                self._waiting.popleft()
                if isinstance(one.payload, FinalResult) and one.run_id not in self._cut:
                    self._own.discard(one.run_id)
                    self._forget(one.run_id)

    async def _catch_up(self) -> None:
        """Send what the facts know of runs that the bus may lack messages of. Raises `Unavailable`."""
        for path in sorted(self._folder.iterdir()):
            if path.name in self._own and path.name not in self._cut:
                continue
            try:
                await self._send_from_facts(path)
            except Unavailable:
                raise
            except (EarnestError, OSError, ValueError) as error:
                _log.warning("%s is told to the bus later: %s", path.name, error)

    async def _send_from_facts(self, path: Path) -> None:
        run_id, after = path.name, _sent_up_to(path)
        has_ended = await self._books.read(lambda reader: any(reader.facts(kind=FINISHED, subject=run_id, limit=1)))
        while found := await self._books.read(lambda reader: list(_kept(reader, run_id, after))):  # noqa: B023 - awaited
            await self._writer.send([self._message(envelope) for _, envelope in found])
            after = found[-1][0]
            _note_sent(path, after)
        if has_ended:  # and was so before the last of its facts was read
            self._cut.discard(run_id)
            self._own.discard(run_id)
            self._forget(run_id)

    def _message(self, envelope: Envelope) -> SentMessage:
        try:
            return sent_message(envelope, envelope.json(self._encode))
        except (EarnestError, ValueError) as error:
            _log.warning("a payload of kind %s goes without its content: %s", envelope.kind, error)
            return sent_message(envelope, None)

    def _lose(self, run_id: str) -> None:
        self._lost += 1
        if self._lost & (self._lost - 1) == 0:  # the 1st, 2nd, 4th …
            _log.warning("%d messages did not fit and are told to the bus from the facts", self._lost)
        if run_id in self._own:
            self._cut.add(run_id)

    def _note(self, run_id: str) -> None:
        """A file says so before the first message goes, so that a killed process leaves it behind."""
        with suppress(OSError):
            (self._folder / run_id).touch(mode=0o600)

    def _forget(self, run_id: str) -> None:
        with suppress(OSError):
            (self._folder / run_id).unlink(missing_ok=True)


def _sent_up_to(path: Path) -> int:
    """The number of the last fact that was sent for a run; 0 before the first. Raises `ValueError`, `OSError`."""
    return int(path.read_text() or 0)


def _note_sent(path: Path, seq: int) -> None:
    path.write_text(str(seq))


def _kept(reader: BooksReader, run_id: str, after: int) -> Iterator[tuple[int, Envelope]]:
    for fact in reader.facts(kind=MESSAGES, subject=run_id, after_seq=after, limit=BATCH):
        yield fact.seq, message_of(run_id, fact.at_ms, fact.body)
