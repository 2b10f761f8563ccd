"""What must hold for an ordinary user too; a program, so that it can be started with another uid."""

import asyncio
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

from earnest.effects.ground.clock import SystemClock
from earnest.effects.hands.sandbox.api import (
    MIB,
    Execution,
    ExecutionLimits,
    ExecutionReport,
    ExecutionStatus,
    Mount,
    Profile,
    SandboxSettings,
)
from earnest.effects.hands.sandbox.available import UnavailableSandbox, open_sandbox

LIMITS = ExecutionLimits(wall_ms=10_000, cpu_ms=5_000, memory_bytes=96 * MIB, processes=16, disk_bytes=16 * MIB)
DAEMON = """
    import os, time
    ready, told = os.pipe()
    if os.fork() == 0:
        os.setsid()
        os.write(told, b"+")
        time.sleep(600)
    os.read(ready, 1)
"""
BOMB = """
    import os, time
    while True:
        try:
            if os.fork() == 0: time.sleep(600)
        except OSError: time.sleep(0.01)
"""
WRITE = """
    import os
    open("new", "w").write("kept")
    try: open("source/text", "w")
    except OSError: print(open("source/text").read())
    try: os.kill(os.getppid(), 9)
    except OSError: pass
    try: os.listdir("/proc/1/fd")
    except OSError: print("out of reach")
"""


def program(source: str, limits: ExecutionLimits = LIMITS) -> Execution:
    return Execution(profile=Profile.VERIFY, argv=("python3", "-I", "-S", "-c", dedent(source)), limits=limits)


async def main(folder: Path) -> None:
    sandbox = await open_sandbox(SandboxSettings(), SystemClock())
    if isinstance(sandbox, UnavailableSandbox):
        print("SKIP", (await sandbox.self_test()).problem)
        return
    assert ", user, " in sandbox.description, sandbox.description
    test = await sandbox.self_test()
    assert test.green, test
    for name in ("work", "input"):
        (folder / name).mkdir(mode=0o700)
    (folder / "input" / "text").write_text("given")
    write = Execution(
        profile=Profile.WORK,
        argv=("python3", "-I", "-S", "-c", dedent(WRITE)),
        work=folder / "work",
        mounts=(Mount(source=folder / "input", target="source"),),
        limits=LIMITS,
    )
    reports = await asyncio.gather(
        sandbox.run(program(DAEMON)),
        sandbox.run(program(BOMB)),
        sandbox.run(program("held = b'x' * (200 << 20)\nimport time; time.sleep(60)")),
        sandbox.run(program("while True: pass", replace(LIMITS, cpu_ms=100))),
        sandbox.run(write),
    )
    judge(*reports)
    assert (folder / "work" / "new").read_text() == "kept"
    assert os.listdir(folder / "work") == ["new"]  # noqa: PTH208
    await sandbox.close()
    print("all kept")


def judge(
    daemon: ExecutionReport,
    bomb: ExecutionReport,
    memory: ExecutionReport,
    cpu: ExecutionReport,
    write: ExecutionReport,
) -> None:
    assert (daemon.status, daemon.exit_code, daemon.leftovers) == (ExecutionStatus.DONE, 0, 1), daemon
    assert (bomb.status, bomb.processes_exceeded) == (ExecutionStatus.KILLED, True), bomb
    assert (memory.status, memory.memory_exceeded) == (ExecutionStatus.KILLED, True), memory
    assert (cpu.status, cpu.cpu_exceeded) == (ExecutionStatus.KILLED, True), cpu
    assert (write.status, write.exit_code, write.stdout) == (ExecutionStatus.DONE, 0, b"given\nout of reach\n"), write


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))
