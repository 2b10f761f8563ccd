"""The fail-closed rule of verification, in the only function that can answer that work is verified."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from earnest.contracts.criterion import Criterion
from earnest.effects.hands.sandbox.api import ExecutionReport, ExecutionStatus, SelfTest
from earnest.effects.hands.tools.record import ToolRecord
from earnest.verification.plugin import Findings
from earnest.verification.verdict import Answer, Cause, CriterionVerdict, FailureClass

WAITED_SHARE: Final = 2
"""Less than one part in so many of the wall time on a processor: it waited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """All that is known about one criterion after its check ended.

    `findings` is None if the check gave none; `problem` then says why. `self_test` is that of the sandbox at the time,
    None if there is none. `snapshot_intact`: the copy still had its digest after the check. `contradictions` are
    assertions measured to be false, in words. `distrusted`: this check once disagreed with itself.
    """

    criterion: Criterion
    check: str = ""
    runs_code: bool = True
    findings: Findings | None = None
    problem: str = ""
    problem_cause: Cause = Cause.VERIFIER
    self_test: SelfTest | None = None
    snapshot_intact: bool = False
    calls: Sequence[ToolRecord] = ()
    contradictions: Sequence[str] = ()
    distrusted: bool = False


def conclude(measured: Measured) -> CriterionVerdict:
    """The verdict on one criterion: `verified` is what is left when nothing stands against it, strictest first."""
    findings = measured.findings
    if findings is None:
        return _unclear(measured, measured.problem or "the check gave no findings", measured.problem_cause)
    if findings.cannot_run:
        return _unclear(measured, findings.reason, cannot_run=True)
    objection = (
        _against_the_setting(measured)
        or _against_the_executions(measured, findings)
        or _against_the_result(measured, findings)
    )
    return objection or _verdict(measured, Answer.VERIFIED, findings.reason)


def combine(criteria: Sequence[CriterionVerdict]) -> Answer:
    """Any failed required criterion: not_verified; else any unclear: unclear; else verified, if anything was required.

    A criterion that is not required cannot fail the whole, but one that nobody could judge leaves it unclear.
    """
    telling = [verdict.answer for verdict in criteria if verdict.required or verdict.answer is Answer.UNCLEAR]
    order = list(Answer)
    return max(telling, key=order.index, default=Answer.UNCLEAR)


def failure_class(calls: Sequence[ToolRecord]) -> FailureClass:
    """That of the last call that failed, if it says so; a check that fails over calls that succeeded is logical."""
    failures = [call.failure.failure_class for call in calls if call.failure is not None]
    return FailureClass.ENVIRONMENTAL if failures[-1:] == [FailureClass.ENVIRONMENTAL] else FailureClass.LOGICAL


def unsafe(self_test: SelfTest | None) -> str:
    """Why code cannot be run; empty if it can."""
    if self_test is not None and self_test.green:
        return ""
    return f"code cannot be run safely: {self_test.reason if self_test else 'there is no sandbox'}"


def has_waited(report: ExecutionReport) -> bool:
    """True if nothing but wall time ran out, and most of it without a processor: that may not be the work's fault."""
    return report.broken_limit == "wall time" and WAITED_SHARE * report.cpu_ms < report.wall_ms and not report.leftovers


def _against_the_setting(measured: Measured) -> CriterionVerdict | None:
    if not measured.snapshot_intact:
        return _unclear(measured, "what was handed in changed while it was judged")
    if measured.runs_code and (why := unsafe(measured.self_test)):
        return _unclear(measured, why)
    if measured.distrusted:
        return _unclear(measured, "this check once disagreed with itself and cannot decide alone: somebody has to look")
    return None


def _against_the_executions(measured: Measured, findings: Findings) -> CriterionVerdict | None:
    broken = [report for report in findings.reports if report.broken_limit]
    if broken and all(map(has_waited, broken)):
        took = f"{broken[0].wall_ms / 1000:.1f} s, of which {broken[0].cpu_ms / 1000:.1f} s on a processor"
        return _unclear(
            measured,
            f"it passed the limit of wall time in {took}: it waited, or the machine was busy; {findings.reason}",
        )
    if broken:
        return _not_verified(measured, f"it passed the limit of {broken[0].broken_limit}")
    for report in findings.reports:
        if report.status is not ExecutionStatus.DONE:
            return _unclear(measured, f"an execution was {report.status}: {report.reason or 'no reason given'}")
        if report.leftovers:
            return _not_verified(measured, f"it left {report.leftovers} processes running")
    return None


def _against_the_result(measured: Measured, findings: Findings) -> CriterionVerdict | None:
    if findings.passed is False or findings.contradiction or measured.contradictions:
        contradicted = findings.contradiction or bool(measured.contradictions)
        reason = "; ".join([findings.reason, *measured.contradictions])
        return _not_verified(measured, reason, contradiction=contradicted)
    if findings.review is not None:
        reason = "; ".join([findings.reason, *findings.flags])
        return _unclear(measured, reason, Cause.EVIDENCE if findings.flags else Cause.VERIFIER)
    if findings.flags:
        return _unclear(measured, f"somebody has to look: {'; '.join(findings.flags)}", Cause.EVIDENCE)
    if findings.passed is not True:
        return _unclear(measured, findings.reason, Cause.EVIDENCE)
    if measured.runs_code and not findings.reports:
        return _unclear(measured, "the check ran nothing")
    return None


def _not_verified(measured: Measured, reason: str, *, contradiction: bool = False) -> CriterionVerdict:
    verdict = _verdict(measured, Answer.NOT_VERIFIED, reason)
    return replace(verdict, failure_class=failure_class(measured.calls), contradiction=contradiction)


def _unclear(
    measured: Measured, reason: str, cause: Cause = Cause.VERIFIER, *, cannot_run: bool = False
) -> CriterionVerdict:
    return replace(_verdict(measured, Answer.UNCLEAR, reason), cause=cause, cannot_run=cannot_run)


def _verdict(measured: Measured, answer: Answer, reason: str) -> CriterionVerdict:
    return CriterionVerdict(
        id=measured.criterion.id,
        answer=answer,
        reason=reason,
        evidence=measured.findings.evidence if measured.findings else (),
        check=measured.check,
        required=measured.criterion.required,
    )
