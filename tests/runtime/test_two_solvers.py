"""Do two solvers that share the books make each rule once, on enough, and let none fall on what is out of date?"""

import asyncio
import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earnest.effects.ground.bus.api import Bus, Envelope
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.reader import BooksReader
from earnest.engine.facts import message_fact
from earnest.engine.gradient.cascade import MacroState
from earnest.engine.gradient.lessons import Lesson
from earnest.engine.memory_messages import MegramEmitted
from earnest.engine.messages import Role
from earnest.foundation.errors import Refused
from earnest.memory.consolidation import DREAMER, MemoryRevision, RevisionReason, has_fallen
from earnest.memory.dreamer import Dreamer
from earnest.memory.megram import Level, Tag
from earnest.memory.service import Memory, open_memory
from earnest.runtime.dreaming import Dreaming
from earnest.runtime.recall import OVERTAKEN, REVISED, MemoryRecall, catch_up, changes_in

PAIRS = (Tag(space="tool:shell", entity="path:a"), Tag(space="tool:shell", entity="path:b"))


@dataclass
class Solver:
    """One of them: a memory of its own over the shared books, and what it has decided and not yet recorded."""

    memory: Memory
    dreaming: Dreaming
    books: Database
    clock: VirtualClock
    decided: list[MemoryRevision] = field(default_factory=list)

    async def learn(self, number: int, run: str, state: MacroState, pair: Tag) -> None:
        lesson = Lesson(state=state, tag=pair, content=f"lesson {number}")
        said = Envelope(
            id=f"{run}/{number}",
            run_id=run,
            sender=Role.R7,
            causation_id=None,
            at_ms=self.clock.now_ms(),
            payload=MegramEmitted(megram_id=f"m{number}", lesson=lesson),
        )
        seq = await self.books.write(lambda transaction: transaction.record(message_fact(said)))
        MemoryRecall(self.memory, self.clock).project(seq, said)
        await self.memory.flush()

    async def decide(self) -> None:
        self.decided = [one async for one in self.dreaming.dreamer.revisions()]

    async def record(self) -> None:
        for revision in self.decided:
            try:
                await self.dreaming.revise(revision)
            except Refused as refusal:
                if refusal.code != OVERTAKEN:
                    raise
        self.decided = []


def opened(folder: Path, books: Database, clock: VirtualClock) -> Solver:
    memory = open_memory(folder, changes_in(books))
    dreamer = Dreamer(memory, clock)
    dreaming = Dreaming(memory=memory, dreamer=dreamer, database=books, bus=Bus(), clock=clock)
    return Solver(memory, dreaming, books, clock)


STEPS = st.one_of(
    st.tuples(
        st.just("learn"),
        st.sampled_from(["one", "two"]),
        st.sampled_from([MacroState.ABANDON, MacroState.ACCEPT, MacroState.ABANDON]),
        st.integers(0, 1),
        st.integers(1, 6),
    ),
    st.sampled_from([("decide",), ("record",), ("cycle",), ("follow",)]),
)


@pytest.mark.slow
@settings(max_examples=40)
@given(steps=st.lists(st.tuples(st.integers(0, 1), STEPS), min_size=4, max_size=24))
def test_each_revision_is_right_at_its_place_in_the_log_and_both_memories_end_alike(
    steps: list[tuple[int, tuple[str | int | MacroState, ...]]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(lived(Path(folder), steps))


async def lived(folder: Path, steps: list[tuple[int, tuple[str | int | MacroState, ...]]]) -> None:
    clock, number = VirtualClock(), 0
    with closing(Database.open(folder / "books", clock, is_durable=False)) as books:
        solvers = [opened(folder / name, books, clock) for name in ("one", "two")]
        for at, step in steps:
            solver = solvers[at]
            match step:
                case ("learn", str(run), MacroState() as state, int(pair), int(times)):
                    for _ in range(times):
                        number += 1
                        await solver.learn(number, run, state, PAIRS[pair])
                case ("decide",):
                    await solver.decide()
                case ("record",):
                    await solver.record()
                case ("cycle",):
                    await solver.dreaming.cycle()
                case _:
                    await catch_up(solver.memory)
        for solver in solvers:
            await catch_up(solver.memory)
        ends = [{one.id: one for one in solver.memory.entries(limit=1_000)} for solver in solvers]
        assert ends[0] == ends[1]
        rules = [(one.space, one.entity) for one in ends[0].values() if one.level is Level.C and one.agent == DREAMER]
        assert len(rules) == len(set(rules)), "one rule a pair"
        await right_at_their_places(folder / "oracle", books, clock)
        for solver in solvers:
            await solver.memory.close()


async def right_at_their_places(folder: Path, books: Database, clock: VirtualClock) -> None:
    """A third memory follows the log fact by fact, and looks before each revision whether it holds there."""

    def revisions(reader: BooksReader) -> dict[int, MemoryRevision]:
        return {fact.seq: MemoryRevision.from_json(fact.body) for fact in reader.facts(kind=REVISED)}

    recorded, last_seq = books.read_sync(revisions), books.last_seq
    oracle = open_memory(folder, changes_in(books))
    for seq in range(1, last_seq + 1):
        revision = recorded.get(seq)
        if revision is not None and revision.why is RevisionReason.DEMOTED:
            (rule,) = (oracle.get(one) for one in revision.forget)
            assert rule is not None
            assert rule.level is Level.C
            assert has_fallen(rule, oracle.query_mk(rule.space, rule.entity, clock.now_ms()))
        elif revision is not None:
            rule = revision.remember[0]
            cluster = oracle.cluster(Tag(space=rule.space, entity=rule.entity), clock.now_ms())
            assert cluster is not None
            assert cluster.ripe
            assert {one.id for one in (*cluster.events, *cluster.rules)} == set(revision.forget)
            assert len({one.task for one in cluster.events if one.sigma == rule.sigma}) > 1
        assert await oracle.follow(1) == 1
    await oracle.close()
