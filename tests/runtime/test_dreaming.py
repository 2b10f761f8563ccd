"""Does what was learnt become rules, fall and come back, with the facts as the only truth?"""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from earnest.effects.ground.bus.api import Bus, Envelope
from earnest.effects.ground.clock import SeededChance, VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.engine.facts import MEGRAM, RECALLED, message_fact
from earnest.engine.gradient.cascade import MacroState
from earnest.engine.gradient.lessons import Lesson
from earnest.engine.memory_messages import DreamEvent, FeedbackGiven, MegramEmitted, MemoryRecalled, Recollection, Rule
from earnest.engine.messages import FinalResult, Role, Usage
from earnest.foundation.errors import Refused, Unavailable
from earnest.foundation.instants import DAY_MS
from earnest.memory import service, store
from earnest.memory.consolidation import RevisionReason
from earnest.memory.dreamer import Dreamer
from earnest.memory.megram import (
    HYPOTHESES,
    NOTES,
    Level,
    Megram,
    Tag,
    approach_tag,
    intent_tag,
    target_tag,
    tool_tag,
)
from earnest.memory.potential import Advice
from earnest.memory.service import Memory, open_memory
from earnest.memory.thinking import PERSONA_ID
from earnest.runtime import recall
from earnest.runtime.dreaming import EXPIRED, PERIOD_MS, SETTLE_MS, Dreaming
from earnest.runtime.recall import FORGOTTEN, REVISED, MemoryRecall, catch_up, catching_up, changes_in
from earnest.runtime.remembering import Remembering

WC = approach_tag("counting", "count", "wc")
SKEW_DAYS = 30
ENDED = Envelope(
    id="run/final",
    run_id="run",
    sender=Role.R7,
    causation_id=None,
    at_ms=0,
    payload=FinalResult(
        directive=MacroState.ACCEPT,
        cause=None,
        summary="done",
        output="",
        loss=None,
        gradient=0.0,
        loss_gradient=0.0,
        round=1,
        replans=0,
        previous="init",
        done=(),
        not_done=(),
        unmet=(),
        next_moves=(),
        elapsed_ms=1,
        usage=Usage(),
    ),
)


@dataclass
class Mind:
    """Memory with its facts, its bus and its stories; `restarted` opens the store anew over the same facts."""

    folder: Path
    clock: VirtualClock = field(default_factory=VirtualClock)
    bus: Bus = field(default_factory=Bus)
    heard: list[Envelope] = field(default_factory=list)
    learnt: int = 0

    def __post_init__(self) -> None:
        self.database = Database.open(self.folder / "books.db", self.clock)
        self.bus.tap("test", self.heard.append)
        self.open(open_memory(self.folder / "memory", changes_in(self.database)))

    def open(self, memory: Memory) -> None:
        self.memory = memory
        self.recall = MemoryRecall(memory, self.clock)
        self.dreaming = Dreaming(
            memory=memory,
            dreamer=Dreamer(memory, self.clock),
            database=self.database,
            bus=self.bus,
            clock=self.clock,
        )
        self.remembering = Remembering(
            memory=memory,
            recall=self.recall,
            dreaming=self.dreaming,
            database=self.database,
            bus=self.bus,
            clock=self.clock,
            chance=SeededChance(1),
        )

    async def restarted(self, *, from_nothing: bool = False) -> None:
        await self.memory.close()
        if from_nothing:
            shutil.rmtree(self.folder / "memory")
        self.open(open_memory(self.folder / "memory", changes_in(self.database)))
        await catch_up(self.memory)

    async def say(self, payload: object) -> None:
        """A message of a run becomes a fact, and then what memory makes of it."""
        self.learnt += 1
        envelope = Envelope(
            id=f"run/{self.learnt}",
            run_id=f"run{self.learnt % 2}",
            sender=Role.R7,
            causation_id=None,
            at_ms=self.clock.now_ms(),
            payload=payload,
        )
        seq = await self.database.write(lambda transaction: transaction.record(message_fact(envelope)))
        self.recall.project(seq, envelope)
        await self.memory.flush()

    async def learn(self, state: MacroState, tag: Tag = WC, *, times: int = 1, level: Level = Level.M) -> None:
        for _ in range(times):
            lesson = Lesson(state=state, tag=tag, content=f"lesson {self.learnt + 1}", level=level)
            await self.say(MegramEmitted(megram_id=f"m{self.learnt + 1}", lesson=lesson))

    def asked(self, tag: Tag = WC) -> Recollection:
        (answer,) = self.recall.look_up([tag])
        return answer

    async def kinds(self) -> list[str]:
        return await self.database.read(lambda reader: [fact.kind for fact in reader.facts()])

    def everything(self) -> list[Megram]:
        return sorted(self.memory.entries(limit=1_000), key=lambda megram: megram.id)


