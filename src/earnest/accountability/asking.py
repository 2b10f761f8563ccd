"""The tasks that an agent is asked for now, and their terms.

What the operator has accepted is asked for as it was accepted, whatever the file says today: so no edit makes a
promise easier. What the agent promises beside it is asked for too, and earns nothing until it is accepted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Final

from earnest.contracts.heartbeat.diff import compare
from earnest.contracts.heartbeat.task import HeartbeatTask, promise_of
from earnest.foundation.canonical import digest_of
from earnest.foundation.instants import SECOND_MS

DIGESTS_KEPT_MAX: Final = 4_096
ADDED_MAX: Final = 20
"""Tasks beside the accepted ones that a cycle asks for: each may cost the operator's judge two calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a task has come. `due_ms`: not asked for before it; 0: at every wake. `date` is that of the attempts."""

    due_ms: int = 0
    attempts: int = 0
    digest: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedTask:
    """A task as one cycle asks for it. `attempt` counts from 1.

    `is_accepted`: the operator has accepted it. `weakened`: how the agent made it easier without leave; empty: it did
    not. `digest` names the task in all that it asks. `may_probe`: it may be measured by a probe that its hint names.
    """

    id: str
    description: str
    verify: str = ""
    is_required: bool = True
    is_forced: bool = False
    is_structured: bool = True
    is_accepted: bool = True
    weakened: str = ""
    attempt: int = 1
    max_attempts: int = 3
    every_s: int | None = None
    digest: str = ""
    may_probe: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When is asked: the instant, its date for the agent; `is_wake`: a scheduled wake is due; `is_forced`: the tier.

    `by_operator`: the accepted tasks were accepted by the operator, not by their first use.
    """

    now_ms: int
    date: str
    is_wake: bool
    is_forced: bool
    by_operator: bool = False


def weakenings(accepted: Sequence[HeartbeatTask], given: Sequence[HeartbeatTask]) -> dict[str, str]:
    """Each accepted required task that the given contract lacks or makes easier, and how. By id."""
    found = (one for one in compare(accepted, given) if one.is_weakening)
    return {one.id: "; ".join(one.reasons) or one.change.value for one in found}


def asked_for(
    accepted: Sequence[HeartbeatTask],
    given: Sequence[HeartbeatTask] | None,
    progress: Mapping[str, Progress],
    moment: Moment,
) -> tuple[AskedTask, ...]:
    """What is due now, accepted tasks first. `given` None: the contract is as it was accepted.

    Left out is what is not due, and what is exhausted: its attempts are used up until the next day or an edit. A
    weakened task is never exhausted.
    """
    easier = {} if given is None else weakenings(accepted, given)
    names = {task.id for task in accepted}
    beside = islice((task for task in given or () if task.id not in names), ADDED_MAX)
    asked = (
        _asked(task, progress.get(task.id), moment, is_accepted=is_accepted, weakened=easier.get(task.id, ""))
        for tasks, is_accepted in ((accepted, True), (beside, False))
        for task in tasks
    )
    return tuple(one for one in asked if one is not None)


def attempts_of(known: Progress | None, digest: str, date: str) -> int:
    """The attempts that count: of this day and of the task as it now is."""
    return known.attempts if known is not None and (known.date, known.digest) == (date, digest) else 0


def begun(known: Progress | None, asked: AskedTask, now_ms: int, date: str) -> Progress:
    """The task is asked for at `now_ms`: its due period is used, whatever comes of it."""
    due_ms = now_ms + asked.every_s * SECOND_MS if asked.every_s else 0
    return Progress(due_ms=due_ms, attempts=attempts_of(known, asked.digest, date), digest=asked.digest, date=date)


def concluded(known: Progress, asked: AskedTask, *, verified: bool, failed: bool) -> Progress:
    """After the verdict: a failure uses an attempt up, success gives them all back, anything else changes nothing."""
    if known.digest != asked.digest or asked.weakened:
        return known
    if verified:
        return replace(known, attempts=0) if known.attempts else known
    return replace(known, attempts=min(known.attempts + 1, asked.max_attempts)) if failed else known


def is_exhausted(known: Progress, asked: AskedTask) -> bool:
    """True where no attempt is left."""
    return known.attempts >= asked.max_attempts


def _asked(
    task: HeartbeatTask, known: Progress | None, moment: Moment, *, is_accepted: bool, weakened: str
) -> AskedTask | None:
    """The task, if it is due and not exhausted. One that is another by now is due at once."""
    digest = _digest(task)
    is_over = known is None or known.digest != digest or known.due_ms <= moment.now_ms
    attempts = attempts_of(known, digest, moment.date)
    if not (moment.is_wake if task.every_s is None else is_over) or (attempts >= task.max_attempts and not weakened):
        return None
    return AskedTask(
        id=task.id,
        description=task.description,
        verify=task.verify,
        is_required=task.required,
        is_forced=moment.is_forced and not task.required and task.is_structured,
        is_structured=task.is_structured,
        is_accepted=is_accepted,
        weakened=weakened,
        attempt=min(attempts + 1, task.max_attempts),
        max_attempts=task.max_attempts,
        every_s=task.every_s,
        digest=digest,
        may_probe=is_accepted and moment.by_operator,
    )


@lru_cache(maxsize=DIGESTS_KEPT_MAX)
def _digest(task: HeartbeatTask) -> str:
    return digest_of(promise_of(task))
