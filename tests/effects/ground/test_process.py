"""Does a program end in time, with all that it started, and without having filled our memory?"""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from earnest.effects.ground import process
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.process import OUTPUT_BYTES_MAX, TOLD_BYTES_MAX, Ended, ProgramFailed, run_group

LONG_S = 60
GONE_S = 10
PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
open(sys.argv[1], "w").write(str(child.pid))
"""


@pytest.fixture
def stdin(tmp_path: Path) -> Path:
    path = tmp_path / "stdin"
    path.write_text("told")
    return path


async def run(stdin: Path, program: str, *words: str, timeout_s: int = LONG_S) -> Ended:
    return await run_group([sys.executable, "-c", program, *words], stdin, {"A": "b"}, timeout_s)


def has_ended(pid: int) -> bool:
    """A process that nobody has waited for yet has ended too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


async def until(happened: Callable[[], object]) -> bool:
    """True as soon as it has happened. Raises `TimeoutError`."""
    async with asyncio.timeout(GONE_S):
        while not happened():
            await SystemClock().sleep_ms(10)
    return True


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def test_it_reads_what_it_is_told_and_sees_nothing_else_of_us(stdin: Path) -> None:
    ours = {os.getpgrp(), os.getsid(0)}
    program = (
        "import os, sys; print(sys.stdin.read(), os.environ.get('HOME'), os.environ['A'],"
        f" {{os.getpgrp(), os.getsid(0)}} & {ours})"
    )
    assert await run(stdin, program) == (0, b"told None b set()\n", b"")


async def test_the_end_of_what_it_complains_is_kept(stdin: Path) -> None:
    ended = await run(stdin, "import sys; sys.stderr.write('x' * 1_000_000 + 'why'); sys.exit(4)")
    assert (ended.code, len(ended.complaint), ended.complaint[-4:]) == (4, 4_000, b"xwhy")


@pytest.mark.parametrize("size", [OUTPUT_BYTES_MAX + 1, 10 * 1024 * 1024])
async def test_too_much_output_ends_it(stdin: Path, size: int) -> None:
    program = f"import sys, time; sys.stdout.write('x' * {size}); sys.stdout.flush(); time.sleep(600)"
    with pytest.raises(ProgramFailed, match="more than 1048576 bytes"):
        await run(stdin, program)


async def test_as_much_as_it_may_say_is_heard(stdin: Path) -> None:
    assert len((await run(stdin, f"print('x' * {OUTPUT_BYTES_MAX - 1})")).output) == OUTPUT_BYTES_MAX


@pytest.mark.slow
async def test_a_program_that_hangs_is_ended_with_its_children(stdin: Path, tmp_path: Path) -> None:
    path = tmp_path / "pid"
    with pytest.raises(ProgramFailed, match="not done within 2 s"):
        await run(stdin, PARENT + "time.sleep(600)", str(path), timeout_s=2)
    child = int(path.read_text())
    assert await until(lambda: has_ended(child))


async def test_children_that_a_program_leaves_behind_are_ended_and_do_not_hold_it_up(
    stdin: Path, tmp_path: Path
) -> None:
    ended = await run(stdin, PARENT, str(tmp_path / "pid"))
    assert ended.code == 0
    assert await until(lambda: has_ended(int(ended.output)))


@pytest.mark.slow
async def test_a_program_that_does_not_listen_to_sigterm_is_killed(
    stdin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "GRACE_S", 0.1)
    program = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    with pytest.raises(ProgramFailed, match="not done"):
        await run(stdin, program, timeout_s=1)


async def test_a_runner_that_is_stopped_takes_its_program_with_it(stdin: Path, tmp_path: Path) -> None:
    path = tmp_path / "pid"
    task = asyncio.create_task(run(stdin, PARENT + "time.sleep(600)", str(path)))
    await until(lambda: path.exists() and path.read_text())
    child = int(path.read_text())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await until(lambda: has_ended(child))


@pytest.mark.parametrize("word", ["/no/such/program", "/etc", "nul\0"])
async def test_what_cannot_be_started_is_said(stdin: Path, word: str) -> None:
    before = open_files()
    with pytest.raises(ProgramFailed, match="cannot be started"):
        await run_group([word], stdin, {}, LONG_S)
    await asyncio.sleep(0)
    assert open_files() <= before


async def test_what_it_puts_out_is_heard_as_it_comes_and_a_flood_is_counted(stdin: Path, tmp_path: Path) -> None:
    heard: list[tuple[int, bytes, int]] = []

    def hear(stream: int, piece: bytes, left_out: int) -> None:
        heard.append((stream, piece, left_out))
        (tmp_path / "go").touch()

    program = """
import os, sys, time
print("first", flush=True)
while not os.path.exists(sys.argv[1]): time.sleep(0.01)
for _ in range(100): os.write(1, b"y" * 10_000)
os.write(2, b"a word")
"""
    ended = await run_group([sys.executable, "-c", program, str(tmp_path / "go")], stdin, {}, LONG_S, hear=hear)
    assert ended.code == 0
    assert heard[0] == (1, b"first\n", 0)
    assert sum(len(piece) + left_out for stream, piece, left_out in heard if stream == 1) == len(ended.output)
    assert (2, b"a word", 0) in heard
    assert max(len(piece) for _, piece, _ in heard) <= TOLD_BYTES_MAX
