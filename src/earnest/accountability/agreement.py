"""What an agent has agreed to be held to, with whom, and its state."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, NamedTuple

from earnest.accountability.asking import AskedTask, Progress, concluded, is_exhausted
from earnest.accountability.days import date_of
from earnest.accountability.gate import DailyHours, hours_of
from earnest.accountability.points import POINTS, PointsRule
from earnest.accountability.tiers import Penalty, Reward, contract_interval_s
from earnest.contracts.heartbeat.parse import parse_heartbeat
from earnest.contracts.heartbeat.task import HeartbeatContract, HeartbeatTask
from earnest.foundation.canonical import canonical_text
from earnest.foundation.shapes import to_json

CONTRACT_BYTES_MAX: Final = 256 * 1024
SHORT_CHARACTERS: Final = 16 * 1024
FIRST_USE: Final = "first_use"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """One agent's pinned contract. `text` is the HEARTBEAT.md as it was accepted, `digest` its digest.

    `pinned_by`: the operator's account; `first_use`: it is what the agent first checked in with, and nobody has
    accepted it yet. `interval_s` None: the ladder of tiers. `progress` (JSON): the `Progress` of each task.
    `next_wake_ms`: the next scheduled wake; a check-in before it is an extra one. `skip` is the last skipped check-in's
    reason. `offered`: the newest contract that the agent checked in with, where it is another; `weakened` (JSON): how
    it makes accepted tasks easier. `exhausted` (JSON): tasks without attempts left. `possible`: points of a whole day.
    """

    account_id: str
    text: str
    digest: str
    pinned_at_ms: int
    pinned_by: str
    zone: str = "UTC"
    interval_s: int | None = None
    active_from: str = "00:00"
    active_to: str = "24:00"
    is_enabled: bool = True
    is_paused: bool = False
    possible: int = 0
    progress: str = "{}"
    exhausted: str = "[]"
    offered: str = ""
    weakened: str = "{}"
    next_wake_ms: int = 0
    skip: str = ""
    skipped_at_ms: int | None = None

    @property
    def contract(self) -> HeartbeatContract:
        """What was accepted."""
        return contract_of(self.text)

    @property
    def hours(self) -> DailyHours:
        """When heartbeats are taken."""
        return hours_of(self.active_from, self.active_to)

    def exhausted_on(self, date: str) -> list[str]:
        """Tasks whose attempts of this day are used up."""
        exhausted = json.loads(self.exhausted)
        progress = self.progress_by_task() if exhausted else {}
        return [task for task in exhausted if task in progress and progress[task].date == date]

    def progress_by_task(self) -> dict[str, Progress]:
        """The progress of each task that was ever asked for."""
        return {task: Progress(**kept) for task, kept in json.loads(self.progress).items()}


def contract_of(text: str) -> HeartbeatContract:
    """A contract as it reads. Raises `Faulty`: see `parse_heartbeat`."""
    return (_contract_of if len(text) <= SHORT_CHARACTERS else _long_contract_of)(text)


_contract_of = lru_cache(maxsize=256)(parse_heartbeat)
_long_contract_of = lru_cache(maxsize=16)(parse_heartbeat)
"""Few: anybody may send the longest there are, which take megabytes each."""


def with_progress(agreement: Agreement, progress: Mapping[str, Progress], known: Iterable[str]) -> Agreement:
    """With this progress, of tasks that are still `known`: others are forgotten."""
    wanted = set(known)
    kept = {task: to_json(one) for task, one in progress.items() if task in wanted}
    return replace(agreement, progress=canonical_text(kept))


class Conclusion(NamedTuple):
    """What a verdict means for the attempts of a task: all are given back, or one is used up, or neither."""

    asked: AskedTask
    verified: bool
    failed: bool


def with_conclusions(agreement: Agreement, conclusions: Iterable[Conclusion], date: str) -> Agreement:
    """After verdicts on what was asked for on the day `date`. The attempts of an earlier day count no more."""
    before = agreement.progress_by_task()
    progress = dict(before)
    exhausted = set(agreement.exhausted_on(date))
    for one in conclusions:
        known = progress.get(one.asked.id)
        if known is None or known.date != date:
            continue
        progress[one.asked.id] = now = concluded(known, one.asked, verified=one.verified, failed=one.failed)
        (exhausted.add if is_exhausted(now, one.asked) else exhausted.discard)(one.asked.id)
    if progress == before:
        return agreement
    return replace(with_progress(agreement, progress, progress), exhausted=canonical_text(sorted(exhausted)))


def without_attempts(agreement: Agreement, task: str) -> Agreement:
    """The operator lets a task begin anew."""
    progress = agreement.progress_by_task()
    left = {name: replace(one, attempts=0) if name == task else one for name, one in progress.items()}
    exhausted = [name for name in json.loads(agreement.exhausted) if name != task]
    return replace(with_progress(agreement, left, left), exhausted=canonical_text(exhausted))


def possible_points(tasks: Iterable[HeartbeatTask], spans_s: Sequence[tuple[int, int]], interval_s: int) -> int:
    """The most that the accepted tasks can earn in these spans of a day: each verified once in every due period."""
    return sum(
        POINTS[PointsRule.VERIFIED_REQUIRED if task.required else PointsRule.VERIFIED_OPTIONAL]
        * max(1, _most_wakes(spans_s, task.every_s or interval_s))
        for task in tasks
    )


def possible_of(agreement: Agreement, at_ms: int) -> int:
    """The most that can be earned on the day of `at_ms`, at the pace that applies without a tier."""
    spans_s = agreement.hours.spans_s(date_of(at_ms, agreement.zone), agreement.zone)
    interval_s = contract_interval_s(Penalty.NONE, Reward.NONE, agreement.interval_s)
    return possible_points(agreement.contract.tasks, spans_s, interval_s)


def _most_wakes(spans_s: Iterable[tuple[int, int]], period_s: int) -> int:
    """How often something can be due that is asked for as soon as it may be: a period that a day cuts short counts."""
    wakes = next_s = 0
    for begin_s, end_s in spans_s:
        first_s = max(begin_s, next_s)
        more = max(0, -(-(end_s - first_s) // period_s))
        wakes, next_s = wakes + more, first_s + more * period_s
    return wakes
