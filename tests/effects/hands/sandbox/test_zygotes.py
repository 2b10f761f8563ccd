"""Is a box that a zygote starts as tight as any, as new as any, and is nothing lost where there are no zygotes?"""

import asyncio
import marshal
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest
import pytest_asyncio
from sandbox_programs import LIMITS

from earnest.effects.ground.clock import SystemClock
from earnest.effects.hands.sandbox import wire
from earnest.effects.hands.sandbox.api import (
    Execution,
    ExecutionLimits,
    ExecutionReport,
    ExecutionStatus,
    Profile,
    Program,
    SandboxSettings,
    SelfTest,
)
from earnest.effects.hands.sandbox.attack import EXECUTES, is_by_zygote
from earnest.effects.hands.sandbox.available import open_sandbox
from earnest.effects.hands.sandbox.compiled import code_of
from earnest.effects.hands.sandbox.pool import PLAIN
from earnest.effects.hands.sandbox.provider import BubblewrapSandbox

ALLOW_ALL = bytes([6, 0, 0, 0, 0, 0, 0xFF, 0x7F])
LOOK = """
    import os, resource, socket

    def main(arguments):
        for line in open("/proc/self/status"):
            if line.startswith(("Uid", "Gid", "Groups", "Cap", "NoNewPrivs", "Seccomp", "Umask", "SigIgn", "SigBlk")):
                print(line, end="")
        for line in open("/proc/1/status"):
            if line.startswith(("Uid", "Cap", "NoNewPrivs", "Seccomp", "SigCgt")):
                print("pid 1", line, end="")
        mounts = {}
        for line in open("/proc/self/mountinfo"):
            place, options, kind = line.split()[4], line.split()[5], line.partition(" - ")[2].split()[0]
            mounts[place] = (options, kind)
        print(*sorted(mounts.items()), sep="\\n")
        for place in ("/", "/dev", "/dev/pts", "/proc", "/work", "/tmp", "/dev/shm", "/run/earnest", "/etc"):
            names = [name for name in os.listdir(place) if place != "/proc" or name.isdigit()]
            status = os.stat(place)
            owner = (status.st_uid, status.st_gid) if place != "/dev/pts" else "of nobody here"
            print(place, sorted(names), status.st_mode, owner)
        for name in ("RLIMIT_AS", "RLIMIT_CORE", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_NPROC", "RLIMIT_MEMLOCK"):
            print(name, resource.getrlimit(getattr(resource, name)))
        for place in ("/work", "/tmp", "/dev/shm"):
            print(place, os.statvfs(place).f_blocks, os.statvfs(place).f_bsize)
        print(os.getpid(), os.getppid(), os.getsid(0), os.getcwd(), dict(os.environ), socket.gethostname())
        print([os.ttyname(each) for each in os.openpty()][1:], sorted(os.listdir("/proc/self/fd")))
        print(socket.if_nameindex())
        with socket.create_server(("127.0.0.1", 7007)) as server:
            socket.create_connection(server.getsockname()).close()
        return 0
"""
LEAVE = """
    import os, signal, socket, sys, time
    seen = []

    def main(arguments):
        name = chr(0) + "left"
        found = [place for place in ("/work", "/tmp", "/dev/shm") if os.path.exists(place + "/left")]
        with socket.socket(socket.AF_UNIX) as there:
            found += ["a socket"] if there.connect_ex(name) == 0 else []
        found += ["a process"] if len([each for each in os.listdir("/proc") if each.isdigit()]) > 2 else []
        found += ["a module"] if seen or "left" in sys.modules else []
        found += ["a port"] if open("/proc/net/tcp").read().count(":") > 1 else []
        print(found)
        seen.append(1)
        sys.modules["left"] = sys
        for place in ("/work", "/tmp", "/dev/shm"):
            open(place + "/left", "w").close()
        with socket.create_server(("127.0.0.1", 7007)) as server:
            with socket.create_connection(server.getsockname()), server.accept()[0]:
                pass
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            for target in (1, os.getppid()):
                try:
                    os.kill(target, signal_number)
                except OSError:
                    pass
        if os.fork() == 0:
            os.setsid()
            keeping = socket.socket(socket.AF_UNIX)
            keeping.bind(name)
            keeping.listen()
            time.sleep(600)
        return 0
"""


def program(source: str) -> Program:
    return Program(
        modules={"here": (False, marshal.dumps(compile(dedent(source), "here", "exec")))},
        imports=("json",),
        entry="here",
    )


def asked(it: Program, limits: ExecutionLimits = LIMITS) -> Execution:
    return Execution(profile=Profile.VERIFY, argv=("x",), limits=limits, program=it)


async def opened(size: int = 1) -> BubblewrapSandbox:
    one = await open_sandbox(SandboxSettings(pool=size), SystemClock())
    if not isinstance(one, BubblewrapSandbox):
        pytest.skip((await one.self_test()).problem)
    return one


@pytest_asyncio.fixture
async def sandbox() -> AsyncIterator[BubblewrapSandbox]:
    one = await opened()
    one._tested = SelfTest(provider="test", at_ms=0, probes=(), problem="")
    one._pool.zygotes_hold = True
    yield one
    await one.close()


async def by_zygote(sandbox: BubblewrapSandbox, it: Program, limits: ExecutionLimits = LIMITS) -> ExecutionReport:
    """What came of it in such a box; skips where there are none."""
    report = await sandbox._admit(asked(it, limits))
    if sandbox._pool.no_zygotes:
        pytest.skip(sandbox._pool.no_zygotes)
    return report


