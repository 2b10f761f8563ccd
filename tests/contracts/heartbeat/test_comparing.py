"""Is the comparison of any two contracts whole, in agreement with itself, and never blind to a promise made less?"""

import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earnest.contracts.heartbeat.diff import TaskChange, compare
from earnest.contracts.heartbeat.task import TASKS_MAX, HeartbeatTask

WORDS = st.sampled_from(["", "a", "A", "b", "c d"])
TASKS = st.lists(
    st.builds(
        HeartbeatTask,
        id=st.sampled_from("abcdefgh"),
        description=WORDS,
        verify=WORDS,
        required=st.booleans(),
        max_attempts=st.integers(1, 3),
        every_s=st.none() | st.sampled_from([60, 3_600]),
        is_ticked=st.booleans(),
    ),
    max_size=6,
    unique_by=lambda task: task.id,
)
WEAKER: dict[str, Callable[[HeartbeatTask], HeartbeatTask]] = {
    "optional": lambda task: replace(task, required=False),
    "other words": lambda task: replace(task, description=f"{task.description}!"),
    "no fields": lambda task: replace(task, is_structured=False),
    "more attempts": lambda task: replace(task, max_attempts=task.max_attempts + 1),
    "seldom": lambda task: replace(task, every_s=(task.every_s or 60) + 60),
}


@pytest.mark.slow
@given(TASKS, TASKS)
def test_each_task_that_is_not_as_it_was_is_in_one_difference(
    pinned: list[HeartbeatTask], now: list[HeartbeatTask]
) -> None:
    found = compare(pinned, now)
    was = [one.was for one in found if one.was]
    is_now = [one.now for one in found if one.now]
    same = {(task.id, replace(task, is_ticked=False)) for task in pinned} & {
        (task.id, replace(task, is_ticked=False)) for task in now
    }
    names = {name for name, _ in same}
    assert [task.id for task in was] == [task.id for task in pinned if task.id not in names]
    assert sorted(task.id for task in is_now) == sorted(task.id for task in now if task.id not in names)
    for one in found:
        assert (one.was is None) == (one.change is TaskChange.ADDED)
        assert (one.now is None) == (one.change is TaskChange.REMOVED)
        assert not one.is_weakening or (one.was and one.was.required)
        assert one.is_weakening or one.change is not TaskChange.WEAKENED


@pytest.mark.slow
@given(TASKS, TASKS)
def test_order_and_ticks_are_no_difference(pinned: list[HeartbeatTask], now: list[HeartbeatTask]) -> None:
    turned = [replace(task, is_ticked=not task.is_ticked) for task in now]
    assert compare(now, turned[::-1]) == ()
    weakened = {one.id for one in compare(pinned, now) if one.is_weakening}
    assert {one.id for one in compare(pinned, turned[::-1]) if one.is_weakening} == weakened


@pytest.mark.slow
@given(TASKS, TASKS, st.data())
def test_what_is_weaker_stays_so_whatever_else_is_made_less(
    pinned: list[HeartbeatTask], now: list[HeartbeatTask], data: st.DataObject
) -> None:
    weakened = {one.id for one in compare(pinned, now) if one.is_weakening}
    less = data.draw(st.lists(st.sampled_from(now), unique_by=id) if now else st.just([]))
    rest = [task for task in now if task not in less]
    assert weakened <= {one.id for one in compare(pinned, rest) if one.is_weakening}


@pytest.mark.slow
@given(TASKS, st.sampled_from(sorted(WEAKER)))
def test_a_promise_made_less_is_weakening_if_it_was_required(tasks: list[HeartbeatTask], how: str) -> None:
    for task in tasks:
        now = [WEAKER[how](one) if one is task else one for one in tasks]
        weakened = {one.id for one in compare(tasks, now) if one.is_weakening}
        assert weakened == ({task.id} if task.required else set())


@pytest.mark.parametrize("verify", ["", "same"])
def test_full_contracts_that_share_no_id_are_compared_in_no_time(verify: str) -> None:
    pinned = [HeartbeatTask(id=f"a{at}", description=f"{at}" + "x" * 3_000, verify=verify) for at in range(TASKS_MAX)]
    now = [replace(task, id=f"b{task.id}", description=f"!{task.description}") for task in pinned]
    start = time.process_time()
    found = compare(pinned, now)
    assert time.process_time() - start < 1  # of processor; in the square of the tasks it took five
    assert len(found) == (TASKS_MAX if verify else 2 * TASKS_MAX)
