"""Do joined executions share two pipes and nothing else, and does a program stand ready that is used once?"""

import asyncio
import contextlib
import marshal
from collections.abc import AsyncIterator
from dataclasses import replace
from textwrap import dedent

import pytest
import pytest_asyncio
from sandbox_programs import LIMITS, verify

from earnest.effects.ground.clock import SystemClock
from earnest.effects.hands.sandbox.api import (
    Execution,
    ExecutionStatus,
    Probe,
    Profile,
    Program,
    SandboxSettings,
    SelfTest,
)
from earnest.effects.hands.sandbox.available import open_sandbox
from earnest.effects.hands.sandbox.pool import KINDS_MAX, PLAIN
from earnest.effects.hands.sandbox.provider import BubblewrapSandbox

GREEN = SelfTest(provider="test", at_ms=0, probes=(Probe(name="any", held=True),))
ECHO = """
    import os
    while data := os.read(3, 1000):
        os.write(4, data.upper())
"""
ASK = """
    import os
    os.write(4, b"hello")
    print(os.read(3, 1000).decode(), end="")
"""


@pytest_asyncio.fixture
async def sandbox() -> AsyncIterator[BubblewrapSandbox]:
    one = await open_sandbox(SandboxSettings(pool=1), SystemClock())
    if not isinstance(one, BubblewrapSandbox):
        pytest.skip((await one.self_test()).problem)
    one._tested = GREEN
    yield one
    await one.close()


def program(source: str, entry: str = "here") -> Program:
    """A package `here` with a `main`, and a module that it may import."""
    modules = {"here": (True, source), "here.more": (False, "VALUE = 7")}
    compiled = {
        name: (is_package, marshal.dumps(compile(dedent(text), name, "exec")))
        for name, (is_package, text) in modules.items()
    }
    return Program(modules=compiled, imports=("json",), entry=entry)


def ready(it: Program, *arguments: str, joined: Execution | None = None) -> Execution:
    return Execution(profile=Profile.VERIFY, argv=arguments or ("x",), limits=LIMITS, program=it, joined=joined)


async def test_two_talk_and_the_end_of_one_is_seen_by_the_other(sandbox: BubblewrapSandbox) -> None:
    report = await sandbox.run(replace(verify(ASK), joined=verify(ECHO)))
    assert report.joined is not None
    assert (report.status, report.exit_code, report.stdout) == (ExecutionStatus.DONE, 0, b"HELLO")
    assert (report.joined.status, report.joined.exit_code) == (ExecutionStatus.DONE, 0)


async def test_they_have_five_descriptors_and_see_nothing_else_of_each_other(sandbox: BubblewrapSandbox) -> None:
    look = (
        "import os; print(sorted(os.listdir('/proc/self/fd'))[:5], os.listdir('/work'), len(os.listdir('/proc')) < 90)"
    )
    both = replace(
        verify(look + "; os.fstat(4); print(os.path.exists('/proc/self/fd/6'))", work={"mine": b""}),
        joined=verify("open('/tmp/theirs', 'w').write('x')", work={"theirs": b""}),
    )
    report = await sandbox.run(both)
    assert report.stdout == b"['0', '1', '2', '3', '4'] ['mine'] True\nFalse\n", report.stderr


async def test_each_has_its_own_limits(sandbox: BubblewrapSandbox) -> None:
    spinning = verify("while True: pass", limits=replace(LIMITS, cpu_ms=100))
    report = await sandbox.run(replace(verify("import os; os.read(3, 1); print('gone')"), joined=spinning))
    assert report.joined is not None
    assert report.joined.cpu_exceeded
    assert (report.status, report.stdout) == (ExecutionStatus.DONE, b"gone\n")


async def test_what_cannot_be_joined_is_refused_as_a_whole(sandbox: BubblewrapSandbox) -> None:
    report = await sandbox.run(replace(verify(ASK), joined=verify(ECHO, artifacts=("../x",))))
    assert (report.status, report.joined) == (ExecutionStatus.REFUSED, None)


async def test_cancelling_ends_both(sandbox: BubblewrapSandbox) -> None:
    task = asyncio.ensure_future(sandbox.run(replace(verify("input()"), joined=verify("import os; os.read(3, 1)"))))
    async with asyncio.timeout(10):
        while len(sandbox._launcher._boxes) < 2:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert (await sandbox.run(verify("print(1)"))).stdout == b"1\n"


async def test_a_program_runs_with_its_own_modules_and_the_standard_library(sandbox: BubblewrapSandbox) -> None:
    it = program(
        """
        import sys
        def main(arguments):
            from here.more import VALUE
            print(arguments, VALUE, "json" in sys.modules, sys.argv[0] != "-c")
            return 5
        """
    )
    report = await sandbox.run(ready(it, "a", "b"))
    assert (report.exit_code, report.stdout) == (5, b"['a', 'b'] 7 True True\n"), report.stderr


async def test_a_program_that_raises_ends_with_one_and_a_trace(sandbox: BubblewrapSandbox) -> None:
    report = await sandbox.run(ready(program("def main(arguments): raise ValueError('no')")))
    assert report.exit_code == 1
    assert b"ValueError: no" in report.stderr


async def test_a_program_that_cannot_be_loaded_is_refused(sandbox: BubblewrapSandbox) -> None:
    report = await sandbox.run(ready(program("import nothing_of_that_name")))
    assert report.status is ExecutionStatus.REFUSED


async def test_a_box_with_a_program_stands_ready_and_is_used_once(sandbox: BubblewrapSandbox) -> None:
    it = program("seen = []\ndef main(arguments):\n    seen.append(1)\n    print(len(seen))\n    return 0")
    for _ in range(3):
        assert (await sandbox.run(ready(it))).stdout == b"1\n"
        async with asyncio.timeout(20):
            while not sandbox._pool.boxes[PLAIN, it]:  # noqa: ASYNC110 - asked from outside
                await asyncio.sleep(0)


async def test_only_so_many_kinds_stand_ready(sandbox: BubblewrapSandbox) -> None:
    for number in range(KINDS_MAX + 2):
        it = program(f"def main(arguments):\n    print({number})\n    return 0")
        assert (await sandbox.run(ready(it))).stdout == b"%d\n" % number
    assert len(sandbox._pool.boxes) == KINDS_MAX


async def test_a_program_cannot_look_at_its_pid_1(sandbox: BubblewrapSandbox) -> None:
    it = program(
        """
        import os
        def main(arguments):
            for path in ("/proc/1/mem", "/proc/1/fd/0", "/proc/1/environ"):
                try:
                    open(path, "rb")
                except OSError:
                    continue
                return 1
            try:
                os.kill(1, 9)
            except OSError:
                pass
            return 0 if os.access("/proc/self/fd/0", os.F_OK) else 2
        """
    )
    assert (await sandbox.run(ready(it))).exit_code == 0
