"""Judging: take in what was handed in, run the checks, conclude. Nothing a check does is raised."""

import asyncio
import contextlib
import copy
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from earnest.contracts.criterion import CheckSpec, Criterion, check_diagnostics
from earnest.effects.ground.clock import Clock
from earnest.effects.ground.threads import in_thread
from earnest.effects.hands.outside_file import Outside
from earnest.effects.hands.sandbox.api import SELF_TEST_VALID_MS, Mount, Sandbox, SelfTest
from earnest.effects.hands.sandbox.equipped import Equipment, equipped
from earnest.effects.hands.scratch import scratch_beside
from earnest.effects.hands.tools.record import ToolRecord
from earnest.effects.hands.workspace.snapshot import Seen, Snapshot, SnapshotLimits, is_intact
from earnest.effects.outside.probes.api import Probes
from earnest.foundation.canonical import digest_bytes
from earnest.foundation.errors import Diagnostic, EarnestError, Refused, Unavailable
from earnest.verification.core import Measured, combine, conclude, has_waited, unsafe
from earnest.verification.intake import EDIT_SNAPSHOT_LIMITS, LayOut, Taken, contradictions, taken_in, taken_of
from earnest.verification.limits import read_limits
from earnest.verification.plugin import Base, Check, CheckTools, ConfigFault, Findings, Judges, Promise, Subject
from earnest.verification.registry import Registry
from earnest.verification.repeat import all_of, passes_needed
from earnest.verification.replay import seed_of, trust_key, work_key
from earnest.verification.sandboxes import Hiding, NoSandbox
from earnest.verification.verdict import Cause, Verdict

CHECK_WALL_MS: Final = 3_600_000
PARALLEL_CHECKS: Final = 4
FAULTLESS_KEPT_MAX: Final = 4_096


