"""The book of one run: its messages and effects as facts, written as they happen and read when it is resumed.

An effect's intent is durable before the effect begins, together with every message that led to it; its outcome is
durable before anybody hears of it, unless it can be had again: see `note` (`docs/architecture.md`, "Durability").
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from earnest.effects.ground.bus.api import Envelope
from earnest.effects.ground.clock import Clock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.reader import BooksReader
from earnest.engine.facts import DECIDED, INTENT, MESSAGES, OUTCOME, UNKNOWN, message_fact, message_of
from earnest.engine.messages import ConfirmationAsked
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Refused
from earnest.foundation.facts import Fact
from earnest.runtime.completion import Ending
from earnest.runtime.leave import ask

BATCH_MS: Final = 20
"""How long a message may wait for company before it is written."""

Recorded = Callable[[int, Envelope], None]
"""Called with every message that has become a fact, and the fact's number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRemains:
    """What an earlier process left of a run."""

    messages: Mapping[str, Envelope] = field(default_factory=dict)
    intents: Mapping[str, JsonObject] = field(default_factory=dict)
    outcomes: Mapping[str, JsonObject] = field(default_factory=dict)
    asked: Mapping[str, JsonObject] = field(default_factory=dict)
    """What was asked about unknown effects, and not answered yet."""
    decided: Mapping[str, JsonObject] = field(default_factory=dict)
    """What a person answered. One answer is about one intent: made again, an effect may become unknown again."""


def read_kept(reader: BooksReader, run_id: str) -> RunRemains:
    """Messages and effects of a run. Raises `Broken` for facts that no version of ours wrote."""
    messages: dict[str, Envelope] = {}
    effects: dict[str, dict[str, JsonObject]] = {INTENT: {}, UNKNOWN: {}, DECIDED: {}, OUTCOME: {}}
    for fact in reader.facts(kind=(*MESSAGES, *effects), subject=run_id):
        if fact.kind in effects:
            key = str(fact.body["key"])
            effects[fact.kind][key] = fact.body
            if fact.kind != UNKNOWN:  # whatever follows a question ends it, and whatever follows an answer uses it up
                effects[UNKNOWN].pop(key, None)
            if fact.kind != DECIDED:
                effects[DECIDED].pop(key, None)
        else:
            envelope = message_of(run_id, fact.at_ms, fact.body)
            messages[envelope.id] = envelope
    return RunRemains(
        messages=messages,
        intents=effects[INTENT],
        outcomes=effects[OUTCOME],
        asked=effects[UNKNOWN],
        decided=effects[DECIDED],
    )


class _Noted(Fact):
    """An outcome that nobody awaits."""

    __slots__ = ()


