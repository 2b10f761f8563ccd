"""What must hold for any HEARTBEAT.md, whoever wrote it? Asked by hypothesis here, and by `fuzz/fuzz_heartbeat.py`."""

import re
from dataclasses import replace

from earnest.contracts.heartbeat.layout import LINES_MAX
from earnest.contracts.heartbeat.parse import parse_heartbeat
from earnest.contracts.heartbeat.task import (
    ATTEMPTS_MAX,
    EVERY_S_MAX,
    EVERY_S_MIN,
    ID_CHARACTERS_MAX,
    TASKS_MAX,
    Contract,
    HeartbeatTask,
)
from earnest.contracts.heartbeat.writing import added, edited, ticked
from earnest.foundation.errors import Faulty, Refused

LINE_END = re.compile(r"\r\n|\n|\r")
MEANT = re.compile(r"(?:<!-- )?[ \t>]*[-*+] \[[ xX]\] ")
"""What nobody writes who does not mean a task. Not the parser's own idea of it."""
WRITTEN = 2
"""So many tasks of a text are ticked and edited."""


def hold(data: bytes) -> None:
    """Fail if a property does not hold for these bytes."""
    try:
        contract = parse_heartbeat(data)
        text = data.decode()
    except Faulty:
        return
    every_line_meant_as_a_task_is_one_or_is_named(text, contract)
    tasks_are_within_their_bounds(contract)
    for task in contract.tasks[:WRITTEN]:
        a_tick_changes_one_character(text, task)
        an_edit_changes_one_line(text, task)
    an_addition_keeps_every_line(text, contract)


def every_line_meant_as_a_task_is_one_or_is_named(text: str, contract: Contract) -> None:
    told = {task.line for task in contract.tasks} | {found.line for found in contract.diagnostics}
    for number, line in enumerate(LINE_END.split(text.removeprefix("\ufeff"))[:LINES_MAX], start=1):
        assert number in told or not MEANT.match(line), (number, line)


def tasks_are_within_their_bounds(contract: Contract) -> None:
    tasks = contract.tasks
    assert len({task.id for task in tasks}) == len(tasks) <= TASKS_MAX
    assert [task.line for task in tasks] == sorted({task.line for task in tasks})
    for task in tasks:
        assert 1 <= len(task.id) <= ID_CHARACTERS_MAX
        assert not re.search(r"[\s|]", task.id)
        assert 1 <= task.max_attempts <= ATTEMPTS_MAX
        assert task.every_s is None or EVERY_S_MIN <= task.every_s <= EVERY_S_MAX
        assert task.is_structured or not task.required
        assert task.description


def a_tick_changes_one_character(text: str, task: HeartbeatTask) -> None:
    other = ticked(text, task.id, is_done=not task.is_ticked)
    assert len(other) == len(text)
    changed = [(before, after) for before, after in zip(text, other, strict=True) if before != after]
    assert changed in ([(" ", "x")], [("x", " ")], [("X", " ")])
    assert parse_heartbeat(other).digest == parse_heartbeat(text).digest


def an_edit_changes_one_line(text: str, task: HeartbeatTask) -> None:
    wanted = replace(
        task, required=not task.required, verify="probe_a", max_attempts=7, is_structured=True, every_s=3_600
    )
    try:
        other = edited(text, wanted)
    except Refused:  # what stands in the line hides what is written behind it
        return
    before, after = LINE_END.split(text), LINE_END.split(other)
    assert [*before[: task.line - 1], *before[task.line :]] == [*after[: task.line - 1], *after[task.line :]]
    assert wanted in parse_heartbeat(other).tasks


def an_addition_keeps_every_line(text: str, contract: Contract) -> None:
    new = HeartbeatTask(id="quite_new", description="Look at the sky")
    try:
        other = added(text, new)
    except Refused:  # what is open at the end hides what is written there
        return
    ahead = iter(LINE_END.split(other))
    assert all(line in ahead for line in LINE_END.split(text) if line)
    assert list(parse_heartbeat(other).tasks).count(new) == 1
    assert len(parse_heartbeat(other).tasks) == len(contract.tasks) + 1
