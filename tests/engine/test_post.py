"""Is a message sent as it was sent before, and does only working time count?"""

from dataclasses import replace

import pytest
from engine_stage import Kept, Stage
from hypothesis import given
from hypothesis import strategies as st

from earnest.effects.ground.bus.api import Envelope
from earnest.engine.messages import GroupStarted, Role, RunResumed
from earnest.engine.post import Outbox, Pause, active_ms

PAUSES = [Pause(from_ms=100, to_ms=150), Pause(from_ms=300, to_ms=310)]


@pytest.mark.parametrize(
    ("started_ms", "now_ms", "worked_ms"),
    [
        (0, 50, 50),
        (0, 100, 100),
        (0, 125, 100),
        (0, 150, 100),
        (0, 400, 340),
        (120, 400, 240),
        (200, 250, 50),
        (500, 400, 0),
        (100, 150, 0),
    ],
)
def test_time_in_which_nobody_worked_does_not_count(started_ms: int, now_ms: int, worked_ms: int) -> None:
    assert active_ms(started_ms, now_ms, PAUSES) == worked_ms


@given(
    st.integers(0, 1_000),
    st.integers(0, 1_000),
    st.lists(st.integers(0, 1_000), max_size=8, unique=True).map(sorted),
)
def test_working_time_is_what_is_left_of_each_millisecond(started_ms: int, now_ms: int, edges: list[int]) -> None:
    pauses = [Pause(from_ms=a, to_ms=b) for a, b in zip(edges[::2], edges[1::2], strict=False)]
    worked = [t for t in range(started_ms, now_ms) if not any(p.from_ms <= t < p.to_ms for p in pauses)]
    assert active_ms(started_ms, now_ms, pauses) == len(worked)


def post(stage: Stage, *kept: Envelope, pauses: tuple[Pause, ...] = ()) -> Outbox:
    return Outbox(
        run_id="run",
        bus=stage.bus,
        clock=stage.clock,
        kept=Kept({envelope.id: envelope for envelope in kept}),
        pauses=pauses,
    )


def test_an_id_follows_from_the_key_and_the_cause_is_named() -> None:
    stage = Stage()
    sender = post(stage)
    first = sender.send(Role.DISPATCHER, "r1/group1", GroupStarted(round=1, sequence=1, subtask_ids=()), None)
    second = sender.send(Role.DISPATCHER, "r1/group2", GroupStarted(round=1, sequence=2, subtask_ids=()), first)
    assert (first.id, second.id, second.causation_id) == ("run/r1/group1", "run/r1/group2", "run/r1/group1")
    assert stage.heard == [first, second]


def test_what_was_kept_is_sent_as_it_was_whatever_is_said_now() -> None:
    stage = Stage()
    before = post(stage).send(Role.DISPATCHER, "g", GroupStarted(round=1, sequence=1, subtask_ids=("a",)), None)
    stage.clock.jump_ms(5_000)
    again = post(stage, before).send(Role.DISPATCHER, "g", GroupStarted(round=9, sequence=9, subtask_ids=()), None)
    assert again == replace(before, replayed=True)


@pytest.mark.parametrize(("pauses", "said"), [((), []), ((PAUSES[0],), [50]), (tuple(PAUSES), [10])])
def test_a_resumed_run_says_how_long_it_rested(pauses: tuple[Pause, ...], said: list[int]) -> None:
    stage = Stage()
    post(stage, pauses=pauses).announce_resumption()
    assert [resumed.downtime_ms for resumed in stage.of(RunResumed)] == said