@pytest.fixture
async def mind(tmp_path: Path) -> AsyncIterator[Mind]:
    one = Mind(tmp_path)
    yield one
    await one.memory.close()
    one.database.close()


async def test_six_successes_become_one_rule_that_is_given_instead_of_them(mind: Mind) -> None:
    await mind.learn(MacroState.ACCEPT, times=6)
    (revision,) = (await mind.dreaming.cycle()).revisions
    answer = mind.asked()
    (rule,) = answer.rules
    assert revision.why is RevisionReason.CONSOLIDATED
    assert (rule.avoid, answer.action, answer.potentials.attention) == (False, Advice.EXPLOIT, 0)
    assert "lesson 6" in rule.text
    assert [one.level for one in mind.everything()] == [Level.C]


async def test_six_failures_become_a_constraint_with_an_idea_to_break_symmetry(mind: Mind) -> None:
    await mind.learn(MacroState.CHANGE_APPROACH, times=6)
    await mind.dreaming.cycle()
    answer = mind.asked()
    assert (answer.action, [rule.avoid for rule in answer.rules]) == (Advice.AVOID, [True])
    assert len(answer.hypotheses) == 1
    assert mind.asked(Tag(space=WC.space, entity=HYPOTHESES)).potentials.decision == 0


async def test_five_or_a_mixed_lot_become_none(mind: Mind) -> None:
    await mind.learn(MacroState.ACCEPT, times=5)
    await mind.learn(MacroState.ABANDON, approach_tag("counting", "count", "awk"), times=5)
    await mind.learn(MacroState.ACCEPT, approach_tag("counting", "count", "awk"), times=5)
    assert (await mind.dreaming.cycle()).revisions == ()


async def test_a_second_cycle_has_nothing_to_do(mind: Mind) -> None:
    await mind.learn(MacroState.ACCEPT, times=6)
    await mind.dreaming.cycle()
    facts = await mind.kinds()
    assert (await mind.dreaming.cycle()).revisions == ()
    assert await mind.kinds() == facts


async def test_a_refuted_rule_is_not_given_at_once_and_falls_in_the_next_cycle(mind: Mind) -> None:
    await mind.learn(MacroState.ACCEPT, times=6)
    await mind.dreaming.cycle()
    await mind.learn(MacroState.CHANGE_APPROACH)
    assert [rule.avoid for rule in mind.asked().rules] == [False], "one failure does not fell what three made"
    await mind.learn(MacroState.CHANGE_APPROACH, times=3)
    assert mind.asked().rules == ()
    (revision,) = (await mind.dreaming.cycle()).revisions
    assert revision.why is RevisionReason.DEMOTED
    assert mind.memory.counts()[Level.C] == 0
    assert mind.asked().action is Advice.AVOID


async def test_a_constraint_does_not_fall_by_what_confirms_it(mind: Mind) -> None:
    await mind.learn(MacroState.CHANGE_APPROACH, times=6)
    await mind.dreaming.cycle()
    await mind.learn(MacroState.CHANGE_APPROACH)
    assert (await mind.dreaming.cycle()).revisions == ()
    assert [rule.avoid for rule in mind.asked().rules] == [True]


async def test_the_opposite_experience_turns_a_rule_round(mind: Mind) -> None:
    await mind.learn(MacroState.ACCEPT, times=6)
    await mind.dreaming.cycle()
    await mind.learn(MacroState.CHANGE_APPROACH, times=7)
    assert [one.why for one in (await mind.dreaming.cycle()).revisions] == [
        RevisionReason.DEMOTED,
        RevisionReason.CONSOLIDATED,
    ]
    for _ in range(2):
        assert [rule.avoid for rule in mind.asked().rules] == [True]
        assert (await mind.dreaming.cycle()).revisions == (), "what remains of the old rule does not fell the new one"