class RunBook:
    """Writes the facts of one run. It is the run's memory of what has already happened."""

    def __init__(
        self,
        *,
        run_id: str,
        database: Database,
        clock: Clock,
        kept: RunRemains,
        recorded: Recorded,
        failed: Callable[[str], None],
    ) -> None:
        self.run_id = run_id
        self._database = database
        self._clock = clock
        self._kept = kept
        self._asked = set(kept.asked)
        self._recorded = recorded
        self._failed = failed
        self._waiting: list[Envelope | Fact] = []
        self._next: Ending[list[int]] | None = None
        """The numbers of what waits, once it is written; None: nobody awaits it."""
        self._taken: list[Envelope | Fact] | None = None
        """What is being written; None: nothing is."""
        self._timer: asyncio.Task[None] | None = None

    def kept(self, message_id: str) -> Envelope | None:
        """See `engine.ports.KeptMessages`."""
        return self._kept.messages.get(message_id)

    def intent(self, key: str) -> JsonObject | None:
        """What an earlier process intended under this key."""
        return self._kept.intents.get(key)

    def outcome(self, key: str) -> JsonObject | None:
        """What became of it, if an earlier process lived to say so."""
        return self._kept.outcomes.get(key)

    def see(self, envelope: Envelope) -> None:
        """A tap of the bus: note each new message of this run, to be written soon or with the next effect."""
        if envelope.run_id != self.run_id or envelope.replayed:
            return
        self._wait(envelope)

    def decided(self, key: str) -> JsonObject | None:
        """What a person said of an effect that a crash left open."""
        return self._kept.decided.get(key)

    async def ask(self, key: str, body: Mapping[str, object]) -> None:
        """Make a question to a person durable, unless another one is open: they are asked one by one."""
        if not self._asked:
            self._asked.add(key)
            await self._write(UNKNOWN, {**body, "key": key})

    async def leave(self, key: str, asked: ConfirmationAsked) -> tuple[bool, str]:
        """Ask for leave in the books, and wait for what somebody says there: see `leave.ask`."""
        return await ask(self._database, self._clock, self.run_id, key, asked)

    async def intend(self, key: str, body: Mapping[str, object]) -> None:
        """Make an intent durable, and every message before it."""
        await self._write(INTENT, {**body, "key": key})

    async def conclude(self, key: str, body: Mapping[str, object]) -> None:
        """Make an outcome durable."""
        self._asked.discard(key)
        await self._write(OUTCOME, {**body, "key": key})

    def note(self, key: str, body: Mapping[str, object]) -> None:
        """Keep an outcome that can be had again, as messages are kept: in its place before all that follows from it."""
        body = cast("JsonObject", {**body, "key": key})
        self._wait(_Noted(kind=OUTCOME, subject=self.run_id, at_ms=self._clock.now_ms(), body=body))

    async def flush(self) -> None:
        """Make durable what waits."""
        await self._commit(())

    async def close(self, last: Iterable[Fact] = ()) -> None:
        """Write what waits and, in the same transaction, the run's last facts."""
        if self._timer is not None:
            self._timer.cancel()
        await self._commit(tuple(last))

    async def _write(self, kind: str, body: Mapping[str, object]) -> None:
        fact = Fact(kind=kind, subject=self.run_id, at_ms=self._clock.now_ms(), body=cast("JsonObject", body))
        await self._commit((fact,))

    def _wait(self, one: Envelope | _Noted) -> None:
        self._waiting.append(one)
        asyncio.get_running_loop().call_soon(self._look_after)

    def _look_after(self) -> None:
        """Most messages go along with an effect in the same turn of the loop; time runs for the others."""
        if self._waiting and (self._timer is None or self._timer.done()):
            self._timer = asyncio.get_running_loop().create_task(self._flush_soon())

    async def _flush_soon(self) -> None:
        try:
            while self._waiting:
                await self._clock.sleep_ms(BATCH_MS)
                await self.flush()
        except Exception as error:
            self._failed(f"the run's messages could not be kept: {error}")

    async def _commit(self, facts: tuple[Fact, ...]) -> None:
        """Write what waits and `facts`, in this order; to the end, even for a caller that is cancelled meanwhile.

        One write at a time: whoever comes during it shares the next one. Where the disk failed, what nobody awaits
        waits on, so that nothing later is ever kept without it.
        """
        self._waiting += facts
        if self._next is None:
            self._next = Ending()
            self._next.add_done_callback(self._settle)  # first, so before anybody who waits goes on
        written = self._next
        if self._taken is None:
            self._write_waiting(written)
        await written

    def _write_waiting(self, written: Ending[list[int]]) -> None:
        taken = self._waiting
        self._taken, self._waiting, self._next = taken, [], None
        if taken:
            self._database.put(lambda transaction: [transaction.record(_fact_of(one)) for one in taken], written)
        else:
            written.set_result([])

    def _settle(self, written: asyncio.Future[list[int]]) -> None:
        taken, self._taken = self._taken or [], None
        error = written.exception()
        if error is not None and not isinstance(error, Refused):  # what is refused would fare no better later
            self._waiting[:0] = [one for one in taken if isinstance(one, Envelope | _Noted)]
        if self._next is not None:
            self._write_waiting(self._next)
        if error is None:
            self._tell(zip(written.result(), taken, strict=True))

    def _tell(self, facts: Iterable[tuple[int, Envelope | Fact]]) -> None:
        try:
            for seq, one in facts:
                if isinstance(one, Envelope):
                    self._recorded(seq, one)
        except Exception as error:
            self._failed(f"what follows a kept message failed: {error}")


def _fact_of(one: Envelope | Fact) -> Fact:
    return message_fact(one) if isinstance(one, Envelope) else one
