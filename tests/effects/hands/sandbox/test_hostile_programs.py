"""What do hostile programs achieve in the real sandbox? Every limit, every way out, every forged report."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
from sandbox_programs import LIMITS, verify, work

from earnest.effects.ground.clock import SystemClock
from earnest.effects.hands.sandbox.api import MIB, Execution, ExecutionStatus, Mount, Profile, Sandbox, SandboxSettings
from earnest.effects.hands.sandbox.available import open_sandbox

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    opened = await open_sandbox(SandboxSettings(), SystemClock())
    test = await opened.self_test()
    if test.problem:
        pytest.skip(test.problem)
    assert test.green, test.reason
    yield opened
    await opened.close()


# Limits


async def test_a_fork_bomb_is_bounded_and_ended(sandbox: Sandbox) -> None:
    report = await sandbox.run(verify("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"))
    assert report.status is ExecutionStatus.KILLED
    assert report.processes_exceeded or report.cpu_exceeded
    assert not report.timed_out
    assert report.cpu_ms < 2 * LIMITS.cpu_ms  # of two cores in so many seconds, however busy they are


async def test_endless_output_ends_the_run_and_fills_nothing(sandbox: Sandbox) -> None:
    flood = "import os\nblock = b'x' * 65536\nfor _ in range(16384): os.write(1, block)"
    report = await sandbox.run(verify(flood))
    assert (report.status, report.output_exceeded) == (ExecutionStatus.KILLED, True)
    assert len(report.stdout) == LIMITS.output_bytes


async def test_output_up_to_the_limit_arrives_whole(sandbox: Sandbox) -> None:
    limits = replace(LIMITS, output_bytes=300_000)
    source = "import sys; sys.stdout.write('x' * 300_000); sys.stderr.write('y' * 300_000)"
    report = await sandbox.run(verify(source, limits=limits))
    assert (report.status, report.stdout, report.stderr) == (ExecutionStatus.DONE, b"x" * 300_000, b"y" * 300_000)


async def test_binary_output_arrives_as_it_is(sandbox: Sandbox) -> None:
    report = await sandbox.run(verify("import os; os.write(1, bytes(range(256)) * 9)"))
    assert report.stdout == bytes(range(256)) * 9


async def test_memory_counts_over_children(sandbox: Sandbox) -> None:
    source = """
        import os, time
        for _ in range(3):
            if os.fork() == 0: break
        held = b"x" * (48 << 20)
        time.sleep(60)
    """
    report = await sandbox.run(verify(source))
    assert (report.status, report.memory_exceeded) == (ExecutionStatus.KILLED, True)


async def test_memory_shared_by_children_counts_once(sandbox: Sandbox) -> None:
    source = """
        import os, time
        held = b"x" * (64 << 20)
        children = []
        for _ in range(4):
            pid = os.fork()
            if pid == 0:
                time.sleep(0.1)
                os._exit(0)
            children.append(pid)
        for pid in children: os.waitpid(pid, 0)
    """
    report = await sandbox.run(verify(source))
    assert (report.status, report.exit_code) == (ExecutionStatus.DONE, 0), report


@pytest.mark.parametrize("call", ["os.memfd_create('x')", "__import__('ctypes').CDLL(None).shmget(0, 1 << 20, 0o1600)"])
async def test_memory_that_belongs_to_no_process_is_not_given(sandbox: Sandbox, call: str) -> None:
    source = f"""
        import os
        try: result = {call}
        except OSError: result = -1
        print(result)
    """
    report = await sandbox.run(verify(source))
    assert report.stdout == b"-1\n"


async def test_a_busy_loop_ends_at_its_cpu_time(sandbox: Sandbox) -> None:
    report = await sandbox.run(verify("while True: pass", limits=replace(LIMITS, cpu_ms=200)))
    assert (report.status, report.cpu_exceeded) == (ExecutionStatus.KILLED, True)
    assert report.cpu_ms >= 200


async def test_cpu_time_of_dead_children_counts(sandbox: Sandbox) -> None:
    source = """
        import os, time
        while True:
            pid = os.fork()
            if pid == 0:
                end = time.process_time() + 0.02
                while time.process_time() < end: pass
                os._exit(0)
            os.waitpid(pid, 0)
    """
    report = await sandbox.run(verify(source, limits=replace(LIMITS, cpu_ms=300)))
    assert (report.status, report.cpu_exceeded) == (ExecutionStatus.KILLED, True)


async def test_a_sleeper_ends_at_its_wall_time(sandbox: Sandbox) -> None:
    report = await sandbox.run(verify("import time; time.sleep(60)", limits=replace(LIMITS, wall_ms=150)))
    assert (report.status, report.timed_out, report.exit_code) == (ExecutionStatus.KILLED, True, None)
    assert report.broken_limit == "wall time"


@pytest.mark.parametrize("place", ["/work/a", "/tmp/a", "/dev/shm/a"])
async def test_a_disk_filler_is_ended(sandbox: Sandbox, place: str) -> None:
    source = """
        import sys, time
        with open(sys.argv[1], "wb", buffering=0) as file:
            try:
                while file.write(b"x" * (1 << 20)): pass
            except OSError: pass
            time.sleep(60)
    """
    report = await sandbox.run(verify(source, place))
    assert (report.status, report.disk_exceeded) == (ExecutionStatus.KILLED, True)


@pytest.mark.slow
async def test_an_inode_filler_is_ended(sandbox: Sandbox) -> None:
    source = "n = 0\nwhile True:\n    open(f'/tmp/{n}', 'w').close()\n    n += 1"
    report = await sandbox.run(verify(source, limits=replace(LIMITS, cpu_ms=20_000, wall_ms=20_000)))
    assert (report.status, report.disk_exceeded) == (ExecutionStatus.KILLED, True)


async def test_a_file_does_not_grow_past_its_limit(sandbox: Sandbox) -> None:
    source = """
        import signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with open("/work/a", "wb", buffering=0) as file:
            try:
                while file.write(b"x" * 4096): pass
            except OSError as error: print(error.errno)
    """
    report = await sandbox.run(verify(source, limits=replace(LIMITS, file_bytes=8192), artifacts=("a",)))
    assert report.stdout == b"27\n"
    assert len(report.artifacts["a"]) == 8192


async def test_a_program_that_fills_a_bound_folder_is_ended(sandbox: Sandbox, tmp_path: Path) -> None:
    source = """
        import time
        for number in range(20):
            open(f"/work/{number}", "wb").write(b"x" * (1 << 20))
        time.sleep(60)
    """
    report = await sandbox.run(work(source, tmp_path))
    assert (report.status, report.disk_exceeded) == (ExecutionStatus.KILLED, True)


async def test_limits_cannot_be_raised_again(sandbox: Sandbox) -> None:
    source = """
        import resource
        for name in ("NPROC", "NOFILE", "FSIZE", "CORE", "CPU", "AS"):
            number = getattr(resource, "RLIMIT_" + name)
            try: resource.setrlimit(number, (1 << 40, 1 << 40))
            except (ValueError, OSError): print("no")
    """
    report = await sandbox.run(verify(source))
    assert report.stdout == b"no\n" * 6


# Processes that stay


async def test_a_leftover_daemon_is_counted_and_holds_nothing_up(sandbox: Sandbox) -> None:
    source = """
        import os, time
        ready, told = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.write(told, b"+")
                time.sleep(600)
            os._exit(0)
        os.read(ready, 1)
        print("over")
    """
    report = await sandbox.run(verify(source))
    assert (report.status, report.exit_code, report.leftovers) == (ExecutionStatus.DONE, 0, 1)
    assert report.stdout == b"over\n"
    assert report.wall_ms < 5_000


async def test_helpers_that_end_with_the_program_are_no_leftovers(sandbox: Sandbox) -> None:
    source = """
        import os
        alive, held = os.pipe()
        if os.fork() == 0:
            os.close(held)
            os.read(alive, 1)
            os._exit(0)
    """
    report = await sandbox.run(verify(source))
    assert (report.status, report.leftovers) == (ExecutionStatus.DONE, 0)


async def test_exit_codes_and_deaths_are_told_apart(sandbox: Sandbox) -> None:
    seven, killed = await asyncio.gather(
        sandbox.run(verify("import sys; sys.exit(7)")), sandbox.run(verify("import os; os.kill(os.getpid(), 9)"))
    )
    assert (seven.status, seven.exit_code) == (ExecutionStatus.DONE, 7)
    assert (killed.status, killed.exit_code) == (ExecutionStatus.DONE, -9)


# Artifacts


async def test_a_regular_file_comes_back(sandbox: Sandbox) -> None:
    source = "import os; os.makedirs('a/b'); open('a/b/c', 'wb').write(bytes(range(256)))"
    report = await sandbox.run(verify(source, artifacts=("a/b/c", "missing")))
    assert dict(report.artifacts) == {"a/b/c": bytes(range(256))}


@pytest.mark.parametrize(
    "make",
    [
        "os.symlink('/etc/passwd', 'a')",
        "os.symlink('real', 'a')",
        "os.link('real', 'a')",
        "os.mkfifo('a')",
        "os.mkdir('a')",
        "__import__('socket').socket(1).bind('a')",
        "[open('a', 'wb').write(b'x'), os.chmod('a', 0)]",
    ],
)
async def test_what_is_no_plain_file_does_not_come_back(sandbox: Sandbox, make: str) -> None:
    source = f"import os\nopen('real', 'w').write('x')\n{make}"
    report = await sandbox.run(verify(source, artifacts=("a",)))
    assert (report.status, report.exit_code, dict(report.artifacts)) == (ExecutionStatus.DONE, 0, {}), report


async def test_sparse_files_do_not_come_back_beyond_the_disk_limit(sandbox: Sandbox) -> None:
    source = "for name in 'abc': open(name, 'wb').truncate(8 << 20)"
    report = await sandbox.run(verify(source, artifacts=("a", "b", "c")))
    assert [(name, len(content)) for name, content in report.artifacts.items()] == [("a", 8 << 20), ("b", 8 << 20)]


async def test_a_program_begins_with_three_descriptors(sandbox: Sandbox) -> None:
    report = await sandbox.run(verify("import os; print(sorted(os.listdir('/proc/self/fd')))"))
    assert report.stdout == b"['0', '1', '2', '3']\n"  # the last one reads the list


async def test_a_folder_that_is_a_link_is_not_followed(sandbox: Sandbox) -> None:
    source = "import os; os.mkdir('/tmp/x'); open('/tmp/x/f', 'w').write('x'); os.symlink('/tmp/x', 'd')"
    report = await sandbox.run(verify(source, artifacts=("d/f",)))
    assert dict(report.artifacts) == {}


@pytest.mark.parametrize("path", ["/etc/passwd", "../etc/passwd", "a/../../b", "", "a\0b"])
async def test_an_artifact_outside_is_refused(sandbox: Sandbox, path: str) -> None:
    report = await sandbox.run(verify("", artifacts=(path,)))
    assert report.status is ExecutionStatus.REFUSED


# Ways out

HELD = "held"

ATTEMPTS = {
    "read the shadow file": "open('/etc/shadow').read()",
    "read the host's users": "assert 'daemon' in open('/etc/passwd').read()",
    "look into /sys": "os.listdir('/sys')",
    "reach the network": "socket.create_connection(('127.0.0.1', 22), 1)",
    "reach an address": "socket.socket(2, 2).connect(('192.0.2.1', 53))",
    "open a vsock": "socket.socket(40, 1)",
    "open a packet socket": "socket.socket(17, 3)",
    "make a user namespace": "done(libc.unshare(0x10000000))",
    "make a mount namespace": "done(libc.unshare(0x20000))",
    "clone into a namespace": "done(libc.syscall(x86(56, 220), 0x10000000 | 17, 0, 0, 0, 0))",
    "mount": "done(libc.mount(b'x', b'/tmp', b'tmpfs', 0, None))",
    "change the root": "os.chroot('/tmp')",
    "trace pid 1": "done(libc.ptrace(16, 1, 0, 0))",
    "trace a child": "done(libc.ptrace(0, 0, 0, 0))",
    "read the memory of pid 1": "open('/proc/1/mem', 'rb')",
    "list the descriptors of pid 1": "os.listdir('/proc/1/fd')",
    "open the channel of pid 1": "open('/proc/1/fd/0', 'wb')",
    "read the environment of pid 1": "open('/proc/1/environ', 'rb').read()",
    "enter the root of pid 1": "os.listdir('/proc/1/root')",
    "limit pid 1": "resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0))",
    "take a descriptor of pid 1": "done(libc.syscall(438, os.pidfd_open(1), 0, 0))",
    "load the kernel's keys": "done(libc.syscall(x86(250, 219), 0, -3, 1))",
    "set up io_uring": "done(libc.syscall(425, 1, ctypes.create_string_buffer(256)))",
    "plant a set-id file": "os.chmod(open('/work/s', 'w').name, 0o4755)",
    "create a set-id file": "os.open('/work/t', os.O_CREAT | os.O_WRONLY, 0o4755)",
    "write to the root": "open('/x', 'w')",
    "write to /dev": "open('/dev/x', 'w')",
    "write to /usr": "open('/usr/x', 'w')",
    "write to the interpreter": "open(os.path.join(sys.base_prefix, 'x'), 'w')",
    "write to /proc/sys": "open('/proc/sys/kernel/core_pattern', 'w')",
    "push terminal input": "done(__import__('fcntl').ioctl(0, 0x5412, b'x'))",
    "hold a capability": "assert 'CapPrm:\t0000000000000000' not in open('/proc/self/status').read()",
    "see other processes": "assert len([p for p in os.listdir('/proc') if p.isdigit()]) > 2",
}
ATTACKER = """
    import ctypes, os, resource, socket, sys
    libc = ctypes.CDLL(None, use_errno=True)
    def done(result):
        if result == -1: raise OSError(ctypes.get_errno(), "no")
    def x86(number, on_arm): return number if os.uname().machine == "x86_64" else on_arm
    for name, code in zip(sys.argv[1::2], sys.argv[2::2]):
        try: exec(code)
        except (OSError, ValueError, AssertionError): print(name, "held", sep=": ")
        else: print(name, "FALLEN", sep=": ")