async def test_what_remains_of_a_fallen_rule_counts_against_the_next(mind: Mind) -> None:
    await mind.learn(MacroState.ACCEPT, times=6)
    await mind.dreaming.cycle()
    await mind.learn(MacroState.CHANGE_APPROACH, times=4)
    await mind.dreaming.cycle()
    assert mind.asked().rules == (), "four times 0.85 would do, less 1 of the old rule does not"


@pytest.mark.parametrize("from_nothing", [False, True])
async def test_memory_built_again_from_the_facts_is_the_same(mind: Mind, from_nothing: bool) -> None:
    await mind.learn(MacroState.ACCEPT, times=7)
    await mind.dreaming.cycle()
    await mind.say(MemoryRecalled(megram_ids=(mind.asked().rules[0].id,)))
    await mind.learn(MacroState.ABANDON, level=Level.K)
    mind.clock.jump_ms(DAY_MS)
    await mind.dreaming.cycle()
    await mind.remembering.remember("tabs in Makefiles", avoid=True)
    await mind.remembering.remember("never mind")
    await mind.remembering.forget(mind.asked(NOTES).rules[0].id)
    await mind.remembering.approve_persona("a clerk", "Ada")
    await mind.remembering.approve_persona("a careful clerk", "Ada")
    before, potentials = mind.everything(), mind.asked().potentials
    await mind.restarted(from_nothing=from_nothing)
    assert mind.everything() == before
    assert mind.asked().potentials == potentials
    assert {one.level for one in before} == {Level.K, Level.C, Level.T}


async def test_a_revision_that_was_recorded_and_not_applied_is_applied_at_the_next_start(mind: Mind) -> None:
    await mind.learn(MacroState.ACCEPT, times=6)
    async for revision in Dreamer(mind.memory, mind.clock).revisions():
        await mind.memory.close()  # the fact is durable, the store is not reached any more
        with pytest.raises(Exception, match="closed"):
            await mind.dreaming.revise(revision)
        break
    mind.open(open_memory(mind.folder / "memory", changes_in(mind.database)))
    await catch_up(mind.memory)
    assert [one.level for one in mind.everything()] == [Level.C]


async def test_memory_far_behind_is_used_meanwhile_forgets_nothing_and_ends_as_the_facts_say(
    mind: Mind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall, "STEP_FACTS", 2)
    await mind.learn(MacroState.ACCEPT, times=5)
    await mind.restarted()
    whole = mind.everything()
    await mind.memory.close()
    shutil.rmtree(mind.folder / "memory")
    mind.open(open_memory(mind.folder / "memory", changes_in(mind.database)))
    steps = catching_up(mind.memory)
    assert await anext(steps) == 2
    await mind.learn(MacroState.REFINE)  # m6, kept at once
    assert "m6" in {one.id for one in mind.everything()}
    assert mind.memory.applied_seq() == 2
    assert (mind.memory.is_behind, await mind.dreaming.expire()) == (True, ())
    forgetting = asyncio.create_task(mind.remembering.forget("m5"))
    assert [step async for step in steps] == [2, 2]
    await forgetting
    assert {one.id for one in mind.everything()} == {one.id for one in whole} - {"m5"} | {"m6"}
    await mind.restarted(from_nothing=True)
    assert {one.id for one in mind.everything()} == {one.id for one in whole} - {"m5"} | {"m6"}


async def test_catching_up_reads_and_applies_each_fact_once(mind: Mind, monkeypatch: pytest.MonkeyPatch) -> None:
    await mind.learn(MacroState.CHANGE_PATH, times=9)
    await mind.say(MemoryRecalled(megram_ids=mind.asked().content_ids))
    await mind.remembering.forget("m1")
    monkeypatch.setattr(recall, "STEP_FACTS", 4)
    monkeypatch.setattr(service, "BATCH_MAX", 4)
    counting = {name: Mock(wraps=getattr(store, name)) for name in ("put", "recall", "delete")}
    for name, counted in counting.items():
        monkeypatch.setattr(store, name, counted)
    read = Mock(wraps=recall._change)
    monkeypatch.setattr(recall, "_change", read)
    await mind.restarted(from_nothing=True)
    assert {name: counted.call_count for name, counted in counting.items()} == {"put": 9, "recall": 3, "delete": 1}
    assert [call.args[0].seq for call in read.call_args_list] == list(range(1, 12))
    assert (mind.memory.applied_seq(), mind.memory.is_behind) == (11, False)


