"""Judging: take in what was handed in, run the checks, conclude. Nothing a check does is raised."""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from earnest.contracts.criterion import CheckSpec, Criterion, check_diagnostics
from earnest.effects.clock import Clock
from earnest.effects.sandbox.api import SELF_TEST_VALID_MS, Execution, Mount, Report, Sandbox, SelfTest, Status
from earnest.effects.tools.record import ToolRecord
from earnest.effects.workspace.snapshot import SnapshotLimits, is_intact, take_snapshot
from earnest.foundation.errors import Diagnostic, Refused
from earnest.verification.core import Measured, combine, conclude
from earnest.verification.limits import read_limits
from earnest.verification.plugin import Check, CheckTools, ConfigFault, Findings, Subject
from earnest.verification.registry import Registry
from earnest.verification.verdict import Cause, CriterionVerdict, Verdict

CHECK_WALL_MS: Final = 3_600_000
PARALLEL_CHECKS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """What one check came to, before the snapshot was looked at again."""

    criterion: Criterion
    check: Check | None = None
    findings: Findings | None = None
    problem: str = ""
    self_test: SelfTest | None = None


class _NoSandbox:
    """What a check gets that said it runs no code."""

    description = ""
    _reason = "this kind of check says that it runs no code"

    async def run(self, execution: Execution) -> Report:  # noqa: ARG002 - the protocol names it
        return Report(status=Status.REFUSED, reason=self._reason)

    async def self_test(self, _max_age_ms: int = 0, /) -> SelfTest:
        return SelfTest(provider="", at_ms=0, probes=(), problem=self._reason)

    async def close(self) -> None:
        """There is nothing to close."""


