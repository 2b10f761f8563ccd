"""Does the work beside the requests go on, and does the platform say what keeps it from work?"""

import asyncio
import errno
from pathlib import Path
from typing import NamedTuple

import pytest

from earnest.app.server import BEGIN_AGAIN_MS, DISK_BYTES_MIN, disk_fault, kept_up
from earnest.effects.ground.clock import VirtualClock
from earnest.foundation.errors import Broken


class Usage(NamedTuple):
    free: int


@pytest.mark.parametrize("fault", [
    Broken("the database failed: database or disk is full"),
    OSError(errno.EIO, "Input/output error"),
])  # fmt: skip
async def test_work_that_a_failing_disk_has_ended_begins_again_and_the_log_says_so(
    fault: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    clock, begun = VirtualClock(), 0

    async def work() -> None:
        nonlocal begun
        begun += 1
        raise fault

    task = asyncio.create_task(kept_up("presences", work, clock))
    await clock.advance_ms(0)
    await clock.advance_ms(2 * BEGIN_AGAIN_MS)
    assert (begun, task.done()) == (3, False)
    assert f"presences has ended and begins again: {fault}" in caplog.text
    task.cancel()


async def test_work_that_a_fault_of_ours_has_ended_stays_so_and_the_log_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def work() -> None:
        raise KeyError("nobody thought of it")

    with pytest.raises(KeyError):
        await kept_up("timers", work, VirtualClock())
    assert "timers has ended" in caplog.text


@pytest.mark.parametrize(("free", "fault"), [
    (DISK_BYTES_MIN, ""),
    (DISK_BYTES_MIN - 1, "the disk has 63 MiB left"),
    (0, "the disk has 0 MiB left"),
])  # fmt: skip
def test_a_disk_that_is_nearly_full_is_no_place_to_write_books(
    free: int, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(free))
    assert disk_fault(tmp_path) == fault
