"""What must hold for any HEARTBEAT.md, whoever wrote it? Asked by hypothesis here, and by `fuzz/fuzz_heartbeat.py`."""

import re
from dataclasses import replace

from earnest.contracts.heartbeat.diff import TaskChange, compare
from earnest.contracts.heartbeat.layout import LINES_MAX
from earnest.contracts.heartbeat.parse import TEXT_BYTES_MAX, parse_heartbeat
from earnest.contracts.heartbeat.task import (
    ATTEMPTS_MAX,
    EVERY_S_MAX,
    EVERY_S_MIN,
    ID_CHARACTERS_MAX,
    TASKS_MAX,
    HeartbeatContract,
    HeartbeatTask,
)
from earnest.contracts.heartbeat.writing import added, ticked
from earnest.foundation.errors import Faulty, Refused

BOM = "\ufeff"
LINE_END = re.compile(r"\r\n|\n|\r")
MEANT = re.compile(r"(?:<!-- )?[ \t>]*(?:[-*+]|[0-9]{1,9}[.)])[ \t\u00a0]*(?:\[[ \t\u00a0]\]|\[[xX]?\](?![(:\[])|[☐☑])")
"""What nobody writes who does not mean a task. Not the parser's own idea of it."""
WRITTEN = 1
"""So many tasks of a text, from the middle on, are ticked and left out."""


def hold(data: bytes) -> None:
    """Fail if a property does not hold for these bytes."""
    try:
        contract = parse_heartbeat(data)
        text = data.decode()
    except Faulty:
        return
    every_line_meant_as_a_task_is_one_or_is_named(text, contract)
    diagnostics_are_in_order_and_in_the_text(text, contract)
    tasks_are_within_their_bounds(contract)
    other_line_ends_and_a_mark_of_byte_order_change_nothing(text, contract)
    a_contract_differs_from_less_of_it_by_what_is_gone(contract)
    for task in contract.tasks[len(contract.tasks) // 2 :][:WRITTEN]:
        a_tick_changes_one_character(text, contract, task)
    an_addition_keeps_every_line(text, contract)


def every_line_meant_as_a_task_is_one_or_is_named(text: str, contract: HeartbeatContract) -> None:
    """Whatever else somebody takes for the end of a line."""
    named = {found.line for found in contract.diagnostics}
    tasks = {task.line for task in contract.tasks}
    for number, line in enumerate(lines_of(text)[:LINES_MAX], start=1):
        shown, *swallowed = line.splitlines() or [""]
        assert number in tasks | named or not MEANT.match(shown), (number, line)
        assert number in named or not any(map(MEANT.match, swallowed)), (number, line)


def diagnostics_are_in_order_and_in_the_text(text: str, contract: HeartbeatContract) -> None:
    lines = lines_of(text)
    places = [(found.line, found.column) for found in contract.diagnostics]
    assert places == sorted(places)
    for line, column in places:
        assert 1 <= line <= len(lines)
        assert 1 <= column <= len(lines[line - 1]) + 1


def tasks_are_within_their_bounds(contract: HeartbeatContract) -> None:
    tasks = contract.tasks
    assert len({task.id for task in tasks}) == len(tasks) <= TASKS_MAX
    assert [task.line for task in tasks] == sorted({task.line for task in tasks})
    for task in tasks:
        assert 1 <= len(task.id) <= ID_CHARACTERS_MAX
        assert not re.search(r"[\s|]", task.id)
        assert 1 <= task.max_attempts <= ATTEMPTS_MAX
        assert task.every_s is None or EVERY_S_MIN <= task.every_s <= EVERY_S_MAX
        assert task.is_structured or not task.required
        assert task.description.strip() == task.description != ""
        assert task.verify.strip() == task.verify


def other_line_ends_and_a_mark_of_byte_order_change_nothing(text: str, contract: HeartbeatContract) -> None:
    for end in ("\r\n", "\r"):
        other = BOM + end.join(lines_of(text))
        if len(other.encode()) <= TEXT_BYTES_MAX:
            assert parse_heartbeat(other) == contract


def a_contract_differs_from_less_of_it_by_what_is_gone(contract: HeartbeatContract) -> None:
    tasks = contract.tasks
    assert compare(tasks, tasks) == ()
    for gone in tasks[len(tasks) // 2 :][:WRITTEN]:
        rest = [task for task in tasks if task is not gone]
        (found,) = compare(tasks, rest)
        assert (found.change, found.was, found.is_weakening) == (TaskChange.REMOVED, gone, gone.required)
        (back,) = compare(rest, tasks)
        assert (back.change, back.now, back.is_weakening) == (TaskChange.ADDED, gone, False)


def a_tick_changes_one_character(text: str, contract: HeartbeatContract, task: HeartbeatTask) -> None:
    other = ticked(text, task.id, is_done=not task.is_ticked)
    assert len(other) == len(text)
    changed = [(before, after) for before, after in zip(text, other, strict=True) if before != after]
    assert changed in ([(" ", "x")], [("x", " ")], [("X", " ")])
    after = parse_heartbeat(other)
    assert after.tasks == tuple(replace(one, is_ticked=one.is_ticked ^ (one is task)) for one in contract.tasks)
    assert (after.digest, after.diagnostics, after.context) == (
        contract.digest,
        contract.diagnostics,
        contract.context,
    )
    assert ticked(other, task.id, is_done=not task.is_ticked) == other
    if not task.is_ticked:
        assert ticked(other, task.id, is_done=False) == text


def an_addition_keeps_every_line(text: str, contract: HeartbeatContract) -> None:
    new = HeartbeatTask(id="quite_new", description="Look at the sky")
    try:
        other = added(text, new)
    except Refused:  # what is open at the end hides what is written there
        return
    ahead = iter(LINE_END.split(other))
    assert all(line in ahead for line in LINE_END.split(text) if line)
    tasks = parse_heartbeat(other).tasks
    assert [task for task in tasks if task != new] == list(contract.tasks)
    assert len(tasks) == len(contract.tasks) + 1


def lines_of(text: str) -> list[str]:
    """As they count in tasks and diagnostics."""
    return LINE_END.split(text.removeprefix(BOM))