class Verifier:
    """One for a process. `sandbox` None: kinds that run code answer `unclear`.

    At most `parallel` checks run at once; one that takes longer than `check_wall_ms` in all is unclear.
    """

    def __init__(
        self,
        *,
        registry: Registry,
        sandbox: Sandbox | None,
        clock: Clock,
        snapshot_limits: SnapshotLimits | None = None,
        parallel: int = PARALLEL_CHECKS,
        check_wall_ms: int = CHECK_WALL_MS,
    ) -> None:
        self._registry = registry
        self._sandbox = sandbox
        self._clock = clock
        self._snapshot_limits = snapshot_limits or SnapshotLimits()
        self._slots = asyncio.Semaphore(parallel)
        self._check_wall_ms = check_wall_ms

    async def verify(
        self,
        criteria: Sequence[Criterion],
        folder: Path,
        *,
        base_folder: Path | None = None,
        mounts: Sequence[Mount] = (),
        trusted_workspace: bool = False,
        calls: Sequence[ToolRecord] = (),
    ) -> Verdict:
        """Take `folder` in once and judge the copy, which is removed afterwards. For the rest see `Subject`.

        What cannot be taken in (links, devices, lookalike names, too much of it) leaves every criterion unclear for
        want of evidence.
        """
        with tempfile.TemporaryDirectory(prefix="earnest-verify-") as scratch:
            try:
                snapshot = await asyncio.to_thread(
                    take_snapshot, folder, Path(scratch) / "snapshot", self._snapshot_limits
                )
            except Refused as refused:
                return self._not_taken_in(criteria, str(refused), Cause.EVIDENCE)
            except OSError as error:
                return self._not_taken_in(criteria, f"the intake failed: {error}", Cause.VERIFIER)
            subject = Subject(
                snapshot=snapshot,
                base_folder=base_folder,
                mounts=tuple(mounts),
                trusted_workspace=trusted_workspace,
                calls=tuple(calls),
            )
            return await self.judge(criteria, subject)

    async def judge(self, criteria: Sequence[Criterion], subject: Subject) -> Verdict:
        """The verdict on a snapshot. The checks run at the same time; afterwards the snapshot is hashed again."""
        results = await asyncio.gather(*(self._measure(criterion, subject) for criterion in criteria))
        intact = await asyncio.to_thread(is_intact, subject.snapshot, self._snapshot_limits)
        verdicts = tuple(_concluded(result, subject, intact=intact) for result in results)
        findings = [result.findings for result in results if result.findings is not None]
        return Verdict(
            answer=combine(verdicts),
            criteria=verdicts,
            snapshot=subject.snapshot.digest,
            sandbox=self._sandbox.description if self._sandbox else "",
            contradiction=any(found.contradiction for found in findings),
            flags=tuple(dict.fromkeys(flag for found in findings for flag in found.flags)),
            check_versions={result.check.kind: result.check.version for result in results if result.check},
        )

    def config_faults(
        self, criteria: Sequence[Criterion], source: str, base_folder: Path | None = None
    ) -> list[Diagnostic]:
        """Everything wrong with the checks of `criteria`, with lines where they are known."""
        return [
            diagnostic
            for criterion in criteria
            if criterion.check is not None
            for diagnostic in check_diagnostics(
                criterion.check, self.check_faults(criterion.check, base_folder), source
            )
        ]

    def check_faults(self, spec: CheckSpec, base_folder: Path | None = None) -> Sequence[ConfigFault]:
        """Everything wrong with one check: for `parse_playbook` and `parse_spec`."""
        try:
            check = self._registry.check(spec.kind)
        except Refused as refused:
            return [ConfigFault("kind", str(refused))]
        try:
            faults = list(check.config_faults(spec.config, base_folder))
        except Exception as error:  # a plug-in that breaks its contract must not break us
            faults = [ConfigFault("", f"the check {spec.kind!r} failed on this config: {error!r}")]
        if spec.limits is not None and not check.runs_code:
            return [
                *faults,
                ConfigFault("limits", f"a check of the kind {spec.kind!r} runs nothing: remove the limits"),
            ]
        return [*faults, *read_limits(spec.limits)[1]]

    async def _measure(self, criterion: Criterion, subject: Subject) -> _Result:
        """Run the check of one criterion; whatever goes wrong is a problem in words."""
        spec = criterion.check
        if spec is None:
            return _Result(criterion=criterion, problem="no check decides it: somebody has to judge it")
        if faults := self.check_faults(spec):
            return _Result(criterion=criterion, problem=f"the check is faulty: {faults[0].message}")
        check = self._registry.check(spec.kind)
        self_test = await self._tested() if check.runs_code else None
        if check.runs_code and (self_test is None or not self_test.green):
            why = self_test.reason if self_test else "there is no sandbox"
            return _Result(criterion=criterion, check=check, problem=f"code cannot be run safely: {why}")
        sandbox = self._sandbox if check.runs_code and self._sandbox else _NoSandbox()
        tools = CheckTools(sandbox=sandbox, limits=read_limits(spec.limits)[0])
        answer: object = None  # a plug-in's word: whatever it is, only findings count
        problem = "the check answered no findings"
        try:
            async with self._slots, asyncio.timeout(self._check_wall_ms / 1000):
                answer = await check.run(spec.config, subject, tools)
        except TimeoutError:
            problem = f"the check did not answer within {self._check_wall_ms} ms"
        except (Exception, SystemExit) as error:  # the fail-closed rule: any exception is unclear
            problem = f"the check failed: {type(error).__name__}: {error}"
        findings = answer if isinstance(answer, Findings) else None
        return _Result(criterion=criterion, check=check, findings=findings, problem=problem, self_test=self_test)

    async def _tested(self) -> SelfTest | None:
        """The sandbox's self-test, at most `SELF_TEST_VALID_MS` old."""
        if self._sandbox is None:
            return None
        try:
            return await self._sandbox.self_test(SELF_TEST_VALID_MS)
        except Exception as error:  # a self-test that breaks has not been passed
            problem = f"self-test failed: {error}"
            return SelfTest(provider=self._sandbox.description, at_ms=self._clock.now_ms(), probes=(), problem=problem)

    def _not_taken_in(self, criteria: Sequence[Criterion], problem: str, cause: Cause) -> Verdict:
        verdicts = tuple(
            conclude(Measured(criterion=criterion, problem=problem, problem_cause=cause)) for criterion in criteria
        )
        sandbox = self._sandbox.description if self._sandbox else ""
        return Verdict(answer=combine(verdicts), criteria=verdicts, snapshot="", sandbox=sandbox)


def _concluded(result: _Result, subject: Subject, *, intact: bool) -> CriterionVerdict:
    return conclude(
        Measured(
            criterion=result.criterion,
            check=f"{result.check.kind}/{result.check.version}" if result.check else "",
            runs_code=result.check is None or result.check.runs_code,
            findings=result.findings,
            problem=result.problem,
            self_test=result.self_test,
            snapshot_intact=intact,
            calls=subject.calls,
        )
    )
