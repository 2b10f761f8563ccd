"""Executions of small Python programs, for tests."""

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

from earnest.effects.hands.sandbox.api import MIB, Execution, ExecutionLimits, Mount, Profile

LIMITS = ExecutionLimits(wall_ms=10_000, cpu_ms=5_000, memory_bytes=128 * MIB, processes=16, disk_bytes=16 * MIB)


def verify(
    source: str,
    *arguments: str,
    limits: ExecutionLimits = LIMITS,
    work: Path | Mapping[str, bytes] | None = None,
    artifacts: tuple[str, ...] = (),
    mounts: tuple[Mount, ...] = (),
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
    network: bool = False,
) -> Execution:
    return Execution(
        profile=Profile.VERIFY,
        argv=("python", "-I", "-S", "-c", dedent(source), *arguments),
        limits=limits,
        work=work or {},
        artifacts=artifacts,
        mounts=mounts,
        stdin=stdin,
        environment=environment or {},
        network=network,
    )


def work(
    source: str, folder: Path, *arguments: str, limits: ExecutionLimits = LIMITS, mounts: tuple[Mount, ...] = ()
) -> Execution:
    argv = ("python", "-I", "-S", "-c", dedent(source), *arguments)
    return Execution(profile=Profile.WORK, argv=argv, limits=limits, work=folder, mounts=mounts)
