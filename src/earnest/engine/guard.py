"""The guard between an executor's mind and its tools: limits, repeats and blocks are enforced here, in code."""

from collections import Counter
from itertools import count
from typing import Final, NoReturn

from earnest.effects.bus.api import Envelope
from earnest.effects.tools.failures import ToolFailure, logical
from earnest.effects.tools.record import ToolCall, ToolRecord
from earnest.engine.messages import Role, SubTask, ToolCalled
from earnest.engine.plan_rules import targets
from earnest.engine.run import Run
from earnest.foundation.errors import EarnestError

REFUSED_REPEATS_MAX: Final = 1
"""An exact repeat of a call is refused; the next one ends the execution."""


class ExecutionOver(EarnestError):
    """The executor went on where it had been stopped: its execution ends here."""


class Guard:
    """The tools of one execution (`engine.ports.GuardedTools`). Every call ends as a record and as a message."""

    def __init__(self, run: Run, order: SubTask, attempt: int, cause: Envelope) -> None:
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
        """Perform the call, or record what refused it.

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
        self._run.post.send(Role.R3, told.key, told, self._cause)
        return record

    async def _perform(self, key: str, call: ToolCall, look: str | None) -> ToolRecord:
        self._run.effects_in_flight += 1
        try:
            return await self._run.hands.call(key, call, look)
        finally:
            self._run.effects_in_flight -= 1

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
