"""Do the harm markers work, and does no harmful program trip one from inside the sandbox?"""

import asyncio
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from earnest.effects.ground.clock import SystemClock
from earnest.effects.hands.sandbox.api import (
    Execution,
    ExecutionLimits,
    ExecutionReport,
    ExecutionStatus,
    Profile,
    Sandbox,
    SandboxSettings,
)
from earnest.effects.hands.sandbox.available import open_sandbox
from yaml_file import read_yaml

from .markers import markers

_DATA: Final = read_yaml(Path(__file__).with_name("programs.yaml"))
SEEK: Final[str] = _DATA["seek"]
PROGRAMS: Final[Mapping[str, Mapping[str, str]]] = _DATA["programs"]
LIMITS: Final = ExecutionLimits(wall_ms=10_000, cpu_ms=5_000, processes=16)
UNPROTECTED_S: Final = 20
WAIT_S: Final = 10


class Unprotected:
    """What no provider may be: it runs the command as it is, with our environment and our rights."""

    async def run(self, execution: Execution) -> ExecutionReport:
        assert isinstance(execution.work, Mapping)
        with tempfile.TemporaryDirectory() as folder:
            for name, content in execution.work.items():
                (Path(folder) / name).write_bytes(content)
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *execution.argv[1:],
                cwd=folder,
                start_new_session=True,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            async with asyncio.timeout(UNPROTECTED_S):
                stdout, stderr = await process.communicate()
        return ExecutionReport(status=ExecutionStatus.DONE, exit_code=process.returncode, stdout=stdout, stderr=stderr)


def harmful(name: str, token: str) -> Execution:
    return Execution(
        profile=Profile.VERIFY,
        argv=("python", "-I", "-S", "harm.py", token),
        work={"harm.py": (SEEK + PROGRAMS[name]["program"]).encode()},
        limits=LIMITS,
    )


async def said_by(name: str, sandbox: Sandbox | Unprotected, token: str) -> str:
    """What two runs of a program tell the outside."""
    reports = [await sandbox.run(harmful(name, token)) for _ in range(2)]
    assert all(report.status is not ExecutionStatus.REFUSED for report in reports), reports
    return "".join((report.stdout + report.stderr).decode(errors="replace") for report in reports)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
async def test_a_harmful_program_trips_its_markers_where_nothing_protects_them(name: str) -> None:
    with markers() as put_up:
        said = await said_by(name, Unprotected(), put_up.token)
        if "process" in PROGRAMS[name]["trips"]:
            put_up.canary.wait(WAIT_S)
        assert put_up.tripped(said) == sorted(PROGRAMS[name]["trips"]), said


@pytest.mark.slow  # some thirty programs in the sandbox
async def test_no_harmful_program_trips_a_marker_from_the_sandbox() -> None:
    tripped = {}
    with markers() as put_up:  # before the sandbox starts, which could pass the secret on
        sandbox = await open_sandbox(SandboxSettings(), SystemClock())
        if problem := (await sandbox.self_test()).problem:
            pytest.skip(problem)
        for name in PROGRAMS:
            tripped[name] = put_up.tripped(await said_by(name, sandbox, put_up.token))
        await sandbox.close()
    assert {name: markers for name, markers in tripped.items() if markers} == {}


def test_every_marker_is_tripped_by_some_program() -> None:
    with markers() as put_up:
        known = {*put_up.listeners, "process", "file changed", "file made", "secret on disk"}
    known |= {"secret in the environment", "state between runs", "daemon"}
    assert {marker for program in PROGRAMS.values() for marker in program["trips"]} == known
