"""The runner of a contract: ask what is due, have it done, hand it in once, say what came of it, and wait."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from earnest.accountability.gate import DailyHours, Skip
from earnest.client.heartbeat import BREAK_MS, ERRORS_MAX, LONGEST_MS, SPACING_MS, instant_ms, is_error
from earnest.client.payloads_home import Home
from earnest.client.payloads_scores import Due, Heartbeat
from earnest.client.problem import Problem
from earnest.effects.ground.clock import Chance, Clock
from earnest.effects.ground.process import ProgramFailed
from earnest.effects.ground.storage.news import within
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Unavailable
from earnest.foundation.instants import SECOND_MS, rfc3339_s
from earnest.runtime.heartbeats.artifacts import artifacts_left
from earnest.runtime.heartbeats.contract_file import ContractFile, first_tasks, shortest_every_ms
from earnest.runtime.heartbeats.handing_in import HandingIn
from earnest.runtime.heartbeats.pacing import HeartbeatPace, failure_wait_ms, first_look_ms, next_look_ms, opens_ms
from earnest.runtime.heartbeats.platform import HeartbeatPlatform
from earnest.runtime.heartbeats.program import AgentProgram, Said, Work
from earnest.runtime.heartbeats.state import HeartbeatTurn, RunnerState

NAP_MS: Final = 5_000
"""How often a change of HEARTBEAT.md is looked for."""
WAKE_SPACING_MS: Final = 1_000
"""Between two cycles, however often somebody wakes the runner."""
BACK_PRESSURE: Final = "back_pressure"
ALL_DAY: Final = DailyHours()
NOT_IDLE: Final = frozenset({Skip.BUSY.value, Skip.OUTSIDE_ACTIVE_HOURS.value})


class CycleOutcome(StrEnum):
    """How a cycle ended."""

    JUDGED = "judged"
    UNJUDGED = "unjudged"
    """It was handed in; the verdict is not there yet."""
    SKIPPED = "skipped"
    FAILED = "failed"
    """The program, or its contract."""
    UNANSWERED = "unanswered"
    """The platform."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleReport:
    """`reason`: why it was skipped, or what went wrong. `notes`: what else should be seen.

    `is_open`: so many failures in a row that the next cycle is a trial.
    """

    at_ms: int
    next_ms: int
    outcome: CycleOutcome
    reason: str = ""
    heartbeat: Heartbeat | None = None
    notes: tuple[str, ...] = ()
    failures: int = 0
    idle: int = 0
    is_open: bool = False

    def to_json(self) -> JsonObject:
        """One line of `--json`."""
        return {
            "at": rfc3339_s(self.at_ms),
            "outcome": self.outcome.value,
            "reason": self.reason or None,
            "heartbeat": self.heartbeat,  # type: ignore[dict-item]
            "notes": list(self.notes),
            "failures": self.failures,
            "idle": self.idle,
            "circuit": "open" if self.is_open else "closed",
            "next_at": rfc3339_s(self.next_ms),
        }

    def lines(self) -> list[str]:
        """The same for people."""
        head = f"{rfc3339_s(self.at_ms)}  {self.outcome:<10}"
        found = self.heartbeat["outcome"] if self.heartbeat else None
        if self.heartbeat and found:
            verdicts = ", ".join(f"{task['id']} {task['verdict']}" for task in self.heartbeat["tasks"])
            head += f"  {self.heartbeat['points']:+d} points, {found['score']} of {found['target']}: {verdicts}"
        told = [*(found["feedback"] if found else ()), *self.notes]
        told += [f"{self.failures} failures in a row: paused"] if self.is_open else []
        return [f"{head}  {self.reason}".rstrip(), *(f"  {one}" for one in told), f"  next {rfc3339_s(self.next_ms)}"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveHours:
    """When the runner works at all, by the clocks of `zone` (IANA); the platform has hours of its own."""

    hours: DailyHours = ALL_DAY
    zone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What a cycle came to. `pace` None: as it was known before."""

    outcome: CycleOutcome
    reason: str = ""
    heartbeat: Heartbeat | None = None
    pace: HeartbeatPace | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """What was asked for and answered, the paths of the artifacts that would be handed in, and what would not."""

    work: Work
    said: Said
    artifacts: tuple[str, ...]
    notes: tuple[str, ...]


class HeartbeatRunner:
    """Runs one agent's cycles, one at a time. `program` is whoever does the work."""

    def __init__(
        self,
        platform: HeartbeatPlatform,
        program: AgentProgram,
        state: RunnerState,
        contract: ContractFile,
        *,
        clock: Clock,
        chance: Chance,
        active: ActiveHours | None = None,
    ) -> None:
        self._platform = platform
        self._program = program
        self._state = state
        self._contract = contract
        self._clock = clock
        self._chance = chance
        self._active = active or ActiveHours()
        self._handing_in = HandingIn(platform, state, clock, chance)
        self._woken = asyncio.Event()
        self._pace = HeartbeatPace()
        self._stamp = contract.stamp()
        self._began_ms = 0
        self._every_ms: int | None = None
        self._notes: list[str] = []
        self._home: Home | None = None
        self.is_waiting = False
        """No cycle is under way."""

    def wake(self) -> None:
        """Look at once. Several wakes while a cycle runs are one more cycle."""
        self._woken.set()

    async def run(self, tell: Callable[[CycleReport], None]) -> None:
        """Cycle after cycle, each told of, until this is cancelled."""
        held_back = self.held_back()
        if held_back is not None:
            tell(held_back)
            await self._until(held_back.next_ms)
        while True:
            report = await self.cycle()
            tell(report)
            await self._until(report.next_ms)

    def held_back(self) -> CycleReport | None:
        """Why a runner that starts has to wait: it has just looked, or it is paused after failures. None: it may begin.

        A turn that is under way goes on at once.
        """
        now_ms, kept = self._clock.now_ms(), self._state.kept
        first_ms = first_look_ms(self._state.pace, kept.failures, now_ms)
        if kept.turn is not None or first_ms <= now_ms:
            return None
        return self._report(_Found(outcome=CycleOutcome.SKIPPED, reason=BACK_PRESSURE), first_ms)

    async def cycle(self) -> CycleReport:
        """One cycle, at whose end the files hold what is needed to go on. Raises `OSError` where they cannot be."""
        self._woken.clear()
        self.is_waiting = False
        self._notes, self._home = [], None
        self._began_ms, self._stamp = self._clock.now_ms(), self._contract.stamp()
        try:
            found = await self._cycle()
        except ProgramFailed as failed:
            return self._after_failure(failed)
        except (Problem, Unavailable) as error:
            return self._after_no_answer(error)
        return self._after_answer(found)

    async def _cycle(self) -> _Found:
        if self._state.kept.turn is not None:
            return await self._hand_in()
        key = self._chance.new_id(self._clock.now_ms())
        work = await self._asked(key)
        if isinstance(work, _Found):
            return work
        try:
            said = await self._program.work(work)
        finally:
            self._stamp = self._contract.stamp()  # what the program writes there is nothing new to it
        self._begin(key, work, said)
        return await self._hand_in()

    async def rehearse(self) -> Rehearsal | str:
        """A cycle of which nothing is handed in or kept; why there is none, if nothing is asked for now.

        Raises `ProgramFailed`, `Problem`, `Unavailable`.
        """
        work = await self._asked(self._chance.new_id(self._clock.now_ms()))
        if isinstance(work, _Found):
            return work.reason
        said = await self._program.work(work)
        left = artifacts_left(work.folder)
        return Rehearsal(work=work, said=said, artifacts=tuple(path for path, _ in left.artifacts), notes=left.notes)

    async def _asked(self, key: str) -> Work | _Found:
        """What the platform asks for now, or why that is nothing."""
        now_ms = self._clock.now_ms()
        if opens_ms(now_ms, self._active.hours, self._active.zone) > now_ms:
            return _Found(outcome=CycleOutcome.SKIPPED, reason=Skip.OUTSIDE_ACTIVE_HOURS)
        shown = self._contract.read()
        self._every_ms = shortest_every_ms(shown)
        self._home = home = await self._platform.home()
        due = await self._platform.due()
        pace = _pace_of(due, self._every_ms)
        tasks = tuple(due["tasks"])
        if due["next_wake_at"] is None and due["skip"] == Skip.NOTHING_TO_DO:
            tasks = first_tasks(shown)
        elif due["skip"] is not None:
            return _Found(outcome=CycleOutcome.SKIPPED, reason=due["skip"], pace=pace)
        if not tasks:
            return _Found(outcome=CycleOutcome.SKIPPED, reason=Skip.NOTHING_TO_DO, pace=pace)
        return Work(
            tasks=tasks,
            message=due["message"],
            score=await self._platform.score(),
            last=self._state.kept.last,
            feedback=tuple(due["feedback"]),
            todo=tuple(home["what_to_do_next"]),
            contract=shown.text if shown else None,
            folder=self._state.fresh_folder(key),
        )

    def _begin(self, key: str, work: Work, said: Said) -> None:
        """Write down what is handed in, and under which key, before anything of it is sent."""
        shown = self._contract.read()  # the program may have ticked boxes
        left = artifacts_left(work.folder)
        self._notes += left.notes
        body: dict[str, object] = {
            "reply": said.reply,
            "records": list(said.records),
            "artifacts": [{"path": path, "sha256": sha256} for path, sha256 in left.artifacts],
            "claims": list(said.claims),
        }
        sent: JsonObject = {**body, **({"contract": shown.text} if shown else {})}  # type: ignore[dict-item]
        self._state.keep(turn=HeartbeatTurn(key=key, at_ms=self._clock.now_ms(), folder=str(work.folder), body=sent))

    async def _hand_in(self) -> _Found:
        """Hand in the turn that is under way, or go on with that."""
        found = await self._handing_in.hand_in()
        if found is None:
            return _Found(outcome=CycleOutcome.UNJUDGED)
        if isinstance(found, str):
            return _Found(outcome=CycleOutcome.SKIPPED, reason=found)
        return _Found(outcome=CycleOutcome.JUDGED, heartbeat=found, pace=_pace_after(found, self._every_ms))

    def _after_answer(self, found: _Found) -> CycleReport:
        now_ms, before = self._clock.now_ms(), self._state.pace
        acted = found.outcome is CycleOutcome.JUDGED
        pace = before.looked(now_ms, self._home, acted=acted)
        if not acted and (found.reason in NOT_IDLE or found.outcome is CycleOutcome.UNJUDGED):
            pace = replace(pace, consecutive_no_action_count=before.consecutive_no_action_count)
        if acted and self._state.kept.failures:
            self._state.keep(failures=0)
        self._state.keep_pace(pace)
        self._pace = found.pace or self._pace
        next_ms = next_look_ms(pace, self._pace)
        if self._state.kept.turn is not None or found.reason == Skip.BUSY:
            next_ms = now_ms + SPACING_MS
        return self._report(found, next_ms)

    def _after_failure(self, failed: ProgramFailed) -> CycleReport:
        """The agent's side could not do it."""
        now_ms, before = self._clock.now_ms(), self._state.pace
        failures = self._state.kept.failures + 1
        self._state.keep(failures=failures)
        errors = before.consecutive_error_count + 1
        self._state.keep_pace(replace(before, last_heartbeat_at_ms=now_ms, consecutive_error_count=errors))
        next_ms = now_ms + failure_wait_ms(failures, LONGEST_MS)
        return self._report(_Found(outcome=CycleOutcome.FAILED, reason=str(failed)), next_ms)

    def _after_no_answer(self, error: Problem | Unavailable) -> CycleReport:
        """The platform could not, or would not say. A no by its rules is no failure, and nothing to hurry for."""
        now_ms = self._clock.now_ms()
        self._state.keep_pace(self._state.pace.failed(now_ms, error))
        wait_ms = failure_wait_ms(self._state.pace.consecutive_error_count, BREAK_MS, error.retry_after_ms)
        if isinstance(error, Problem) and not (error.retryable or is_error(error)):
            wait_ms = max(wait_ms, self._pace.interval_ms)
        return self._report(_Found(outcome=CycleOutcome.UNANSWERED, reason=str(error)), now_ms + wait_ms)

    def _report(self, found: _Found, next_ms: int) -> CycleReport:
        pace, kept = self._state.pace, self._state.kept
        if kept.turn is None:
            next_ms = opens_ms(next_ms, self._active.hours, self._active.zone)
        return CycleReport(
            at_ms=self._clock.now_ms(),
            next_ms=next_ms,
            outcome=found.outcome,
            reason=found.reason,
            heartbeat=found.heartbeat,
            notes=tuple(self._notes),
            failures=max(kept.failures, pace.consecutive_error_count),
            idle=pace.consecutive_no_action_count,
            is_open=kept.failures >= ERRORS_MAX or pace.is_broken,
        )

    async def _until(self, at_ms: int) -> None:
        """Return at that instant, when somebody wakes the runner, or when the contract is another."""
        self.is_waiting = True
        began_ns, planned_ms = self._clock.ticks_ns(), at_ms - self._clock.now_ms()
        while not self._woken.is_set() and self._contract.stamp() == self._stamp:
            waited_ms = (self._clock.ticks_ns() - began_ns) // 1_000_000
            left_ms = min(at_ms - self._clock.now_ms(), planned_ms - waited_ms)  # a clock put back delays nothing
            if left_ms <= 0:
                return
            await within(self._woken, self._clock, min(left_ms, NAP_MS))
        await self._clock.sleep_ms(min(WAKE_SPACING_MS, self._began_ms + WAKE_SPACING_MS - self._clock.now_ms()))


def _pace_of(due: Due, every_ms: int | None) -> HeartbeatPace:
    interval_s = due["interval_s"]
    if interval_s is None:
        return HeartbeatPace()
    return HeartbeatPace(
        interval_ms=_interval_ms(interval_s, every_ms),
        next_wake_ms=instant_ms(due["next_wake_at"]) or 0,
        is_penalised=due["penalty"] != "none",
    )


def _pace_after(heartbeat: Heartbeat, every_ms: int | None) -> HeartbeatPace | None:
    """What the tier after a heartbeat wants."""
    outcome = heartbeat["outcome"]
    if outcome is None:
        return None
    wake_ms = (instant_ms(heartbeat["at"]) or 0) + outcome["interval_s"] * SECOND_MS
    interval_ms = _interval_ms(outcome["interval_s"], every_ms)
    return HeartbeatPace(interval_ms=interval_ms, next_wake_ms=wake_ms, is_penalised=outcome["penalty"] != "none")


def _interval_ms(interval_s: int, every_ms: int | None) -> int:
    """Sooner than the platform says where a task has a shorter pace of its own."""
    return min(interval_s * SECOND_MS, every_ms or LONGEST_MS)
