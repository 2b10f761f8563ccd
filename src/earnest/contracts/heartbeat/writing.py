"""Edits of a HEARTBEAT.md: one task is added or ticked, and every other byte kept.

What is written is read back before it is given out: if it does not say exactly what was wanted, it is refused.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from earnest.contracts.heartbeat.layout import BOM, Layout
from earnest.contracts.heartbeat.line import escaped, every_text, parts_of
from earnest.contracts.heartbeat.parse import parse_heartbeat
from earnest.contracts.heartbeat.task import ATTEMPTS, HeartbeatContract, HeartbeatTask
from earnest.foundation.errors import Broken, Refused

NEW_FILE: Final = "# Heartbeat\n"
SECTION_TITLE: Final = "## Tasks"
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")


def ticked(text: str, task_id: str, *, is_done: bool = True) -> str:
    """The text with the box of a task ticked, or empty. Raises `Refused("heartbeat_task_unknown")`."""
    before = parse_heartbeat(text)
    task = next((one for one in before.tasks if one.id == task_id), None)
    if task is None:
        raise Refused("heartbeat_task_unknown", f"there is no task {task_id!r}")
    if task.is_ticked == is_done:
        return text
    lines = _lines(text)
    line = lines[task.line - 1]
    parts = parts_of(line.rstrip("\r\n"))
    if parts is None:
        raise Broken(f"line {task.line} is a task to the parser and none to the writer")
    lines[task.line - 1] = f"{line[: parts.tick_at]}{'x' if is_done else ' '}{line[parts.tick_at + 1 :]}"
    return _checked(before, _joined(text, lines), replace(task, is_ticked=is_done))


def added(text: str, task: HeartbeatTask) -> str:
    """The text with one more task: below the last of `## Tasks`, or in a new such section at the end.

    Raises `Refused`: `heartbeat_task_exists`, `heartbeat_task_unwritable`.
    """
    before = parse_heartbeat(text)
    if any(other.id == task.id for other in before.tasks):
        raise Refused("heartbeat_task_exists", f"there is a task {task.id!r}")
    return _checked(before, _with_task(text, task), task)


def task_line(task: HeartbeatTask, mark: str = "-") -> str:
    """The line of a structured task; what is the default is left out, but for its obligation."""
    fields = [task.id, escaped(task.description), "required" if task.required else "optional"]
    fields += [f"verify: {escaped(task.verify)}"] if task.verify else []
    fields += [f"max_attempts: {task.max_attempts}"] if task.max_attempts != ATTEMPTS else []
    fields += [f"every: {every_text(task.every_s)}"] if task.every_s is not None else []
    return f"{mark} [{'x' if task.is_ticked else ' '}] {' | '.join(fields)}"


def _with_task(text: str, task: HeartbeatTask) -> str:
    """The text with the task's line in the place where it belongs."""
    layout = Layout(text)
    lines = _lines(text)
    newline = next((line[len(line.rstrip("\r\n")) :] for line in lines if line.endswith(("\r", "\n"))), "\n")
    tasks = [number for number in layout.outline.items if number in layout.section and parts_of(layout.lines[number])]
    if tasks:
        mark = layout.lines[max(tasks)].lstrip()[0]
        at = _trimmed(lines, layout.outline.items[max(tasks)])
        return _inserted(text, lines, at, [task_line(task, mark if mark in "*+" else "-")], newline)
    if layout.has_section:
        at = layout.section.start
        below = [""] if "".join(lines[at : at + 1]).strip() else []
        return _inserted(text, lines, at, ["", task_line(task), *below], newline)
    return _inserted(text, lines, len(lines), ["", SECTION_TITLE, "", task_line(task)], newline)


def _trimmed(lines: Sequence[str], end: int) -> int:
    """The end without blank lines before it."""
    while end and not "".join(lines[end - 1 : end]).strip():
        end -= 1
    return end


def _inserted(text: str, lines: Sequence[str], at: int, new: Sequence[str], newline: str) -> str:
    above = list(lines[:at])
    if above and not above[-1].endswith(("\r", "\n")):
        above[-1] += newline
    return _joined(text, [*above, *(line + newline for line in new), *lines[at:]])


def _lines(text: str) -> list[str]:
    """The lines with their ends, without the byte order mark."""
    return _LINE.findall(text.removeprefix(BOM))


def _joined(text: str, lines: Iterable[str]) -> str:
    return (BOM if text.startswith(BOM) else "") + "".join(lines)


def _checked(before: HeartbeatContract, after: str, wanted: HeartbeatTask) -> str:
    """What was written, if in it this task is as wanted and all others are as they were."""
    expected = {task.id: task for task in before.tasks} | {wanted.id: wanted}
    if {task.id: task for task in parse_heartbeat(after).tasks} == expected:
        return after
    raise Refused(
        "heartbeat_task_unwritable",
        f"the task {wanted.id!r} cannot be written so that it reads as wanted: its text holds what ends a field or a "
        "line, or something around it hides it",
    )
