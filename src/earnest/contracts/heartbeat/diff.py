"""What did an agent change in a contract that its operator has pinned, and does it promise less?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from earnest.contracts.heartbeat.line import every_text
from earnest.contracts.heartbeat.task import HeartbeatTask


class Change(StrEnum):
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

    change: Change
    id: str
    was: HeartbeatTask | None
    now: HeartbeatTask | None
    reasons: tuple[str, ...]
    is_weakening: bool


def compare(pinned: Sequence[HeartbeatTask], now: Sequence[HeartbeatTask]) -> tuple[Difference, ...]:
    """Every difference, those of pinned tasks first. Ticks, order and lines are none."""
    current = {task.id: task for task in now}
    added = [task for task in now if task.id not in {was.id for was in pinned}]
    found = list[Difference]()
    for was in pinned:
        if was.id in current:
            found += _changed(was, current[was.id])
            continue
        successor = next((task for task in added if _is_same_work(was, task)), None)
        if successor is not None:
            added.remove(successor)
        reasons = (
            ()
            if successor is None
            else (f"id: {was.id} → {successor.id}", *(text for text, _ in _changes(was, successor)))
        )
        found.append(
            Difference(
                change=Change.REMOVED if successor is None else Change.RENAMED,
                id=was.id,
                was=was,
                now=successor,
                reasons=reasons,
                is_weakening=was.required,
            )
        )
    found += (
        Difference(change=Change.ADDED, id=task.id, was=None, now=task, reasons=(), is_weakening=False)
        for task in added
    )
    return tuple(found)


def _changed(was: HeartbeatTask, now: HeartbeatTask) -> Iterator[Difference]:
    changes = list(_changes(was, now))
    if not changes:
        return
    is_weakening = was.required and any(weakens for _, weakens in changes)
    yield Difference(
        change=Change.WEAKENED if is_weakening else Change.CHANGED,
        id=was.id,
        was=was,
        now=now,
        reasons=tuple(text for text, _ in changes),
        is_weakening=is_weakening,
    )


def _is_same_work(was: HeartbeatTask, now: HeartbeatTask) -> bool:
    described = was.description.casefold() == now.description.casefold()
    return described or (was.verify != "" and was.verify == now.verify)


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
