"""Memory as the projection of facts: what R5 answers from, and how what R7 emitted gets there."""

from collections.abc import Sequence
from typing import Final

from earnest.effects.bus.api import Envelope
from earnest.effects.clock import Clock
from earnest.effects.storage.facts import StoredFact
from earnest.effects.storage.reader import Reader, ReadPool
from earnest.engine.facts import MEGRAM, message_of
from earnest.engine.messages import MegramEmitted, Recollection
from earnest.memory.megram import Megram, State, Tag, of_state
from earnest.memory.service import Memory
from earnest.runtime.forgetting import FORGOTTEN

AGENT: Final = "local"
CONTENTS_MAX: Final = 3


class MemoryRecall:
    """`engine.ports.Recall` over the memory service."""

    def __init__(self, memory: Memory, clock: Clock) -> None:
        self._memory = memory
        self._clock = clock

    def look_up(self, tags: Sequence[Tag]) -> tuple[Recollection, ...]:
        """See `engine.ports.Recall`."""
        now_ms = self._clock.now_ms()
        return tuple(
            Recollection(
                tag=tag,
                potentials=self._memory.query_mk(tag.space, tag.entity, now_ms),
                contents=tuple(m.content for m in self._memory.recent(tag.space, tag.entity, CONTENTS_MAX)),
            )
            for tag in tags
        )

    def project(self, seq: int, envelope: Envelope) -> None:
        """Write the Megram that has just become a fact; other messages leave memory as it is."""
        if isinstance(envelope.payload, MegramEmitted):
            self._memory.write(megram_of(envelope), fact_seq=seq)
            self._memory.advance(seq)


def megram_of(envelope: Envelope) -> Megram:
    """The Megram that a message of R7 stands for."""
    emitted = envelope.payload
    assert isinstance(emitted, MegramEmitted)
    lesson = emitted.lesson
    return of_state(
        State(lesson.state),
        megram_id=emitted.megram_id,
        level=lesson.level,
        created_at_ms=envelope.at_ms,
        tag=lesson.tag,
        content=lesson.content,
        agent=AGENT,
        run_id=envelope.run_id,
    )


async def catch_up(memory: Memory, books: ReadPool) -> int:
    """Apply the facts that memory has not seen, in order: what a crash or a full queue lost. Gives their number."""

    def unseen(reader: Reader) -> list[tuple[int, Megram | str]]:
        facts = reader.facts(kind=(MEGRAM, FORGOTTEN), after_seq=memory.applied_seq())
        return [(fact.seq, _megram(fact) if fact.kind == MEGRAM else fact.subject) for fact in facts]

    missed = await books.read(unseen)
    for seq, change in missed:
        if isinstance(change, Megram):
            memory.write(change, fact_seq=seq)
        else:
            await memory.forget(change, fact_seq=seq)
        memory.advance(seq)
        if memory.room == 0:
            await memory.flush()
    await memory.flush()
    return len(missed)


def _megram(fact: StoredFact) -> Megram:
    return megram_of(message_of(fact.subject, fact.at_ms, fact.body))
