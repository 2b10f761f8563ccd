"""Does pid 1 see how every process ended, whatever the processes do?"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from textwrap import dedent

import pytest

from earnest.effects.ground.clock import SystemClock
from earnest.effects.hands.sandbox import launcher, tracing
from earnest.effects.hands.sandbox.api import (
    Execution,
    ExecutionLimits,
    ExecutionReport,
    Profile,
    Sandbox,
    SandboxSettings,
)
from earnest.effects.hands.sandbox.available import open_sandbox
from earnest.effects.hands.sandbox.seccomp import filter_bytes
from earnest.effects.hands.sandbox.selftest import UNTRACED
from earnest.effects.hands.tools.parts import RECORDED_MAX, CallParts, recorded


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    sandbox = await open_sandbox(SandboxSettings(pool=0), SystemClock())
    try:
        if not (tested := await sandbox.self_test()).green or tested.lack:
            pytest.skip(tested.reason or tested.lack)
        yield sandbox
    finally:
        await sandbox.close()


async def ran(sandbox: Sandbox, folder: Path, *argv: str, limits: ExecutionLimits | None = None) -> ExecutionReport:
    return await sandbox.run(
        Execution(profile=Profile.WORK, argv=argv, work=folder, limits=limits or ExecutionLimits())
    )


def python(source: str) -> tuple[str, ...]:
    return ("python3", "-I", "-S", "-c", dedent(source))


THREADS = """
    import os, subprocess, threading, time
    def start(n):
        subprocess.run(["/bin/sh", "-c", f"exit {n}"])
    threads = [threading.Thread(target=start, args=(n,)) for n in range(20, 28)]
    for each in threads: each.start()
    for each in threads: each.join()
    if os.fork() == 0:
        threading.Thread(target=lambda: os.execv("/bin/sh", ["sh", "-c", "exit 28"])).start()
        time.sleep(60)
    os.wait()
"""
STOPS = """
    import os, signal
    child = os.fork()
    if child == 0:
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(9)
    assert os.WIFSTOPPED(os.waitpid(child, os.WUNTRACED)[1])
    os.kill(child, signal.SIGCONT)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    signal.signal(signal.SIGUSR1, lambda *_: print("caught"))
    os.kill(os.getpid(), signal.SIGUSR1)
    if os.fork() == 0:
        os.setsid()
        os.kill(os.getpid(), signal.SIGKILL)
    os.wait()
"""


@pytest.mark.slow
async def test_threads_that_start_programs_or_become_one_are_followed(sandbox: Sandbox, tmp_path: Path) -> None:
    report = await ran(sandbox, tmp_path, *python(THREADS))
    assert (report.exit_code, report.stderr) == (0, b"")
    shells = [p.exit_code for p in report.processes if p.words.startswith(("/bin/sh", "sh"))]
    assert sorted(code or 0 for code in shells) == list(range(20, 29))


@pytest.mark.slow
async def test_stops_and_signals_reach_a_traced_program_as_any_other(sandbox: Sandbox, tmp_path: Path) -> None:
    report = await ran(sandbox, tmp_path, *python(STOPS))
    assert (report.exit_code, report.stdout, report.stderr) == (0, b"caught\n", b"")
    assert sorted(p.exit_code for p in report.processes if p.exit_code) == [-9, 9]


@pytest.mark.slow
async def test_what_appeared_while_a_process_lived_is_told_from_the_rest(sandbox: Sandbox, tmp_path: Path) -> None:
    line = "ls /nowhere; seq 3; python3 -c 'print(5)' > f; /bin/echo x >&2"
    report = await ran(sandbox, tmp_path, "/bin/sh", "-c", line)
    seen = {p.program.rpartition("/")[2][:6]: p for p in report.processes if p.program}
    assert (seen["ls"].out, seen["ls"].exit_code, seen["seq"].out) == ((0, 0), 2, (0, 6))
    assert seen["seq"].files == ("/dev/null", "stdout", "stderr")
    assert (seen["python"].files[1], seen["python"].holds) == ("/work/f", (False, True))
    assert report.stderr[slice(*seen["echo"].err)] == b"x\n"


@pytest.mark.slow
async def test_a_program_is_known_by_its_file_and_not_by_the_name_it_is_given(sandbox: Sandbox, tmp_path: Path) -> None:
    line = "cp /bin/echo pytest; ./pytest a; bash -c 'exec -a pytest echo b'"
    report = await ran(sandbox, tmp_path, "/bin/bash", "-c", line)
    named = [p.program for p in report.processes if p.words.startswith(("pytest\0", "./pytest\0"))]
    assert named[0] == "/work/pytest"
    assert named[1].endswith("/echo")


@pytest.mark.slow
async def test_a_run_that_is_ended_or_judged_is_reported_as_before(sandbox: Sandbox, tmp_path: Path) -> None:
    late = await ran(sandbox, tmp_path, *python("import time; time.sleep(60)"), limits=ExecutionLimits(wall_ms=200))
    assert late.timed_out
    judged = await sandbox.run(Execution(profile=Profile.VERIFY, argv=("true",)))
    assert (judged.exit_code, judged.processes) == (0, ())


@pytest.mark.slow
async def test_past_the_bound_nothing_is_believed_and_before_it_all(sandbox: Sandbox, tmp_path: Path) -> None:
    """Slow: it has to start more processes than the tracer keeps."""
    line = f"seq 3; for i in $(seq {tracing.IMAGES_MAX}); do /bin/true; done; seq 4"
    limits = ExecutionLimits(wall_ms=60_000, cpu_ms=60_000)
    report = await ran(sandbox, tmp_path, "/bin/sh", "-c", line, limits=limits)
    assert (report.exit_code, len(report.processes)) == (0, tracing.IMAGES_MAX + 1)
    for processes in (report.processes, recorded(report.processes, report.stdout, report.stderr)):
        first, *_, last = CallParts(processes).stretches()
        assert (first.end, first.against) == (6, "")
        assert last.against == "more processes ran than are recorded"
    assert len(processes) == RECORDED_MAX + 1


@pytest.mark.slow
async def test_where_nobody_may_trace_commands_run_and_the_self_test_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "filter_bytes", lambda machine, **_: filter_bytes(machine))
    untraced = await open_sandbox(SandboxSettings(pool=0), SystemClock())
    try:
        tested = await untraced.self_test()
        if tested.problem:
            pytest.skip(tested.problem)
        assert (tested.green, tested.lack) == (True, UNTRACED)
        reports = await asyncio.gather(*(ran(untraced, tmp_path, "/bin/sh", "-c", "seq 2; exit 4") for _ in range(2)))
        assert [(r.exit_code, r.stdout, r.processes) for r in reports] == [(4, b"1\n2\n", ())] * 2
    finally:
        await untraced.close()