class Verifier:
    """One for a process. `sandbox` None: kinds that run code answer `unclear`.

    `distrusted` are the `trust_key`s and `work_key`s of checks that once disagreed with themselves: they decide nothing
    alone. At most
    `parallel` checks run at once; one that takes longer than `check_wall_ms` in all is unclear.
    """

    def __init__(
        self,
        *,
        registry: Registry,
        sandbox: Sandbox | None,
        clock: Clock,
        probes: Probes | None = None,
        judges: Judges | None = None,
        distrusted: Collection[str] = (),
        snapshot_limits: SnapshotLimits | None = None,
        parallel: int = PARALLEL_CHECKS,
        check_wall_ms: int = CHECK_WALL_MS,
    ) -> None:
        self._registry = registry
        self._sandbox = sandbox
        self._clock = clock
        self._probes = probes
        self._judges = judges or Judges()
        self._distrusted = frozenset(distrusted)
        self._snapshot_limits = snapshot_limits or SnapshotLimits()
        self._slots = asyncio.Semaphore(parallel)
        self._parallel = parallel
        self._single = asyncio.Lock()
        self._check_wall_ms = check_wall_ms
        self._faultless: set[str] = set()

    @property
    def probe_names(self) -> Collection[str]:
        """The probes that checks may name."""
        return self._probes.names if self._probes else ()

    def without_probes(self) -> "Verifier":
        """The same, with the same slots, for specs that may name no probe: there is none for them."""
        other = copy.copy(self)
        vars(other)["_probes"] = None
        return other

    def equipped(self, equipment: Equipment | None) -> "Verifier":
        """The same, with the same slots, whose checks find this environment in their sandboxes."""
        if equipment is None or self._sandbox is None:
            return self
        other = copy.copy(self)
        vars(other)["_sandbox"] = equipped(self._sandbox, equipment)
        return other

    async def verify(
        self,
        criteria: Sequence[Criterion],
        folder: Path | LayOut,
        *,
        base_folder: Path | None = None,
        mounts: Sequence[Mount] = (),
        bases: Mapping[str, Base] | None = None,
        trusted_workspace: bool = False,
        calls: Sequence[ToolRecord] = (),
        promise: Promise | None = None,
        hidden: Sequence[Path] = (),
        outside: Outside | None = None,
        keep: Callable[[Snapshot, Verdict], None] | None = None,
        seen: Seen | None = None,
    ) -> Verdict:
        """Take `folder`, or an archive of one, in once and judge the copy. For the rest see `Subject`.

        The copy is removed afterwards; `keep` is given it, with the verdict, before that, in a thread of its own. What
        cannot be taken in (links, devices, lookalike names, too much of it) leaves every criterion unclear for want of
        evidence. A folder that a function lays out for us alone is judged as it is; `base_folder` is what that says. So
        is one of which is told what was `seen` of it, and which the caller keeps from changing.
        """
        lay_out = (lambda _: (folder, base_folder)) if isinstance(folder, Path) else folder
        limits = EDIT_SNAPSHOT_LIMITS if bases else self._snapshot_limits
        async with scratch_beside("verify") as made:
            try:
                taken = await in_thread(lambda: taken_in(lay_out, made(), limits, seen, bases or {}))
            except Refused as refused:
                return self._not_taken_in(criteria, str(refused), Cause.EVIDENCE)
            except OSError as error:
                return self._not_taken_in(criteria, f"the intake failed: {error}", Cause.VERIFIER)
            subject = Subject(
                snapshot=taken.snapshot,
                base_folder=taken.base_folder,
                mounts=tuple(mounts),
                bases=bases or {},
                limits=limits,
                trusted_workspace=trusted_workspace,
                calls=tuple(calls),
                promise=promise or Promise(),
                hidden=tuple(hidden),
                outside=outside,
            )
            verdict = await self._asked(await self._judged(criteria, subject, taken))
            if keep is not None:
                await in_thread(keep, taken.snapshot, verdict)
            return verdict

    async def judge(self, criteria: Sequence[Criterion], subject: Subject, taken: Taken | None = None) -> Verdict:
        """The verdict on a snapshot. The checks run at the same time; afterwards the snapshot is hashed again.

        `taken`: what it asserts, where the caller has read that with it.
        """
        if taken is None:
            taken = await asyncio.to_thread(taken_of, subject.snapshot)
        return await self._judged(criteria, subject, taken)

    async def _judged(self, criteria: Sequence[Criterion], subject: Subject, taken: Taken) -> Verdict:
        subject = replace(subject, criteria=tuple(criteria))
        seed = seed_of(criteria, subject.snapshot.digest)
        results = await asyncio.gather(*(self._measure(criterion, subject, taken, seed) for criterion in criteria))
        intact = await asyncio.to_thread(is_intact, subject.snapshot, subject.limits or self._snapshot_limits)
        verdicts = tuple(conclude(replace(result, snapshot_intact=intact)) for result in results)
        findings = [result.findings for result in results if result.findings is not None]
        ran = [self._registry.check(one.criterion.check.kind) for one in results if one.check and one.criterion.check]
        return Verdict(
            answer=combine(verdicts),
            criteria=verdicts,
            snapshot=subject.snapshot.digest,
            sandbox=self._sandbox.description if self._sandbox else "",
            contradiction=any(verdict.contradiction for verdict in verdicts),
            flags=tuple(dict.fromkeys(flag for found in findings for flag in found.flags)),
            reviews=tuple(found.review for found in findings if found.review is not None),
            check_versions={check.kind: check.version for check in ran},
        )

    async def _asked(self, verdict: Verdict) -> Verdict:
        """The verdict, its open questions put to people. One that could not be put says so in its reason."""
        reviews = self._judges.reviews
        if reviews is None or not verdict.reviews:
            return verdict
        try:
            await reviews.ask(verdict)
        except EarnestError as error:
            asking = {review.criterion_id for review in verdict.reviews}
            criteria = tuple(
                replace(one, reason=f"{one.reason}, but it could not be put in the queue: {error}")
                if one.id in asking
                else one
                for one in verdict.criteria
            )
            return replace(verdict, criteria=criteria)
        return verdict

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
        if base_folder is not None:  # its files may be others by now
            return self._check_faults(spec, base_folder)
        digest = digest_bytes(repr((spec.kind, spec.config, spec.limits, spec.repeat)).encode())
        if digest in self._faultless:
            return []
        faults = self._check_faults(spec, None)
        if not faults:
            if len(self._faultless) >= FAULTLESS_KEPT_MAX:
                self._faultless.clear()
            self._faultless.add(digest)
        return faults

    def _check_faults(self, spec: CheckSpec, base_folder: Path | None) -> Sequence[ConfigFault]:
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

    async def _measure(self, criterion: Criterion, subject: Subject, taken: Taken, seed: int) -> Measured:
        """Run the check of one criterion; whatever goes wrong is a problem in words. Flags of the work are each's."""
        spec = criterion.check
        if spec is None:
            return Measured(criterion=criterion, problem="no check decides it: somebody has to judge it")
        if faults := self.check_faults(spec):
            return Measured(criterion=criterion, problem=f"the check is faulty: {faults[0].message}")
        check = self._registry.check(spec.kind)
        named = f"{check.kind}/{check.version}"
        key = trust_key(check, spec)
        self_test = await self._tested() if check.runs_code else None
        if check.runs_code and (why := unsafe(self_test)):
            return Measured(criterion=criterion, check=named, problem=why)
        sandbox = Hiding(self._sandbox, subject.hidden) if check.runs_code and self._sandbox else NoSandbox()
        tools = CheckTools(
            sandbox=sandbox,
            limits=read_limits(spec.limits)[0],
            criterion=criterion,
            seed=seed,
            probes=self._probes,
            judges=self._judges,
        )
        findings, problem = await self._answer(check, spec, subject, tools)
        if findings is not None and taken.flags:
            findings = replace(findings, flags=(*findings.flags, *taken.flags))
        return Measured(
            criterion=criterion,
            check=named,
            runs_code=check.runs_code,
            findings=findings,
            problem=problem,
            self_test=self_test,
            calls=subject.calls,
            contradictions=contradictions(taken.asserted.get(criterion.id, {}), findings.measured if findings else {}),
            distrusted=not self._distrusted.isdisjoint({key, work_key(key, subject.snapshot.digest)}),
        )

    async def _answer(
        self, check: Check, spec: CheckSpec, subject: Subject, tools: CheckTools
    ) -> tuple[Findings | None, str]:
        """What the check finds, or None and why there are no findings. What only waited is tried again, alone."""
        try:
            async with asyncio.timeout(self._check_wall_ms / 1000):
                async with self._slots:
                    answer = await _rounds(check, spec, subject, tools)
                waited = next(filter(has_waited, answer.reports), None)
                if waited is None:
                    return answer, ""
                async with self._alone():
                    again = await _rounds(check, spec, subject, tools)
                took = f"{waited.wall_ms / 1000:.1f} s, of which {waited.cpu_ms / 1000:.1f} s on a processor"
                return replace(again, reason=f"{again.reason}; tried again alone, after it had taken {took}"), ""
        except TimeoutError:
            return None, f"the check did not answer within {self._check_wall_ms} ms"
        except Unavailable as error:
            return None, str(error)
        except (Exception, SystemExit) as error:  # the fail-closed rule: any exception is unclear
            return None, f"the check failed: {type(error).__name__}: {error}"

    @contextlib.asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """While nothing else of this verifier runs."""
        async with self._single, contextlib.AsyncExitStack() as stack:
            for _ in range(self._parallel):
                await stack.enter_async_context(self._slots)
            yield

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


async def _rounds(check: Check, spec: CheckSpec, subject: Subject, tools: CheckTools) -> Findings:
    """What the check finds, each time it must pass (`repeat.py`). Raises `Unavailable` for an answer that is none."""
    rounds: list[Findings] = []
    while not rounds or (
        rounds[-1].passed is True and len(rounds) < passes_needed(spec.repeat, rounds[0], tools.limits)
    ):
        answer: object = await check.run(spec.config, subject, tools)  # whatever a plug-in answers
        if not isinstance(answer, Findings):
            raise Unavailable("the check answered no findings")
        rounds.append(answer)
    return all_of(rounds)
