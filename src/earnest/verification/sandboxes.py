"""What a check is handed as its sandbox: none, if its kind runs no code, or one that hides what work may not see."""

from dataclasses import replace
from pathlib import Path

from earnest.effects.hands.sandbox.api import Execution, ExecutionReport, ExecutionStatus, Sandbox, SelfTest


class NoSandbox:
    """What a check gets that said it runs no code."""

    description = ""
    _reason = "this kind of check says that it runs no code"

    async def run(self, execution: Execution) -> ExecutionReport:  # noqa: ARG002 - the protocol names it
        """A refusal."""
        return ExecutionReport(status=ExecutionStatus.REFUSED, reason=self._reason)

    async def self_test(self, _max_age_ms: int = 0, /) -> SelfTest:
        """One that is not green."""
        return SelfTest(provider="", at_ms=0, probes=(), problem=self._reason)

    async def close(self) -> None:
        """There is nothing to close."""


class Hiding:
    """A sandbox that shows nothing of `places`, whatever a check asks for."""

    def __init__(self, sandbox: Sandbox, places: tuple[Path, ...]) -> None:
        self._sandbox = sandbox
        self._places = places
        self.description = sandbox.description
        self.self_test = sandbox.self_test

    async def run(self, execution: Execution) -> ExecutionReport:
        """See `Sandbox`."""
        joined = execution.joined and replace(execution.joined, hidden=self._places)
        return await self._sandbox.run(replace(execution, joined=joined, hidden=self._places))

    async def close(self) -> None:
        """Whoever opened it closes it."""
