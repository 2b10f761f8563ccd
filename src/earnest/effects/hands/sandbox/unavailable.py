"""The sandbox where nothing can hold a stranger's code: it refuses, and says what to install."""

from earnest.effects.ground.clock import Clock
from earnest.effects.hands.sandbox.api import Execution, ExecutionReport, ExecutionStatus, SelfTest


class UnavailableSandbox:
    """A `Sandbox` that starts nothing."""

    def __init__(self, reason: str, clock: Clock) -> None:
        self._reason = reason
        self._clock = clock

    @property
    def description(self) -> str:
        """See `Sandbox`."""
        return "none"

    async def run(self, execution: Execution) -> ExecutionReport:  # noqa: ARG002
        """Always `refused`."""
        return ExecutionReport(status=ExecutionStatus.REFUSED, reason=self._reason, sandbox=self.description)

    async def self_test(self, _max_age_ms: int = 0, /) -> SelfTest:
        """Never green."""
        return SelfTest(provider=self.description, at_ms=self._clock.now_ms(), probes=(), problem=self._reason)

    async def close(self) -> None:
        """Nothing was taken."""
