"""`earnest` where the time of day is wrong by the milliseconds that stand in the file `EARNEST_TEST_CLOCK`."""

import os
from contextlib import suppress
from pathlib import Path

from earnest.effects.ground.clock import SystemClock
from earnest.surfaces.cli.main import main

FILE = Path(os.environ["EARNEST_TEST_CLOCK"])
true_ms = SystemClock.now_ms


def wrong_ms(self: SystemClock) -> int:
    with suppress(OSError, ValueError):
        return true_ms(self) + int(FILE.read_text())
    return true_ms(self)


SystemClock.now_ms = wrong_ms  # type: ignore[method-assign]
main()
