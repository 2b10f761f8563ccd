"""The sandbox that this machine has."""

import sys
from typing import Final

from earnest.effects.ground.clock import Clock
from earnest.effects.hands.sandbox.api import Sandbox, SandboxSettings
from earnest.effects.hands.sandbox.host import HOW_TO_INSTALL, binaries, read_host
from earnest.effects.hands.sandbox.unavailable import UnavailableSandbox
from earnest.foundation.errors import EarnestError, Refused, Unavailable

SPARE_SLOTS: Final = 2  # for the self-test's canary, and for a box that has reported and is being buried


async def open_sandbox(settings: SandboxSettings, clock: Clock) -> Sandbox:
    """The first sandbox that starts, not yet tested; one that refuses everything if none does.

    Raises nothing: what is missing is the refusal's reason.
    """
    candidates = binaries() if settings.binaries is None else settings.binaries
    if sys.platform != "linux" or not candidates:
        return UnavailableSandbox(f"there is no bubblewrap: {HOW_TO_INSTALL}", clock)
    from earnest.effects.hands.sandbox.launcher import Launcher  # noqa: PLC0415 - these need Linux
    from earnest.effects.hands.sandbox.provider import KINDS_MAX, PLAIN, BubblewrapSandbox, begin  # noqa: PLC0415

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
