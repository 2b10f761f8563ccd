"""Memory as the projection of facts: what R5 answers from, how what became a fact gets there, and whether all did."""

from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Final, TypeAlias

from earnest.effects.ground.bus.api import Envelope
from earnest.effects.ground.clock import Clock
from earnest.effects.ground.kv.place import KeyValuePlace, beside, exchange, remove
from earnest.effects.ground.storage.facts import StoredFact
from earnest.effects.ground.storage.reader import BooksReader, ReadPool
from earnest.effects.hands.scratch import scratch
from earnest.engine.facts import MEGRAM, RECALLED, message_of
from earnest.engine.memory_messages import MegramEmitted, MemoryRecalled, Recollection, Rule
from earnest.engine.remembering import SESSION
from earnest.memory.comparing import compared, copy_of
from earnest.memory.consolidation import MemoryRevision, has_fallen
from earnest.memory.megram import ANY_TARGET, HYPOTHESES, Megram, MegramState, Tag, of_state, tool_of
from earnest.memory.potential import direct_potentials
from earnest.memory.service import Apply, FactChanges, Memory, forgetting, open_memory, recalling, remembering, revising
from earnest.memory.thinking import PERSONA_ID

FORGOTTEN: Final = "memory.forgotten"
"""Somebody asked for it. The subject is the Megram's id."""
REVISED: Final = "memory.revised"
"""Entries took the place of others: the body says why, which, and holds the new ones."""
OVERTAKEN: Final = "memory_moved_on"
AGENT: Final = "local"
USER: Final = "user"
"""The agent of what a user had remembered."""
CONTENTS_MAX: Final = 3
HYPOTHESES_MAX: Final = 2
STEP_FACTS: Final = 256
"""Facts that memory catches up on at a time."""
FORGOTTEN_AT_ONCE: Final = 256

Change: TypeAlias = Envelope | MemoryRevision | str
"""What a fact does to memory: a message, a revision, or the id of an entry that somebody had forgotten."""


class MemoryRecall:
    """`engine.ports.Recall` over the memory service."""

    def __init__(self, memory: Memory, clock: Clock) -> None:
        self._memory = memory
        self._clock = clock

    def look_up(self, tags: Sequence[Tag]) -> tuple[Recollection, ...]:
        """See `engine.ports.Recall`. Each answer is of bounded size and found in indexes, however much there is."""
        now_ms = self._clock.now_ms()
        return tuple(self._of_tool(tag, now_ms) or self._of_pair(tag, now_ms) for tag in tags)

    def persona(self) -> str:
        """The persona that a person approved; empty if nobody did."""
        approved = self._memory.get(PERSONA_ID)
        return approved.content if approved else ""

    def project(self, seq: int, envelope: Envelope) -> None:
        """Apply a message that has just become a fact; most leave memory as it is."""
        match envelope.payload:
            case MegramEmitted():
                self._memory.write(megram_of(envelope), fact_seq=seq)
            case MemoryRecalled(megram_ids=megram_ids):
                self._memory.recalled(megram_ids, envelope.at_ms, fact_seq=seq)

    def _of_pair(self, tag: Tag, now_ms: int) -> Recollection:
        """A rule that what was seen since speaks against is not given, whether or not the dreamer has let it fall."""
        potentials = self._memory.query_mk(tag.space, tag.entity, now_ms)
        newest = self._memory.recent(tag.space, tag.entity, CONTENTS_MAX)
        rules = (one for one in self._memory.query_c(tag.space, tag.entity) if not has_fallen(one, potentials))
        return Recollection(
            tag=tag,
            potentials=potentials,
            contents=tuple(one.content for one in newest),
            content_ids=tuple(one.id for one in newest),
            rules=tuple(Rule(id=one.id, text=one.content, avoid=one.sigma < 0) for one in rules),
            hypotheses=tuple(one.content for one in self._memory.recent(tag.space, HYPOTHESES, HYPOTHESES_MAX)),
        )

    def _of_tool(self, tag: Tag, now_ms: int) -> Recollection | None:
        """What is known of a tool, whatever it was used on, by its newest events; None for a tag that is a pair."""
        tool = tool_of(tag.space)
        if tool is None or tag.entity != ANY_TARGET:
            return None
        known = self._memory.used(tool)
        return Recollection(
            tag=tag,
            potentials=direct_potentials(known, now_ms),
            contents=tuple(one.content for one in known[:CONTENTS_MAX]),
            content_ids=tuple(one.id for one in known[:CONTENTS_MAX]),
        )


def megram_of(envelope: Envelope) -> Megram:
    """The Megram that a message of R7 stands for."""
    emitted = envelope.payload
    assert isinstance(emitted, MegramEmitted)
    lesson = emitted.lesson
    return of_state(
        MegramState(lesson.state),
        megram_id=emitted.megram_id,
        level=lesson.level,
        created_at_ms=envelope.at_ms,
        tag=lesson.tag,
        content=lesson.content,
        agent=USER if envelope.run_id == SESSION else AGENT,
        run_id=envelope.run_id,
    )