"""


async def test_no_way_out_is_open(sandbox: Sandbox) -> None:
    arguments = [part for pair in ATTEMPTS.items() for part in pair]
    report = await sandbox.run(verify(ATTACKER, *arguments))
    assert report.stdout.decode().splitlines() == [f"{name}: {HELD}" for name in ATTEMPTS], report.stderr.decode()


async def test_the_same_ways_are_closed_in_a_bound_folder(sandbox: Sandbox, tmp_path: Path) -> None:
    arguments = [part for pair in ATTEMPTS.items() for part in pair]
    report = await sandbox.run(work(ATTACKER, tmp_path, *arguments))
    assert report.stdout.decode().splitlines() == [f"{name}: {HELD}" for name in ATTEMPTS], report.stderr.decode()


async def test_signals_to_pid_1_change_nothing(sandbox: Sandbox) -> None:
    source = """
        import os
        for number in range(1, 65):
            for target in (1, -1):
                try:
                    if target == 1 or number in (18, 23, 28): os.kill(target, number)
                except OSError: pass
        print("still here")
    """
    report = await sandbox.run(verify(source))
    assert (report.status, report.exit_code, report.stdout) == (ExecutionStatus.DONE, 0, b"still here\n")


async def test_closing_and_writing_to_every_descriptor_forges_nothing(sandbox: Sandbox) -> None:
    source = """
        import os
        forged = b"0 0 0 0 0 0 0 0 0 0 0 4 0 0" + chr(10).encode() + b"good"
        for fd in range(64):
            try: os.write(fd, forged)
            except OSError: pass
        for fd in range(64):
            try: os.close(fd)
            except OSError: pass
        os._exit(3)
    """
    report = await sandbox.run(verify(source))
    assert (report.status, report.exit_code) == (ExecutionStatus.DONE, 3)
    assert report.stdout.startswith(b"0 0 0")


async def test_killing_everybody_ends_only_oneself(sandbox: Sandbox) -> None:
    report = await sandbox.run(verify("import os; os.fork(); os.kill(-1, 9); os.kill(os.getpid(), 9)"))
    assert report.status is ExecutionStatus.DONE
    assert report.exit_code == -9


# Input


async def test_a_large_stdin_is_read_whole_or_left(sandbox: Sandbox) -> None:
    data = b"0123456789" * 300_000
    read, left = await asyncio.gather(
        sandbox.run(verify("import sys; print(len(sys.stdin.buffer.read()))", stdin=data)),
        sandbox.run(verify("print('no thanks')", stdin=data)),
    )
    assert (read.stdout, left.stdout) == (b"3000000\n", b"no thanks\n")


async def test_without_stdin_there_is_an_empty_one(sandbox: Sandbox) -> None:
    report = await sandbox.run(verify("import sys; print(repr(sys.stdin.read()))"))
    assert report.stdout == b"''\n"


async def test_a_program_that_is_not_there_ends_with_127(sandbox: Sandbox) -> None:
    report = await sandbox.run(Execution(profile=Profile.VERIFY, argv=("no-such-program",)))
    assert (report.status, report.exit_code) == (ExecutionStatus.DONE, 127)
    assert b"no-such-program" in report.stderr or b"No such file" in report.stderr


async def test_arguments_that_the_kernel_does_not_take_end_with_127(sandbox: Sandbox) -> None:
    report = await sandbox.run(Execution(profile=Profile.VERIFY, argv=("echo", "x" * (1 << 20))))
    assert (report.status, report.exit_code) == (ExecutionStatus.DONE, 127)


async def test_many_arguments_arrive(sandbox: Sandbox) -> None:
    report = await sandbox.run(verify("import sys; print(len(sys.argv))", *["x" * 100] * 5_000))
    assert report.stdout == b"5001\n"


@pytest.mark.parametrize("argv", [(), ("a\0b",)])
async def test_a_command_that_cannot_be_is_refused(sandbox: Sandbox, argv: tuple[str, ...]) -> None:
    assert (await sandbox.run(Execution(profile=Profile.VERIFY, argv=argv))).status is ExecutionStatus.REFUSED


async def test_the_environment_holds_what_was_given_and_no_more(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "x")
    report = await sandbox.run(verify("import os; print(sorted(os.environ))", environment={"GIVEN": "1"}))
    assert report.stdout == b"['GIVEN', 'HOME', 'LANG', 'PATH']\n"


async def test_files_and_folders_are_copied_and_the_originals_stay(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "a" / "run").write_text("#!/bin/sh\necho ran\n")
    (tmp_path / "a" / "run").chmod(0o700)
    (tmp_path / "out").symlink_to("/etc/shadow")
    source = """
        import os, subprocess
        print(sorted(os.listdir()), os.readlink("out"), os.path.exists("out"), subprocess.check_output(["a/run"]))
        open("a/run", "w").write("changed")
    """
    report = await sandbox.run(verify(source, work=tmp_path))
    assert report.stdout == b"['a', 'empty', 'out'] /etc/shadow False b'ran\\n'\n", report
    assert (tmp_path / "a" / "run").read_text() == "#!/bin/sh\necho ran\n"


async def test_work_that_does_not_fit_is_refused(sandbox: Sandbox) -> None:
    limits = replace(LIMITS, disk_bytes=1000)
    report = await sandbox.run(verify("", work={"a": b"x" * 1001}, limits=limits))
    assert report.status is ExecutionStatus.REFUSED


# A bound folder


@pytest.fixture
def private_folder(tmp_path: Path) -> Path:
    (tmp_path / "old").write_text("1")
    tmp_path.chmod(0o700)
    return tmp_path


def owner(path: Path) -> int:
    return path.stat().st_uid


async def test_what_is_written_under_work_stays_and_belongs_to_us(sandbox: Sandbox, private_folder: Path) -> None:
    source = "open('old', 'w').write('2'); import os; os.mkdir('new'); open('new/file', 'w').write('3')"
    report = await sandbox.run(work(source, private_folder))
    assert (report.status, report.exit_code) == (ExecutionStatus.DONE, 0), report
    assert (private_folder / "old").read_text() == "2"
    assert (private_folder / "new" / "file").read_text() == "3"
    assert owner(private_folder / "new" / "file") == owner(private_folder)
    (private_folder / "new" / "file").unlink()


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


async def test_a_mount_is_read_only_unless_it_is_granted(sandbox: Sandbox, tmp_path: Path) -> None:
    for name in ("work", "source", "granted"):
        (tmp_path / name).mkdir(mode=0o700)
    (tmp_path / "source" / "text").write_text("read me")
    (tmp_path / "single").write_text("one file")
    mounts = (
        Mount(source=tmp_path / "source", target="source"),
        Mount(source=tmp_path / "granted", target="/data/granted", writable=True),
        Mount(source=tmp_path / "single", target="single"),
    )
    source = """
        print(open("source/text").read(), open("/work/single").read())
        open("/data/granted/new", "w").write("x")
        try: open("source/text", "w")
        except OSError: print("no")
    """
    report = await sandbox.run(work(source, tmp_path / "work", mounts=mounts))
    assert report.stdout == b"read me one file\nno\n", report
    assert (tmp_path / "granted" / "new").read_text() == "x"
    assert names(tmp_path / "work") == []


@pytest.mark.parametrize("target", ["/", "/proc", "/usr/bin", "../etc", "/run/earnest", "a\0"])
async def test_a_mount_at_a_place_of_ours_is_refused(sandbox: Sandbox, tmp_path: Path, target: str) -> None:
    report = await sandbox.run(work("", tmp_path, mounts=(Mount(source=tmp_path, target=target),)))
    assert report.status is ExecutionStatus.REFUSED


async def test_a_source_that_is_not_there_is_refused(sandbox: Sandbox, tmp_path: Path) -> None:
    report = await sandbox.run(work("", tmp_path, mounts=(Mount(source=tmp_path / "none", target="none"),)))
    assert report.status is ExecutionStatus.REFUSED


async def test_the_interpreter_inside_is_ours(sandbox: Sandbox) -> None:
    import sys

    source = "import sys; print(sys.base_prefix, sys.version_info[:2])"
    three = Execution(profile=Profile.VERIFY, argv=("python3", "-I", "-c", source), limits=LIMITS)
    report = await sandbox.run(three)
    assert report.stdout.decode() == f"{sys.base_prefix} {sys.version_info[:2]}\n"


@pytest.mark.slow
async def test_memory_given_back_in_time_is_no_offence(sandbox: Sandbox) -> None:
    report = await sandbox.run(verify("x = b'x' * (32 << 20)"))
    assert (report.status, report.memory_exceeded) == (ExecutionStatus.DONE, False)
    assert 32 * MIB < report.memory_peak_bytes < 128 * MIB
