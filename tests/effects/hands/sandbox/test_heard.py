"""Is what a command puts out heard while it runs, in bounds, and does nothing wait for who hears?"""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
from sandbox_programs import verify, work

from earnest.effects.ground.clock import SystemClock
from earnest.effects.hands.sandbox.api import ExecutionStatus, Sandbox, SandboxSettings
from earnest.effects.hands.sandbox.available import open_sandbox
from earnest.effects.hands.sandbox.pid1 import TOLD_BYTES_MAX

pytestmark = pytest.mark.asyncio(loop_scope="module")

Heard = list[tuple[int, bytes, int]]
IN_TWO = """
import os, sys, time
print("first", flush=True)
while not os.path.exists("/work/go"): time.sleep(0.01)
os.write(2, b"> 1 0 6\\nsecond")
"""
FLOOD = """
import os
for _ in range(120): os.write(1, b"y" * 8_000)
os.write(1, b"the end")
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    opened = await open_sandbox(SandboxSettings(), SystemClock())
    test = await opened.self_test()
    if test.problem:
        pytest.skip(test.problem)
    yield opened
    await opened.close()


@pytest.fixture
def open_to_all(tmp_path: Path) -> Path:
    """The sandbox's user is another one."""
    tmp_path.chmod(0o777)
    return tmp_path


@pytest.mark.slow
async def test_output_is_heard_while_the_command_runs(sandbox: Sandbox, open_to_all: Path) -> None:
    heard: Heard = []

    def hear(stream: int, piece: bytes, left_out: int) -> None:
        heard.append((stream, piece, left_out))
        (open_to_all / "go").touch()  # what the command waits for

    report = await sandbox.run(replace(work(IN_TWO, open_to_all), hear=hear))
    assert report.status is ExecutionStatus.DONE, report
    assert heard == [(1, b"first\n", 0), (2, b"> 1 0 6\nsecond", 0)]
    assert (report.stdout, report.stderr) == (b"first\n", b"> 1 0 6\nsecond")


async def test_of_a_flood_little_is_told_and_the_rest_is_counted(sandbox: Sandbox) -> None:
    heard: Heard = []
    report = await sandbox.run(replace(verify(FLOOD), hear=lambda *told: heard.append(told)))
    assert len(report.stdout) == 960_007
    assert sum(len(piece) + left_out for _, piece, left_out in heard) == len(report.stdout)
    assert max(len(piece) for _, piece, _ in heard) == TOLD_BYTES_MAX
    assert heard[-1][1].endswith(b"the end")
    assert len(heard) < 20


@pytest.mark.slow
async def test_what_nobody_hears_is_not_told(sandbox: Sandbox) -> None:
    report = await sandbox.run(verify("print('> 1 0 3')"))
    assert report.stdout == b"> 1 0 3\n"