async def catch_up(memory: Memory) -> int:
    """Apply the facts that memory has not seen, in order: what a crash or a full queue lost. Gives their number."""
    return sum([step async for step in catching_up(memory)])


async def catching_up(memory: Memory) -> AsyncIterator[int]:
    """As `catch_up`, some facts at a time; gives after each step their number. Others may use memory meanwhile.

    It ends with a look that finds nothing. Raises what the store raises.
    """
    while step := await memory.follow(STEP_FACTS):
        yield step


def changes_in(books: ReadPool) -> FactChanges:
    """What the facts of these books change."""

    def between(after_seq: int, up_to_seq: int, limit: int) -> list[tuple[int, Apply]]:
        def look(reader: BooksReader) -> list[tuple[int, Apply]]:
            facts = takewhile(lambda fact: fact.seq <= up_to_seq, _told(reader, after_seq, limit))
            return [(fact.seq, _applying(_change(fact))) for fact in facts]

        return books.read_sync(look)

    return between


def is_overtaken(reader: BooksReader, revision: MemoryRevision) -> bool:
    """Whether a fact after those that a revision was decided on concerns its pair, or an entry that it takes away.

    Asked in the transaction that records it, so of two who decided at once the second finds the first.
    """
    if revision.seen_seq is None:
        return False
    gone = set(revision.forget)
    tags = {Tag(space=one.space, entity=one.entity) for one in revision.remember if one.entity != HYPOTHESES}
    for fact in _told(reader, revision.seen_seq):
        match _change(fact):
            case MemoryRevision(forget=forget, remember=remember):
                touched = gone.intersection(forget) or any(
                    Tag(space=one.space, entity=one.entity) in tags for one in remember
                )
            case str(megram_id):
                touched = megram_id in gone
            case Envelope(payload=MegramEmitted(lesson=lesson)):
                touched = lesson.tag in tags
            case Envelope(payload=MemoryRecalled(megram_ids=ids)):
                touched = not gone.isdisjoint(ids)
            case _:
                touched = False
        if touched:
            return True
    return False


def _told(reader: BooksReader, after_seq: int, limit: int | None = None) -> Iterator[StoredFact]:
    """The facts that change memory, in order."""
    return reader.facts(kind=(MEGRAM, RECALLED, FORGOTTEN, REVISED), after_seq=after_seq, limit=limit)


def _applying(change: Change) -> Apply:
    match change:
        case MemoryRevision():
            return revising(change)
        case str():
            return forgetting(change)
        case Envelope(payload=MegramEmitted()):
            return remembering(megram_of(change))
        case Envelope(payload=MemoryRecalled(megram_ids=ids), at_ms=at_ms):
            return recalling(ids, at_ms)
    return lambda _: None


def _change(fact: StoredFact) -> Change:
    match fact.kind:
        case kind if kind == REVISED:
            return MemoryRevision.from_json(fact.body)
        case kind if kind == FORGOTTEN:
            return fact.subject
    return message_of(fact.subject, fact.at_ms, fact.body)


async def memory_faults(place: KeyValuePlace, books: ReadPool, now_ms: int) -> tuple[str, ...]:
    """Rows of memory that the facts do not say, in words; at most 100. It works on copies.

    What has faded is left out on both sides: how much of it the dreamer has deleted is in no fact. Raises `Broken` if
    the store cannot be read, `Refused("memory_missing")`.
    """
    with scratch("memory") as folder:
        copied, anew = folder / "copied", folder / "anew"
        applied_seq = copy_of(place, copied)
        last_seq = books.read_sync(
            lambda reader: next((one.seq for one in reader.facts(newest_first=True, limit=1)), 0)
        )
        if applied_seq > last_seq:
            return (f"memory claims to hold fact {applied_seq}, the last one is {last_seq}",)
        for each in (copied, anew):
            await _caught_up(each, books, now_ms)
        return compared(copied, anew, now_ms)


async def rebuild_memory(place: KeyValuePlace, books: ReadPool) -> int:
    """Make memory anew from the facts, and put it in the place of what is there; the number of its entries.

    The caller holds the data directory. Raises `Unavailable` where the disk takes no more; then all is as it was.
    """
    anew = beside(place)
    try:
        memory = open_memory(anew, changes_in(books))
        try:
            await catch_up(memory)
            count = sum(memory.counts().values())
        finally:
            await memory.close()
        exchange(place, anew)
    except BaseException:
        remove(anew)
        raise
    return count


async def _caught_up(path: Path, books: ReadPool, now_ms: int) -> None:
    memory = open_memory(path, changes_in(books))
    try:
        await catch_up(memory)
        while len(await memory.forget_expired(now_ms, FORGOTTEN_AT_ONCE)) == FORGOTTEN_AT_ONCE:
            pass
    finally:
        await memory.close()
