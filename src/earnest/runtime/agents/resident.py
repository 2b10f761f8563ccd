"""The cadence of a resident agent: it looks at its home, does what is to be done, and waits."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from earnest.agents.actions import SOCIAL, AgentActionKind
from earnest.agents.guards import offered
from earnest.agents.loop import Control
from earnest.agents.means import Means
from earnest.agents.perceive import perceive
from earnest.agents.state import AgentState, fresh_state
from earnest.client.client import LastHome
from earnest.client.heartbeat import HeartbeatState, load_state, next_boundary_ms, save_state
from earnest.client.problem import Problem
from earnest.effects.ground.clock import Chance, Clock
from earnest.effects.ground.storage.news import within
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import EarnestError, Unavailable
from earnest.foundation.instants import rfc3339_s
from earnest.runtime.agents.health import PLATFORM, ResidentHealth
from earnest.runtime.heartbeats.pacing import failure_wait_ms

CHAIN_MAX: Final = 10
"""Actions after one look, before the next wait."""
FULL_EVERY: Final = 20
"""So many looks that show nothing new, and all is looked at once more: time changes things, too."""
STALE_MS: Final = 6 * 86_400_000
"""The platform keeps its answers for seven days: after that the same key would be another request."""
BREAK_MS: Final = 3_600_000
WORK: Final = "work"
RESTING: Final = frozenset({"noop", "ask_human"})
ENDING: Final = RESTING | SOCIAL
"""After these nothing follows from the same look."""
ONE_A_LOOK: Final = ENDING | {"web_search"}


class ResidentOutcome(StrEnum):
    """How a cycle ended."""

    ACTED = "acted"
    IDLE = "idle"
    FAILED = "failed"
    UNANSWERED = "unanswered"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidentReport:
    """One cycle. `actions`: what was done and what came of it, in order."""

    at_ms: int
    next_ms: int
    outcome: ResidentOutcome
    actions: tuple[tuple[str, str], ...] = ()
    reason: str = ""
    faults: tuple[str, ...] = ()

    def to_json(self) -> JsonObject:
        """One line of `--json`."""
        return {
            "at": rfc3339_s(self.at_ms),
            "outcome": self.outcome.value,
            "actions": [{"kind": kind, "result": result} for kind, result in self.actions],
            "reason": self.reason or None,
            "faults": list(self.faults),
            "next_at": rfc3339_s(self.next_ms),
        }

    def lines(self) -> list[str]:
        """The same for people."""
        head = f"{rfc3339_s(self.at_ms)}  {self.outcome:<10}  {self.reason}".rstrip()
        return [head, *(f"  {kind}: {result}" for kind, result in self.actions), *(f"  ! {one}" for one in self.faults)]


class ResidentRunner:
    """Runs one agent, one cycle after the other. `every_ms` None: at the pace that the platform advises.

    `begin` is done once, before the first look that is answered. `renewed_ms`: the process has begun anew in the midst
    of idling (see `run`), and looks again at that instant.
    """

    def __init__(
        self,
        means: Means,
        control: Control,
        health: ResidentHealth,
        *,
        folder: Path,
        chance: Chance,
        begin: Callable[[], Awaitable[None]] | None = None,
        every_ms: int | None = None,
        renewed_ms: int | None = None,
    ) -> None:
        self._means = means
        self._control = control
        self._health = health
        self._folder = folder
        self._chance = chance
        self._begin = begin
        self._every_ms = every_ms
        self._clock: Clock = means.clock
        self._pace: HeartbeatState = load_state(folder)
        self._renewed_ms = renewed_ms
        self._known = "" if renewed_ms is None else self._pace.last_home_response_hash
        """The state of the home that was looked at in full."""
        self._same = FULL_EVERY if renewed_ms is None else 0
        self._may_be_left = renewed_ms is None
        self._is_light = renewed_ms is not None
        self._boundary_ms: int | None = None
        self._advised_ms = 0
        self._rows = 0 if renewed_ms is None else self._answers()
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Look at once."""
        self._woken.set()

    async def run(
        self, tell: Callable[[ResidentReport], None], should_renew: Callable[[], bool] = lambda: False
    ) -> int:
        """Cycle after cycle, each told of, until this is cancelled, or `should_renew` says so of an agent that idles.

        Then it is given when to look again, by a process that begins anew: all that a tick needed in memory, LangGraph
        or the engine, goes with this one. Nothing else goes: what an agent knows is in its files.
        """
        if self._renewed_ms is not None:
            await self._until(self._renewed_ms)
        while True:
            report = await self.cycle()
            tell(report)
            if report.outcome is ResidentOutcome.IDLE and not self._is_light and should_renew():
                return report.next_ms
            await self._until(report.next_ms)

    async def cycle(self) -> ResidentReport:
        """One look, and what follows from it; the files hold what is needed to go on."""
        self._woken.clear()
        done: list[tuple[str, str]] = []
        try:
            for _ in range(CHAIN_MAX):
                ended = await self._turn()
                if ended is None or ended["action"] is None or ended["result"] is None:
                    break
                kind = str(ended["action"]["kind"])
                if kind not in RESTING or ended["result"]["text"].startswith("asked the"):
                    done.append((kind, ended["result"]["text"]))
                if kind not in ENDING:
                    self._same = FULL_EVERY  # the home may look as before, and something else be owed
                if kind in ONE_A_LOOK or not ended["result"]["ok"]:
                    break
        except (Problem, Unavailable) as error:
            return self._after_no_answer(error, done)
        except (KeyError, TypeError) as error:
            await self._control.forget()
            return self._after_no_answer(Unavailable(f"an answer lacks what was asked for: {error!r}"), done)
        return self._after(done)

    async def _turn(self) -> AgentState | None:
        """One tick; None where the look showed nothing new."""
        if self._begin is not None:
            await self._begin()
            self._begin = None
        if self._may_be_left:
            self._is_light = False
            left = await self._control.interrupted()
            if left is not None and self._clock.now_ms() - left["at_ms"] < STALE_MS:
                return await self._run(None)
            await self._control.forget()
            self._may_be_left = False
        look = await self._means.client.home()
        is_new, is_due = self._news(look)
        if not is_due:
            return None
        now_ms = self._clock.now_ms()
        state = fresh_state(self._chance.new_id(now_ms), now_ms, self._means.role, look.home)
        seen = state if is_new else await perceive(state, self._means)
        if not is_new and offered(seen) == (AgentActionKind.NOOP,):
            ended = None  # only time has passed, and no tick is begun to do nothing
        else:
            seen = ended = await self._run(state)
        if seen["jobs"]["backlog"] and seen["jobs"]["as_buyer"]["open"]:  # my home does not show whether it was taken
            self._same = FULL_EVERY
        return ended

    async def _run(self, state: AgentState | None) -> AgentState:
        self._may_be_left, self._is_light = True, False
        ended = await self._control.run(state)
        self._may_be_left = False
        return ended

    def _news(self, look: LastHome) -> tuple[bool, bool]:
        """Has the home changed, or has the operator answered? And is all to be looked at, for that or after a while?"""
        now_ms, answers = self._clock.now_ms(), self._answers()
        is_new = look.home["state_hash"] != self._known or answers != self._rows
        self._boundary_ms = next_boundary_ms(look.home, now_ms)
        self._advised_ms = look.next_check_s * 1_000
        self._pace = self._pace.looked(now_ms, look.home, acted=is_new)
        self._known, self._rows = look.home["state_hash"], answers
        self._same = 0 if is_new or self._same >= FULL_EVERY else self._same + 1
        return is_new, self._same == 0

    def _answers(self) -> int:
        self._means.book.refresh()
        return sum(1 for _ in self._means.book.rows("answer"))

    def _after(self, done: list[tuple[str, str]]) -> ResidentReport:
        self._health.note(PLATFORM, "")
        failed = bool(done) and done[-1][1].startswith(("the work failed", "refused:", "given back"))
        self._health.note(WORK, done[-1][1] if failed else "")
        self._health.failures = self._health.failures + 1 if failed else 0
        save_state(self._folder, self._pace)
        if failed:
            return self._report(ResidentOutcome.FAILED, done, self._backoff_ms(self._health.failures), done[-1][1])
        return self._report(ResidentOutcome.ACTED if done else ResidentOutcome.IDLE, done, self._next_ms())

    def _after_no_answer(self, error: EarnestError, done: list[tuple[str, str]]) -> ResidentReport:
        self._health.note(PLATFORM, str(error))
        self._known = ""
        self._pace = self._pace.failed(self._clock.now_ms(), error)
        save_state(self._folder, self._pace)
        self._health.failures += 1
        asked_ms = getattr(error, "retry_after_ms", None)
        wait_ms = max(self._backoff_ms(self._health.failures), asked_ms or 0)
        return self._report(ResidentOutcome.UNANSWERED, done, wait_ms, str(error))

    def _backoff_ms(self, failures: int) -> int:
        wait_ms = failure_wait_ms(failures, BREAK_MS)
        return wait_ms if self._every_ms is None else min(wait_ms, self._every_ms << min(failures, 8))

    def _next_ms(self) -> int:
        """How long until the next look."""
        if self._every_ms is not None:
            return self._every_ms
        return self._pace.next_ms(self._advised_ms, self._boundary_ms) - self._clock.now_ms()

    def _report(
        self, outcome: ResidentOutcome, done: list[tuple[str, str]], wait_ms: int, reason: str = ""
    ) -> ResidentReport:
        now_ms = self._clock.now_ms()
        if done:
            self._health.last_action, self._health.last_result = done[-1]
        self._health.save(now_ms, now_ms + wait_ms)
        faults = tuple(f"{part}: {what}" for part, what in self._health.faults.items())
        return ResidentReport(
            at_ms=now_ms,
            next_ms=now_ms + wait_ms,
            outcome=outcome,
            actions=tuple(done),
            reason=reason,
            faults=() if reason else faults,
        )

    async def _until(self, at_ms: int) -> None:
        """Return at that instant, or when somebody wakes the agent."""
        await within(self._woken, self._clock, at_ms - self._clock.now_ms())