async def test_memory_whose_disk_takes_nothing_stays_behind_and_keeps_nobody_waiting(
    mind: Mind, monkeypatch: pytest.MonkeyPatch
) -> None:
    await mind.learn(MacroState.REFINE)
    await mind.memory.close()
    shutil.rmtree(mind.folder / "memory")
    mind.open(open_memory(mind.folder / "memory", changes_in(mind.database)))
    with monkeypatch.context() as full:
        full.setattr(store, "set_applied_seq", Mock(side_effect=Unavailable("the disk is full")))
        with pytest.raises(Unavailable):
            await catch_up(mind.memory)
    await mind.memory.caught_up()
    mind.clock.jump_ms(2 * DAY_MS)
    assert (mind.memory.is_behind, await mind.dreaming.expire()) == (True, ())
    await catch_up(mind.memory)
    assert [one.id for one in await mind.dreaming.expire()] == ["m1"]


async def test_a_recall_renews_an_entry_and_is_a_fact_of_its_own(mind: Mind) -> None:
    await mind.learn(MacroState.CHANGE_PATH)
    mind.clock.jump_ms(5 * DAY_MS)
    await mind.say(MemoryRecalled(megram_ids=mind.asked().content_ids))
    assert mind.asked().potentials.attention == pytest.approx(0.3)
    assert await mind.kinds() == [MEGRAM, RECALLED]


async def test_what_faded_is_forgotten_recorded_and_told(mind: Mind) -> None:
    await mind.learn(MacroState.REFINE)
    mind.clock.jump_ms(2 * DAY_MS)
    assert [one.id for one in (await mind.dreaming.cycle()).forgotten] == ["m1"]
    assert await mind.kinds() == [MEGRAM, EXPIRED]
    assert [e.payload for e in mind.heard] == [DreamEvent(what="expired", gone=("m1",), new=())]


