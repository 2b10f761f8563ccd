"""The guard between an executor's mind and its tools: limits, repeats and blocks are enforced here, in code."""

from collections import Counter
from itertools import count
from typing import Final, NoReturn

from earnest.effects.ground.bus.api import Envelope
from earnest.effects.hands.tools.failures import ToolFailure, logical
from earnest.effects.hands.tools.record import ToolCall, ToolRecord
from earnest.engine.gradient.cascade import AbandonCause
from earnest.engine.messages import Role, SubTask, ToolCalled
from earnest.engine.plan_rules import targets
from earnest.engine.ports import NeedsConfirmation
from earnest.engine.run import EngineRun
from earnest.foundation.errors import EarnestError

REFUSED_REPEATS_MAX: Final = 1
"""An exact repeat of a call is refused; the next one ends the execution."""
REFUSALS: Final = frozenset({"repeated_call", "bad_args", "blocked_tool", "blocked_target"})
"""The codes of calls that were refused here, and not performed."""


class ExecutionOver(EarnestError):
    """The executor went on where it had been stopped: its execution ends here."""


class ToolGuard:
    """The tools of one execution (`engine.ports.GuardedTools`). Every call ends as a record and as a message."""

    def __init__(self, run: EngineRun, order: SubTask, attempt: int, cause: Envelope) -> None:
        self.calls: list[str] = []
        """The keys of the calls so far, in the order in which they ended."""
        self.over = ""
        """Why the execution was ended; empty while it may go on."""
        self._numbers = count(1)
        self._run = run
        self._order = order
        self._attempt = attempt
        self._cause = cause
        self._made: Counter[str] = Counter()

    @property
    def prefix(self) -> str:
        """The beginning of the keys of this execution's calls."""
        return f"r{self._order.round}/{self._order.subtask.id}/a{self._attempt}/"

    async def call(self, call: ToolCall, look: str | None = None) -> ToolRecord:
        """Perform the call, or record what refused it. Once something has changed, a call is no repeat.

        Raises `ExecutionOver` for one call more than the limit, for the same call once more after a refusal, and for
        whatever comes after that: a mind that swallows it gains nothing.
        """
        number = next(self._numbers)
        if number > self._run.limits.calls_per_execution:
            self._end(f"more than {self._run.limits.calls_per_execution} tool calls in one execution")
        if self.over:
            raise ExecutionOver(self.over)
        refusal = self._refusal(call)
        if refusal is not None:
            record = self._run.hands.refused(call, refusal)
        else:
            record = await self._perform(f"{self.prefix}c{number}", call, look)
        told = ToolCalled(
            round=self._order.round,
            subtask_id=self._order.subtask.id,
            attempt=self._attempt,
            number=number,
            record=record,
        )
        self.calls.append(told.key)
        if record.changed:
            self._made.clear()
        self._run.post.send(Role.R3, told.key, told, self._cause)
        return record

    async def _perform(self, key: str, call: ToolCall, look: str | None) -> ToolRecord:
        """Perform it, asking for leave at most once. While a person is waited for, the run is not silent.

        Without leave the run ends, whatever the mind makes of the error: a no is never planned around (Law 1).
        """
        hands = self._run.hands
        with self._run.effect():
            try:
                try:
                    return await hands.call(key, call, look)
                except NeedsConfirmation as needs:
                    await self._ask(needs)
                    return await hands.call(needs.key, needs.call, look)
            except NeedsConfirmation as needs:
                self.over = str(needs)
                self._run.stop(Role.RUNTIME, AbandonCause.LAW_1, self.over)
                raise

    async def _ask(self, needs: NeedsConfirmation) -> None:
        """Have a person asked. Raises `needs` unless the answer is yes; whether that holds is checked by the hands."""
        post = self._run.post
        asked = post.send(Role.R3, f"{needs.key}/asked", needs.asked, self._cause)
        answered = await self._run.confirming.confirm(needs.key, needs.asked)
        post.send(Role.USER, f"{needs.key}/answered", answered, asked)
        if not answered.approved:
            raise needs

    def _end(self, reason: str) -> NoReturn:
        self.over = self.over or reason
        raise ExecutionOver(self.over)

    def _refusal(self, call: ToolCall) -> ToolFailure | None:
        """Why the call is not performed; the strictest reason first."""
        hands = self._run.hands
        digest = hands.digest(call)
        self._made[digest] += 1
        if self._made[digest] > 1 + REFUSED_REPEATS_MAX:
            self._end(f"the same {call.tool} call was made again after it had been refused")
        if self._made[digest] > 1:
            return logical("repeated_call", "this exact call was already made in this execution")
        if faults := hands.faults(call):
            return logical("bad_args", "; ".join(faults))
        if blocked := hands.tool_ids(call) & frozenset(self._order.blocked_tools):
            return logical("blocked_tool", f"{min(blocked)} must not be used again")
        if targets(hands, call) & frozenset(self._order.blocked_targets):
            return logical("blocked_target", f"{hands.target(call)} must not be used again")
        return None
