"""What do the counted results of a run mean? Only all of them passed, and enough of them, is a success."""

from dataclasses import dataclass
from typing import Final

from earnest.effects.sandbox.api import Report, Status
from earnest.foundation.canonical import JsonObject
from earnest.verification.plugin import Findings
from earnest.verification.unit_tests.trial import Plan, Trial

WHY_SPLIT: Final = "the tests cannot be split from the submission: "


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
    """The numbers and words that the tests' side wrote."""

    run: int
    passed: int
    skipped: int
    collected: int
    deselected: int
    calls: int


def judge(plan: Plan, trial: Trial, reports: tuple[Report, ...]) -> Findings:
    """The findings of one run; nothing in the reason tells what a test expects."""
    evidence = tuple(plan.tests)
    passed, reason, flags = _judge(plan, trial)
    return Findings(passed=passed, reason=reason, reports=reports, evidence=evidence, flags=flags)


def _judge(plan: Plan, trial: Trial) -> tuple[bool | None, str, tuple[str, ...]]:
    submission = trial.reports[0]
    count = trial.count
    if count is None:
        early = submission.status is Status.DONE and plan.shared
        return (False if early else None), "the tests did not come to their end", ()
    if fault := _text(count, "fault"):
        return False, fault, ()
    if inseparable := _text(count, "inseparable"):
        return None, f"{WHY_SPLIT}{inseparable}; isolation: shared runs them together", ()
    if broken := _text(count, "broken"):
        blamed = count.get("blame") is True or plan.shared
        return (False if blamed else None), f"the tests could not be read: {broken}", ()
    counted = _Counted(**{name: _number(count, name) for name in _Counted.__slots__})
    if count.get("finished") is not True or counted.run != counted.collected or counted.deselected:
        return None, f"{counted.run} of {counted.collected} tests ran", ()
    if counted.passed + counted.skipped < counted.run:
        reason = f"{counted.run - counted.passed - counted.skipped} of {counted.run} tests failed"
        first = _text(count, "reason")
        return False, reason + (f"; the first: {first}" if first else ""), ()
    if counted.skipped or counted.passed != counted.run:
        return None, f"{counted.skipped} of {counted.run} tests were skipped or expected to fail", ()
    if counted.run < plan.min_tests:
        return None, f"{counted.run} tests ran, and at least {plan.min_tests} must", ()
    if plan.shared:
        return None, "all tests passed, but together with the submission, which can fake that: somebody has to look", ()
    if not counted.calls:
        return None, "the tests passed without asking the submission anything", ()
    if submission.exit_code != 0:
        return False, f"the submission's process ended with exit code {submission.exit_code}", ()
    flags = count.get("flags")
    flags = tuple(str(flag) for flag in flags) if isinstance(flags, list | tuple) else ("no flags were written",)
    return True, f"all {counted.run} tests passed", flags


def _text(count: JsonObject, name: str) -> str:
    value = count.get(name)
    return value if isinstance(value, str) else "no result was written"


def _number(count: JsonObject, name: str) -> int:
    value = count.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else -1