async def test_the_dreamer_waits_until_a_run_has_settled_and_survives_a_failure(
    mind: Mind, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    dreamt: list[int] = []

    async def cycle(self: Dreaming) -> None:
        dreamt.append(mind.clock.now_ms())
        if len(dreamt) == 1:
            raise Refused("megram_invalid", "a bad night")

    monkeypatch.setattr(Dreaming, "cycle", cycle)
    start_ms = mind.clock.now_ms()
    watching = asyncio.create_task(mind.dreaming.watch())
    await asyncio.sleep(0)
    await mind.clock.advance_ms(PERIOD_MS - 1)
    mind.bus.publish(replace(ENDED, at_ms=mind.clock.now_ms()))
    mind.bus.publish(replace(ENDED, id="run/old", at_ms=0, replayed=True))
    await mind.clock.advance_ms(1)
    await mind.clock.advance_ms(SETTLE_MS - 1)
    watching.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await watching
    assert dreamt == [start_ms, start_ms + PERIOD_MS - 1 + SETTLE_MS]
    assert "a bad night" in caplog.text


async def test_a_clock_that_was_set_back_does_not_keep_the_dreamer_waiting(
    mind: Mind, monkeypatch: pytest.MonkeyPatch
) -> None:
    dreamt = 0

    async def cycle(self: Dreaming) -> None:
        nonlocal dreamt
        dreamt += 1

    monkeypatch.setattr(Dreaming, "cycle", cycle)
    watching = asyncio.create_task(mind.dreaming.watch())
    await asyncio.sleep(0)
    mind.bus.publish(replace(ENDED, at_ms=mind.clock.now_ms()))
    mind.clock.set_by_ms(-DAY_MS)
    await mind.clock.advance_ms(PERIOD_MS)
    watching.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await watching
    assert dreamt == 2


async def test_two_who_ask_for_a_cycle_share_it(mind: Mind) -> None:
    await mind.learn(MacroState.ACCEPT, times=6)
    one, other = await asyncio.gather(mind.dreaming.cycle(), mind.dreaming.cycle())
    assert one is other
    assert (await mind.kinds()).count(REVISED) == 1


async def test_a_tool_is_known_by_all_it_was_used_on(mind: Mind) -> None:
    await mind.learn(MacroState.CHANGE_APPROACH, target_tag("shell:curl", "a"))
    await mind.learn(MacroState.CHANGE_APPROACH, target_tag("shell:wget", "b"))
    await mind.learn(MacroState.ACCEPT, target_tag("read_file", "c"))
    answer = mind.asked(tool_tag("shell"))
    assert (answer.action, answer.contents) == (Advice.AVOID, ("lesson 2", "lesson 1"))
    assert mind.asked(tool_tag("glob")).action is Advice.IGNORE


async def test_what_a_user_has_remembered_is_a_rule_of_r7_that_does_not_fade(mind: Mind) -> None:
    note = await mind.remembering.remember("  Use tabs in Makefiles ")
    mind.clock.jump_ms(SKEW_DAYS * DAY_MS)
    await mind.dreaming.cycle()
    assert mind.asked(NOTES).rules == (Rule(id=note, text="Use tabs in Makefiles", avoid=False),)
    assert [(e.kind, e.sender) for e in mind.heard] == [("RememberRequested", "user"), ("MegramEmitted", "R7")]


async def test_what_a_user_has_remembered_is_not_dreamt_away(mind: Mind) -> None:
    note = await mind.remembering.remember("never use wc", tag=WC, avoid=True)
    await mind.learn(MacroState.ACCEPT, times=7)
    await mind.dreaming.cycle()
    assert note in [rule.id for rule in mind.asked().rules]


async def test_a_verdict_of_others_is_learnt_from_once(mind: Mind) -> None:
    given = FeedbackGiven(job="Add up", task_class="adding", criteria=("it adds",), is_good=False, why="5 is not 4")
    for _ in range(2):
        await mind.remembering.feedback("clm_1/1/bad", given)
    assert [(e.kind, e.sender) for e in mind.heard] == [("FeedbackGiven", "runtime"), ("MegramEmitted", "R7")]
    answer = mind.asked(intent_tag("adding"))
    assert answer.contents == ("Add up: 5 is not 4 Criteria: it adds",)
    await mind.restarted(from_nothing=True)
    await mind.remembering.feedback("clm_1/1/bad", given)
    assert len(mind.everything()) == 1


async def test_forgetting_goes_through_r7_and_stays(mind: Mind) -> None:
    await mind.learn(MacroState.ACCEPT)
    await mind.remembering.forget("m1")
    assert [e.kind for e in mind.heard] == ["ForgetRequested", "MegramWithdrawn"]
    assert await mind.kinds() == [MEGRAM, FORGOTTEN]
    await mind.restarted(from_nothing=True)
    assert mind.everything() == []


@pytest.mark.parametrize(
    ("text", "tag", "code"),
    [
        ("", NOTES, "note_too_long"),
        ("x" * 1_001, NOTES, "note_too_long"),
        ("x", Tag(space="none", entity="x:y"), "megram_invalid"),
        ("\ud800", NOTES, "megram_invalid"),
    ],
)
async def test_a_bad_note_is_refused_before_anybody_hears_of_it(mind: Mind, text: str, tag: Tag, code: str) -> None:
    with pytest.raises(Refused) as refusal:
        await mind.remembering.remember(text, tag=tag)
    assert refusal.value.code == code
    assert (mind.heard, await mind.kinds()) == ([], [])


async def test_a_persona_is_replaced_and_never_forgotten(mind: Mind) -> None:
    await mind.remembering.approve_persona("a clerk", "Ada")
    await mind.remembering.approve_persona("a careful clerk", "Bob")
    persona = mind.memory.get(PERSONA_ID)
    assert persona is not None
    assert (persona.level, persona.content, persona.agent) == (Level.T, "a careful clerk", "Bob")
    with pytest.raises(Refused) as refusal:
        await mind.remembering.forget(PERSONA_ID)
    assert refusal.value.code == "persona_stays"


async def test_a_distiller_chooses_words_and_neither_sign_nor_place(mind: Mind) -> None:
    async def lie(_: str) -> str:
        return '{"rule": "SHOULD PREFER wc"}'

    await mind.learn(MacroState.CHANGE_APPROACH, times=6)
    async for revision in Dreamer(mind.memory, mind.clock, lie).revisions():
        await mind.dreaming.revise(revision)
    assert mind.asked().rules[0].avoid
