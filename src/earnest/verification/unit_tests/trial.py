"""One run of tests against one submission: its executions, and what they counted."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from earnest.effects.hands.sandbox.api import MIB, Execution, ExecutionLimits, ExecutionReport, ExecutionStatus, Profile
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.foundation.errors import Unavailable
from earnest.verification.plugin import CheckTools
from earnest.verification.strict_json import NotStrictJson, strict_json
from earnest.verification.unit_tests.programs import submission_program, tests_program
from earnest.verification.unit_tests.volume import is_flood

TESTS_WALL_MS: Final = 2_000  # beyond that of the submission, so that who hangs is found out first
TESTS_MEMORY_BYTES: Final = 512 * MIB
TESTS_CPU_MS: Final = 10_000
_IMPORTS_PYTEST: Final = re.compile(rb"^[ \t]*(?:from[ \t]+|import[ \t][\w \t.,]*?\b)pytest\b", re.M)
_TEST_FUNCTION: Final = re.compile(rb"^(?:async[ \t]+)?def[ \t]+test", re.M)
SUBMISSION: Final = "submission"  # where it stands if it shares the tests' sandbox


@dataclass(frozen=True, slots=True, kw_only=True)
class SuitePlan:
    """What a config asks for. `files` are the tests' contents by name; `runner` is empty until they are known.

    `skips`: so many tests may be skipped; None: those that are, as they are written. `needs_pytest`: a file imports it.
    """

    modules: tuple[str, ...]
    tests: tuple[str, ...]
    in_work: bool = False
    min_tests: int = 1
    skips: int | None = None
    runner: str = ""
    needs_pytest: bool = False
    shared: bool = False
    killed_percent: int = 0
    files: Mapping[str, bytes] = field(default_factory=dict)

    def with_files(self, files: Mapping[str, bytes]) -> "SuitePlan":
        """The plan, ready to be run, with a runner that fits its tests."""
        python = b"\n".join(content for name, content in files.items() if name.endswith(".py"))
        imports = _IMPORTS_PYTEST.search(python) is not None
        runner = self.runner or ("pytest" if imports or _TEST_FUNCTION.search(python) else "unittest")
        return replace(self, files=files, runner=runner, needs_pytest=imports or runner == "pytest")


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRun:
    """What was counted, None if no count came; the executions, that of the submission first."""

    count: JsonObject | None
    reports: tuple[ExecutionReport, ...]


async def run_trial(plan: SuitePlan, work: Path | Mapping[str, bytes], tools: CheckTools) -> SuiteRun:
    """Run the tests once. Raises `Unavailable` if their own side failed where the submission is not to blame."""
    result, volume = f"result-{tools.seed:x}.json", f".volume-{tools.seed:x}"
    job: dict[str, JsonValue] = {
        "modules": list(plan.modules),
        "tests": list(plan.tests),
        "runner": plan.runner,
        "shared": plan.shared,
        "result": result,
        "volume": volume,
        "seed": _secret(tools.seed, plan.files),
    }
    tests = Execution(
        profile=Profile.VERIFY,
        argv=(json.dumps(job),),
        work=_together(plan.files, work) if plan.shared else dict(plan.files),
        limits=tools.limits if plan.shared else _tests_limits(tools.limits),
        artifacts=(result, volume),
        program=tests_program("pytest" if plan.needs_pytest else "unittest"),
    )
    if plan.shared:
        report = await tools.sandbox.run(tests)
        return SuiteRun(count=_count(report, result), reports=(report,))
    report = await tools.sandbox.run(
        Execution(
            profile=Profile.VERIFY,
            argv=(str(_secret(tools.seed, {})),),
            work=work,
            limits=tools.limits,
            program=submission_program(),
            joined=tests,
        )
    )
    own, theirs = report.joined, replace(report, joined=None)
    if own is None:
        return SuiteRun(count=None, reports=(theirs,))
    count = _count(own, result)
    if theirs.broken_limit in {None, "wall time"} and not theirs.leftovers:
        if count is None and is_flood(own.artifacts.get(volume)):
            # What the tests did with a flood is the submission's doing: their time counts as its own.
            taken_ms = theirs.cpu_ms + own.cpu_ms
            theirs = replace(theirs, cpu_ms=taken_ms, cpu_exceeded=taken_ms >= tools.limits.cpu_ms)
        elif own.broken_limit or own.leftovers:
            raise Unavailable(f"the tests passed the limit of {own.broken_limit or 'processes left over'}")
        elif count is None and theirs.broken_limit is None:
            raise Unavailable("the tests did not come to their end")
    return SuiteRun(count=count, reports=(theirs, own))


def _tests_limits(limits: ExecutionLimits) -> ExecutionLimits:
    return replace(
        limits,
        wall_ms=limits.wall_ms + TESTS_WALL_MS,
        cpu_ms=max(limits.cpu_ms, TESTS_CPU_MS),
        memory_bytes=max(limits.memory_bytes, TESTS_MEMORY_BYTES),
        processes=max(limits.processes, ExecutionLimits().processes),
        output_bytes=max(limits.output_bytes, ExecutionLimits().output_bytes),
        file_bytes=max(limits.file_bytes, ExecutionLimits().file_bytes),
        disk_bytes=max(limits.disk_bytes, ExecutionLimits().disk_bytes),
    )


def _secret(seed: int, files: Mapping[str, bytes]) -> int:
    """Where chance begins: nothing that who does not have these files can find out."""
    digest = hashlib.sha256(str(seed).encode())
    for name in sorted(files):
        digest.update(hashlib.sha256(name.encode()).digest() + hashlib.sha256(files[name]).digest())
    return int.from_bytes(digest.digest()[:8], "big")


def _together(tests: Mapping[str, bytes], work: Path | Mapping[str, bytes]) -> dict[str, bytes]:
    if isinstance(work, Path):
        work = {str(path.relative_to(work)): path.read_bytes() for path in work.rglob("*") if path.is_file()}
    return dict(tests) | {f"{SUBMISSION}/{name}": content for name, content in work.items()}


def _count(report: ExecutionReport, result: str) -> JsonObject | None:
    data = report.artifacts.get(result)
    if data is None or report.status is not ExecutionStatus.DONE or report.exit_code != 0:
        return None
    try:
        value = strict_json(data)
    except NotStrictJson:
        return None
    return value if isinstance(value, Mapping) else None
