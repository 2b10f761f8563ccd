"""Edits of a HEARTBEAT.md: one task is added, ticked or changed, and every other byte kept.

What is written is read back before it is given out: if it does not say exactly what was wanted, it is refused.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from earnest.contracts.heartbeat.layout import BOM, Layout
from earnest.contracts.heartbeat.line import LinePart, LineParts, escaped, every_text, field_of, parts_of
from earnest.contracts.heartbeat.parse import parse_heartbeat
from earnest.contracts.heartbeat.task import ATTEMPTS, HeartbeatContract, HeartbeatTask
from earnest.foundation.errors import Broken, Refused

NEW_FILE: Final = "# Heartbeat\n"
SECTION_TITLE: Final = "## Tasks"
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")

Change: TypeAlias = tuple[int, int, str]
"""From here to before there in a line: that text instead."""


def ticked(text: str, task_id: str, *, is_done: bool = True) -> str:
    """The text with the box of a task ticked, or empty. Raises `Refused("heartbeat_task_unknown")`."""
    before = parse_heartbeat(text)
    task = _task(before, task_id)
    return _edited(text, before, task, replace(task, is_ticked=is_done))


def edited(text: str, wanted: HeartbeatTask) -> str:
    """The text in which the task of this id says what `wanted` does; fields that are as they were are not touched.

    Raises `Refused`: `heartbeat_task_unknown`, `heartbeat_task_unwritable`.
    """
    before = parse_heartbeat(text)
    return _edited(text, before, _task(before, wanted.id), wanted)


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
    fields = [task.id, escaped(task.description), _obligation(task)]
    fields += [f"{name}: {value}" for name, value in _values(task).items() if value]
    return f"{mark} [{'x' if task.is_ticked else ' '}] {' | '.join(fields)}"


def _edited(text: str, before: HeartbeatContract, task: HeartbeatTask, wanted: HeartbeatTask) -> str:
    lines = _lines(text)
    line = lines[task.line - 1]
    parts = parts_of(line.rstrip("\r\n"))
    if parts is None:
        raise Broken(f"line {task.line} is a task to the parser and none to the writer")
    for start, end, words in sorted(_changes(line, parts, task, wanted), reverse=True):
        line = line[:start] + words + line[end:]
    lines[task.line - 1] = line
    return _checked(before, _joined(text, lines), wanted)


def _obligation(task: HeartbeatTask) -> str:
    return "required" if task.required else "optional"


def _values(task: HeartbeatTask) -> dict[str, str]:
    """The values of the fields with a key, as they are written; empty for a field that is left out."""
    return {
        "verify": escaped(task.verify),
        "max_attempts": "" if task.max_attempts == ATTEMPTS else str(task.max_attempts),
        "every": "" if task.every_s is None else every_text(task.every_s),
    }


def _changes(line: str, parts: LineParts, task: HeartbeatTask, wanted: HeartbeatTask) -> Iterator[Change]:
    if wanted.is_ticked != task.is_ticked:
        yield parts.tick_at, parts.tick_at + 1, "x" if wanted.is_ticked else " "
    if wanted.description != task.description:
        yield from _description(parts, wanted)
    appended = ""
    if wanted.required != task.required or (wanted.is_structured and not task.is_structured):
        words = [part for part in parts.fields if _name(part.text) in {"required", "optional"}]
        yield from ((part.start, part.end, _obligation(wanted)) for part in words)
        appended += "" if words else f" | {_obligation(wanted)}"
    before = _values(task)
    for name, value in _values(wanted).items():
        if value == before[name]:
            continue
        places = [part for part in parts.fields if _name(part.text) == name]
        if value and places:
            yield places[0].start, places[0].end, f"{name}: {value}"
        elif value:
            appended += f" | {name}: {value}"
        else:
            yield from ((_pipe_before(line, part), part.end, "") for part in places)
    if appended:
        yield len(line.rstrip()), len(line.rstrip()), appended


def _description(parts: LineParts, wanted: HeartbeatTask) -> Iterator[Change]:
    """The new description; the id, which a line without one has from its description, is written beside it."""
    if parts.id is None:
        yield parts.description.start, parts.description.end, f"{wanted.id} | {escaped(wanted.description)}"
        return
    if not parts.id.text:
        yield parts.id.start, parts.id.end, f"{wanted.id} "
    yield parts.description.start, parts.description.end, escaped(wanted.description)


def _pipe_before(line: str, part: LinePart) -> int:
    """Where a part begins with its `|` and the blanks before that."""
    return len(line[: line.rindex("|", 0, part.start)].rstrip())


def _name(text: str) -> str:
    known = field_of(text)
    return known[0] if known else ""


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


def _task(contract: HeartbeatContract, task_id: str) -> HeartbeatTask:
    for task in contract.tasks:
        if task.id == task_id:
            return task
    raise Refused("heartbeat_task_unknown", f"there is no task {task_id!r}")


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
