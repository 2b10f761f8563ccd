"""Changes of a contract that its operator has pinned, and whether it promises less."""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from earnest.contracts.heartbeat.line import every_text
from earnest.contracts.heartbeat.task import HeartbeatTask


class TaskChange(StrEnum):
    """What became of a task. Renamed: another id with the same description or hint."""

    ADDED = "added"
    REMOVED = "removed"
    RENAMED = "renamed"
    WEAKENED = "weakened"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One task that is not as it was pinned. `was` is None for an added one, `now` for a removed one.

    `is_weakening`: a required task promises less, or it cannot be told that it does not. It counts as skipped until the
    operator accepts the change.
    """

    change: TaskChange
    id: str
    was: HeartbeatTask | None
    now: HeartbeatTask | None
    reasons: tuple[str, ...]
    is_weakening: bool


def compare(pinned: Sequence[HeartbeatTask], now: Sequence[HeartbeatTask]) -> tuple[Difference, ...]:
    """Every difference, those of pinned tasks first. Ticks, order and lines are none. Ids are unique in both."""
    known, current = {was.id for was in pinned}, {task.id: task for task in now}
    gone, added = [was for was in pinned if was.id not in current], [task for task in now if task.id not in known]
    successors = _successors(gone, added)
    heirs = {task.id for task in successors.values()}
    found = list[Difference]()
    for was in pinned:
        found += _changed(was, current[was.id]) if was.id in current else [_gone(was, successors.get(was.id))]
    found += (
        Difference(change=TaskChange.ADDED, id=task.id, was=None, now=task, reasons=(), is_weakening=False)
        for task in added
        if task.id not in heirs
    )
    return tuple(found)


def _successors(gone: Sequence[HeartbeatTask], added: Sequence[HeartbeatTask]) -> Mapping[str, HeartbeatTask]:
    """By the id of a task that is gone: the first new one of the same description, else of the same hint. A new task
    stands in for one.
    """
    waiting = defaultdict[tuple[str, str], deque[HeartbeatTask]](deque)
    for task in added:
        for work in _works(task):
            waiting[work].append(task)
    found, taken = dict[str, HeartbeatTask](), set[str]()
    for was in gone:
        for work in _works(was):
            while waiting[work] and waiting[work][0].id in taken:
                waiting[work].popleft()
            if waiting[work]:
                found[was.id] = waiting[work].popleft()
                taken.add(found[was.id].id)
                break
    return found


def _works(task: HeartbeatTask) -> Iterator[tuple[str, str]]:
    yield "description", task.description.casefold()
    if task.verify:
        yield "verify", task.verify


def _gone(was: HeartbeatTask, successor: HeartbeatTask | None) -> Difference:
    if successor is None:
        change, reasons = TaskChange.REMOVED, tuple[str, ...]()
    else:
        changes = (text for text, _ in _changes(was, successor))
        change, reasons = TaskChange.RENAMED, (f"id: {was.id} → {successor.id}", *changes)
    return Difference(change=change, id=was.id, was=was, now=successor, reasons=reasons, is_weakening=was.required)


def _changed(was: HeartbeatTask, now: HeartbeatTask) -> Iterator[Difference]:
    changes = list(_changes(was, now))
    if not changes:
        return
    is_weakening = was.required and any(weakens for _, weakens in changes)
    yield Difference(
        change=TaskChange.WEAKENED if is_weakening else TaskChange.CHANGED,
        id=was.id,
        was=was,
        now=now,
        reasons=tuple(text for text, _ in changes),
        is_weakening=is_weakening,
    )


def _changes(was: HeartbeatTask, now: HeartbeatTask) -> Iterator[tuple[str, bool]]:
    """Each difference of two versions in words, and whether it promises less. Words cannot be weighed, so any do."""
    if was.is_structured != now.is_structured:
        yield ("its fields are gone", True) if was.is_structured else ("it has fields now", False)
    if was.required != now.required:
        yield ("required → optional", True) if was.required else ("optional → required", False)
    if was.description != now.description:
        yield f"description: {was.description!r} → {now.description!r}", True
    if was.verify != now.verify:
        yield f"verify: {was.verify or 'none'} → {now.verify or 'none'}", was.verify != ""
    if was.max_attempts != now.max_attempts:
        # More of them put off the end of trying, fewer bring it nearer: after the last nothing is charged.
        yield f"max_attempts: {was.max_attempts} → {now.max_attempts}", True
    if was.every_s != now.every_s:
        yield f"every: {_interval(was)} → {_interval(now)}", (was.every_s or 0) < (now.every_s or 0)


def _interval(task: HeartbeatTask) -> str:
    return "each time" if task.every_s is None else every_text(task.every_s)
