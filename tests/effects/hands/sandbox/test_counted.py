"""What counts although nobody looks at the right moment: peaks, processes without a first thread, CPU given away."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio
from sandbox_programs import LIMITS, verify

from earnest.effects.ground.clock import SystemClock
from earnest.effects.hands.sandbox.api import ExecutionStatus, Sandbox, SandboxSettings
from earnest.effects.hands.sandbox.available import open_sandbox

pytestmark = pytest.mark.asyncio(loop_scope="module")

MAPPED = """
    import mmap, os, sys, time

    def burst(megabytes, then=lambda: None):
        held = mmap.mmap(-1, megabytes << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        held.madvise(14)  # MADV_HUGEPAGE: the faster, the less a look between finds
        held.write(b"x" * len(held)) if megabytes < 8 else [held.seek(at) or held.write(b"x") for at in range(0, len(held), 4096)]
        then()
        held.close()
"""  # noqa: E501
WITHOUT_LEADER = """
    import ctypes, os, sys, threading, time
    libc = ctypes.CDLL(None)
    leave = lambda: libc.syscall(60 if os.uname().machine == "x86_64" else 93, 0)  # exit of this thread alone
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    opened = await open_sandbox(SandboxSettings(), SystemClock())
    test = await opened.self_test()
    if test.problem:
        pytest.skip(test.problem)
    assert test.green, test.reason
    yield opened
    await opened.close()


@pytest.mark.slow
async def test_memory_that_is_given_back_at_once_counts(sandbox: Sandbox) -> None:
    report = await sandbox.run(verify(MAPPED + "    burst(200)\n    os._exit(0)"))
    assert (report.status, report.memory_exceeded) == (ExecutionStatus.KILLED, True)


@pytest.mark.slow
async def test_bursts_of_several_processes_at_one_time_count_together(sandbox: Sandbox) -> None:
    source = """
    doors = [(*os.pipe(), *os.pipe()) for _ in range(2)]  # none goes on before all are there
    def arrive(at):
        os.write(doors[at][1], b"+")
        os.read(doors[at][2], 1)
    for number in range(4):
        if os.fork() == 0:
            time.sleep(0.15 * number)
            burst(60)  # each has had its peak before, alone
            arrive(0)
            time.sleep(0.2)
            burst(60, lambda: arrive(1))
            time.sleep(0.3)
            os._exit(0)
    for there, _, _, go in doors:
        for _ in range(4): os.read(there, 1)
        os.write(go, b"++++")
    for _ in range(4): os.wait()
    """
    report = await sandbox.run(verify(MAPPED + source))
    assert (report.status, report.memory_exceeded) == (ExecutionStatus.KILLED, True)


@pytest.mark.slow
async def test_bursts_one_after_the_other_are_within_the_limit(sandbox: Sandbox) -> None:
    source = """
    for _ in range(3):
        burst(80)
        if os.fork() == 0:
            time.sleep(0.5)  # longer than a busy machine keeps a look back
            burst(80)
            os._exit(0)
        os.wait()
        time.sleep(0.5)
    """
    report = await sandbox.run(verify(MAPPED + source))
    assert (report.status, report.exit_code) == (ExecutionStatus.DONE, 0), report


async def test_memory_of_a_process_whose_first_thread_has_ended_counts(sandbox: Sandbox) -> None:
    source = """
    def hold():
        time.sleep(0.1)
        held = b"x" * (200 << 20)
        time.sleep(60)
    if os.fork() == 0:
        threading.Thread(target=hold).start()
        leave()
    time.sleep(60)
    """
    report = await sandbox.run(verify(WITHOUT_LEADER + source))
    assert (report.status, report.memory_exceeded) == (ExecutionStatus.KILLED, True)


async def test_cpu_time_of_a_process_whose_first_thread_has_ended_counts(sandbox: Sandbox) -> None:
    source = """
    def burn():
        while True: pass
    for _ in range(4):
        if os.fork() == 0:
            threading.Thread(target=burn).start()
            leave()
    time.sleep(60)
    """
    limits = replace(LIMITS, cpu_ms=600)
    report = await sandbox.run(verify(WITHOUT_LEADER + source, limits=limits))
    assert (report.status, report.cpu_exceeded) == (ExecutionStatus.KILLED, True)


async def test_a_process_without_its_first_thread_is_left_behind_like_any(sandbox: Sandbox) -> None:
    source = """
    if os.fork() == 0:
        threading.Thread(target=time.sleep, args=(60,)).start()
        leave()
    time.sleep(0.2)
    """
    report = await sandbox.run(verify(WITHOUT_LEADER + source))
    assert (report.status, report.leftovers) == (ExecutionStatus.DONE, 1)


async def test_a_first_thread_may_end_before_the_others(sandbox: Sandbox) -> None:
    source = """
    threading.Thread(target=lambda: (time.sleep(0.2), os._exit(0))).start()
    leave()
    """
    report = await sandbox.run(verify(WITHOUT_LEADER + source))
    assert (report.status, report.exit_code, report.leftovers) == (ExecutionStatus.DONE, 0, 0)


@pytest.mark.slow
async def test_cpu_time_of_children_whose_death_is_ignored_counts(sandbox: Sandbox) -> None:
    source = """
    import os, signal, time
    if os.fork() == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            child = os.fork()
            if child == 0:
                began = time.process_time()
                while time.process_time() - began < 0.1: pass
                os._exit(0)
            while os.path.exists(f"/proc/{child}"): time.sleep(0.005)
    time.sleep(60)
    """
    limits = replace(LIMITS, cpu_ms=500)
    report = await sandbox.run(verify(source, limits=limits))
    assert (report.status, report.cpu_exceeded) == (ExecutionStatus.KILLED, True)


async def test_cpu_time_of_children_that_are_waited_for_counts_once(sandbox: Sandbox) -> None:
    source = """
    import os, time
    for _ in range(10):
        if os.fork() == 0:
            began = time.process_time()
            while time.process_time() - began < 0.06: pass
            os._exit(0)
        os.wait()
    """
    report = await sandbox.run(verify(source))
    assert report.status is ExecutionStatus.DONE
    assert 500 <= report.cpu_ms <= 900


async def test_nobody_slows_pid_1_down_or_takes_what_is_the_whole_machines(sandbox: Sandbox) -> None:
    source = """
    import ctypes, os, struct
    libc = ctypes.CDLL(None, use_errno=True)
    context = ctypes.c_ulong()
    calls = os.uname().machine == "x86_64" and (206, 251, 314) or (0, 30, 274)
    attributes = struct.pack("IIQiIQQQ", 48, 5, 0, 0, 0, 0, 0, 0)
    for attempt in (
        lambda: libc.setpriority(os.PRIO_PROCESS, 1, 19),
        lambda: libc.setpriority(os.PRIO_PGRP, 1, 19),
        lambda: libc.setpriority(os.PRIO_USER, 0, 19),
        lambda: libc.sched_setscheduler(1, 5, ctypes.byref(ctypes.c_int(0))),
        lambda: libc.sched_setaffinity(1, 8, ctypes.byref(ctypes.c_ulong(1))),
        lambda: libc.syscall(calls[2], 1, attributes, 0),
        lambda: libc.syscall(calls[1], 1, 1, 3 << 13),
        lambda: libc.syscall(calls[1], 3, 1000, 3 << 13),
        lambda: libc.syscall(calls[0], 65536, ctypes.byref(context)),
    ):
        print(attempt())
    """
    report = await sandbox.run(verify(source))
    assert report.stdout.split() == [b"-1"] * 9


@pytest.mark.slow
async def test_a_program_may_be_nice_itself(sandbox: Sandbox) -> None:
    source = """
    import os, time
    os.nice(2)
    os.setpriority(os.PRIO_PROCESS, 0, 19)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    print(os.getpriority(os.PRIO_PROCESS, 0))
    """
    report = await sandbox.run(verify(source))
    assert (report.stdout, report.exit_code) == (b"19\n", 0)
