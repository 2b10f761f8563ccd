"""The sandbox that this machine has, or one that refuses and says what to install."""

import sys
from typing import Final

from earnest.effects.ground.clock import Clock
from earnest.effects.hands.sandbox.api import (
    Execution,
    ExecutionReport,
    ExecutionStatus,
    Sandbox,
    SandboxSettings,
    SelfTest,
)
from earnest.effects.hands.sandbox.host import HOW_TO_INSTALL, binaries, read_host
from earnest.foundation.errors import EarnestError, Refused, Unavailable

SPARE_SLOTS: Final = 2  # for the self-test's canary, and for a box that has reported and is being buried


class UnavailableSandbox:
    """A `Sandbox` that starts nothing."""

    description = "none"

    def __init__(self, reason: str, clock: Clock) -> None:
        self._reason = reason
        self._clock = clock

    async def run(self, execution: Execution) -> ExecutionReport:  # noqa: ARG002
        """Always `refused`."""
        return ExecutionReport(status=ExecutionStatus.REFUSED, reason=self._reason, sandbox=self.description)

    async def self_test(self, _max_age_ms: int = 0, /) -> SelfTest:
        """Never green."""
        return SelfTest(provider=self.description, at_ms=self._clock.now_ms(), probes=(), problem=self._reason)

    async def close(self) -> None:
        """Nothing was taken."""


async def open_sandbox(settings: SandboxSettings, clock: Clock) -> Sandbox:
    """The first sandbox that starts, not yet tested; one that refuses everything, and says why, if none does."""
    candidates = binaries() if settings.binaries is None else settings.binaries
    if sys.platform != "linux" or not candidates:
        return UnavailableSandbox(f"there is no bubblewrap: {HOW_TO_INSTALL}", clock)
    from earnest.effects.hands.sandbox.launcher import Launcher  # noqa: PLC0415 - these need Linux
    from earnest.effects.hands.sandbox.pool import KINDS_MAX, PLAIN, begin  # noqa: PLC0415
    from earnest.effects.hands.sandbox.provider import BubblewrapSandbox  # noqa: PLC0415

    host = read_host()
    launcher = Launcher(host, candidates, 2 * settings.slots + KINDS_MAX * settings.pool + SPARE_SLOTS)
    try:
        await launcher.open()
    except (Unavailable, Refused, OSError) as error:
        return UnavailableSandbox(f"{error}; {HOW_TO_INSTALL}", clock)
    faults = []
    for binary in candidates:
        if launcher.version(binary) is None:
            faults.append(f"{binary} cannot be executed")
            continue
        sandbox = BubblewrapSandbox(settings, clock, host, launcher, binary)
        if sandbox.recall():
            return sandbox
        try:
            sandbox.keep(await begin(launcher, binary, PLAIN))
        except (EarnestError, TimeoutError) as error:
            faults.append(f"{binary}: {error or 'it did not start in time'}")
            continue
        return sandbox
    await launcher.close()
    return UnavailableSandbox(f"no bubblewrap works ({'; '.join(faults)}): {HOW_TO_INSTALL}", clock)