def zygote_of(sandbox: BubblewrapSandbox, it: Program) -> int:
    """The number of the zygote whose box stands ready."""
    zygote = sandbox._pool.boxes[PLAIN, it][0].zygote
    assert zygote is not None
    return zygote.number


def end_all(sandbox: BubblewrapSandbox) -> None:
    """Kill every box from outside."""
    process = sandbox._launcher._process
    assert process is not None
    for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
        os.kill(int(pid), signal.SIGKILL)


async def test_it_is_as_tight_as_any_other(sandbox: BubblewrapSandbox) -> None:
    it = program(LOOK)
    report = await by_zygote(sandbox, it)
    assert report.exit_code == 0, report.stderr
    assert zygote_of(sandbox, it)
    sandbox._pool.zygotes_hold = False
    sandbox._pool.close()
    plain = await sandbox._admit(asked(it))
    assert report.stdout.decode().splitlines() == plain.stdout.decode().splitlines()


@pytest.mark.slow
async def test_nothing_is_left_for_the_next_one(sandbox: BubblewrapSandbox) -> None:
    it = program(LEAVE)
    zygotes = set()
    for _ in range(4):
        report = await by_zygote(sandbox, it)
        assert (report.status, report.stdout, report.leftovers) == (ExecutionStatus.DONE, b"[]\n", 1), report
        zygotes.add(zygote_of(sandbox, it))
    assert len(zygotes) == 1


@pytest.mark.slow
async def test_one_that_breaks_its_limits_leaves_its_zygote_whole(sandbox: BubblewrapSandbox) -> None:
    it = program(
        """
        import os, time
        def main(arguments):
            held = b"x" * (200 << 20)
            time.sleep(60)
        """
    )
    for _ in range(2):
        assert (await by_zygote(sandbox, it)).memory_exceeded
    bomb = program(
        "import os\ndef main(arguments):\n    while True:\n        try: os.fork()\n        except OSError: pass"
    )
    for _ in range(2):
        assert (await by_zygote(sandbox, bomb)).processes_exceeded


async def test_a_cancelled_one_ends_with_its_zygote(sandbox: BubblewrapSandbox) -> None:
    it = program("import time\ndef main(arguments):\n    time.sleep(int(arguments[0]))\n    return 0")
    await sandbox._admit(replace(asked(it), argv=("0",)))
    if sandbox._pool.no_zygotes:
        pytest.skip(sandbox._pool.no_zygotes)
    zygote = zygote_of(sandbox, it)
    task = asyncio.ensure_future(sandbox._admit(replace(asked(it), argv=("600",))))
    async with asyncio.timeout(10):
        while sandbox._pool.boxes[PLAIN, it]:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)
    assert zygote in sandbox._launcher._boxes
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert zygote not in sandbox._launcher._boxes


async def test_a_zygote_that_died_is_passed_over(sandbox: BubblewrapSandbox) -> None:
    it = program("def main(arguments):\n    print(1)\n    return 0")
    await by_zygote(sandbox, it)
    dead = zygote_of(sandbox, it)
    ended = sandbox._pool.boxes[PLAIN, it][0].ended
    end_all(sandbox)
    await asyncio.wait_for(asyncio.shield(ended), 30)  # what it said before it died may still be read
    assert (await by_zygote(sandbox, it)).stdout == b"1\n"
    assert zygote_of(sandbox, it) != dead


@pytest.mark.slow
async def test_where_no_box_can_start_another_all_runs_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    one = await opened()
    monkeypatch.setattr(wire, "ZYGOTE", "no.such.module")
    broken = marshal.dumps(compile("raise OSError", "x", "exec"))
    monkeypatch.setattr(wire, "code_of", lambda name: broken if name == "zygote" else code_of(name))
    test = await one.self_test()
    assert test.green, test.reason
    assert "no box can start another" in test.lack
    assert not any(map(is_by_zygote, test.probes))
    it = program("def main(arguments):\n    print(1)\n    return 0")
    assert (await one.run(asked(it))).stdout == b"1\n"
    assert all(box.zygote is None for box in one._pool.boxes[PLAIN, it])
    await one.close()


@pytest.mark.slow
async def test_they_are_used_only_where_the_self_test_tried_them(sandbox: BubblewrapSandbox) -> None:
    test = await sandbox.self_test()
    if sandbox._pool.no_zygotes:
        pytest.skip(sandbox._pool.no_zygotes)
    assert sandbox._pool.zygotes_hold
    untried = replace(test, probes=tuple(one for one in test.probes if not is_by_zygote(one)))
    sandbox._believe(untried)
    it = program("def main(arguments):\n    print(1)\n    return 0")
    assert (await sandbox.run(asked(it))).stdout == b"1\n"
    assert all(box.zygote is None for box in sandbox._pool.boxes[PLAIN, it])


@pytest.mark.slow
async def test_one_whose_boxes_have_a_hole_makes_the_sandbox_red(monkeypatch: pytest.MonkeyPatch) -> None:
    one = await opened()
    sound = wire.program_message
    monkeypatch.setattr(wire, "program_message", lambda it, zygote=None: sound(it, zygote and (ALLOW_ALL, zygote[1])))
    test = await one.self_test()
    if one._pool.no_zygotes:
        pytest.skip(one._pool.no_zygotes)
    assert not test.green
    assert all(map(is_by_zygote, (probe for probe in test.probes if not probe.held)))
    assert "make a user namespace" in test.reason
    assert (await one.run(asked(EXECUTES))).status is ExecutionStatus.REFUSED
    await one.close()
