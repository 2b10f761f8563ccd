"""The meaning of a run's counted results: only all of them passed, and enough of them, is a success.

A test may need what no stand-in is: the very object, source text, a program that it starts. Which ones do cannot be
read from them. So where tests fail, they are run once more together with the submission. That they pass there proves
nothing, for there it could fake that; but nobody can be blamed any longer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from earnest.effects.hands.sandbox.api import ExecutionReport
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.verification.core import has_waited
from earnest.verification.plugin import CheckTools, Findings
from earnest.verification.unit_tests.skips import held_skips
from earnest.verification.unit_tests.trial import SuitePlan, SuiteRun, run_trial
from earnest.verification.unit_tests.vacuous import vacuous_tests

WHY_SPLIT: Final = "the tests cannot be split from the submission: "

LONGER_MS: Final = 5_000
"""Together takes less than apart; nobody waits longer than this and twice the time of the first run for what hangs."""
_UNWRITTEN: Final = "no result was written"

Judgement = tuple[bool | None, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
    """What the tests' side wrote; what it did not write stands for trouble, as here."""

    run: int = -1
    passed: int = -1
    skipped: int = -1
    skips: tuple[str, ...] = ("",)
    collected: int = -1
    deselected: int = -1
    calls: int = -1
    fault: str = _UNWRITTEN
    inseparable: str = _UNWRITTEN
    limited: int = -1
    limit: str = _UNWRITTEN
    broken: str = _UNWRITTEN
    reason: str = _UNWRITTEN
    blame: bool = False
    finished: bool = False
    asserted: int = -1
    weak: tuple[JsonValue, ...] = ("",)
    flags: tuple[str, ...] = ("no flags were written",)


async def judge_apart(plan: SuitePlan, work: Path | Mapping[str, bytes], tools: CheckTools) -> Findings:
    """The findings of one run, split from the submission; of tests that fail nowhere else, that they cannot be."""
    trial = await run_trial(plan, work, tools)
    findings = judge(plan, trial, trial.reports)
    ended = all(report.broken_limit is None and not report.leftovers for report in trial.reports)
    if findings.passed is not False or plan.shared or trial.count is None or not ended:
        return findings
    wall_ms = min(tools.limits.wall_ms, LONGER_MS + 2 * max(report.wall_ms for report in trial.reports))
    beside = replace(plan, shared=True)
    together = await run_trial(beside, work, replace(tools, limits=replace(tools.limits, wall_ms=wall_ms)))
    both = (*findings.reports, *together.reports)
    if any(map(has_waited, together.reports)):
        return replace(findings, reports=both)
    if not _all_passed(beside, together):
        return findings
    reason = (
        f"{findings.reason}{_where(trial)}; but all pass in one process with the submission: what they need is lost"
        " where they are split from it. Have them compare values, and call what the submission offers"
    )
    return replace(findings, passed=None, cannot_run=True, reason=reason, reports=both)


def judge(plan: SuitePlan, trial: SuiteRun, reports: tuple[ExecutionReport, ...]) -> Findings:
    """The findings of one run; nothing in the reason tells what a test expects."""
    count = None if trial.count is None else _counted(trial.count)
    if count is None:
        passed, reason = None, "the tests did not come to their end"
    else:
        passed, reason = _unreadable(plan, count) or _failed(count) or _proves_nothing(plan, count) or (True, "")
    if passed is True and trial.reports[0].exit_code != 0:
        passed, reason = False, f"the submission's process ended with exit code {trial.reports[0].exit_code}"
    flags: tuple[str, ...] = ()
    if count and passed is True:
        flags = count.flags if plan.in_work else (*count.flags, *vacuous_tests(plan.files, plan.modules, count.weak))
    is_bare = bool(count and passed is True and not plan.in_work and count.asserted <= 0 and not flags)
    if is_bare:
        passed, reason = None, "the tests passed without asserting anything: that is how they are written"
    return Findings(
        passed=passed,
        reason=reason or (_told(count) if count else ""),
        cannot_run=is_bare or bool(count and passed is None and (count.inseparable or count.limited)),
        reports=reports,
        evidence=plan.tests,
        flags=flags,
    )


def _all_passed(plan: SuitePlan, trial: SuiteRun) -> bool:
    """True if every test ran and passed, in an execution that ended as it should."""
    if trial.count is None or any(report.broken_limit or report.leftovers for report in trial.reports):
        return False
    count = _counted(trial.count)
    passed = _unreadable(plan, count) is None and _failed(count) is None
    return passed and count.finished and 0 < count.run == count.collected


def _where(trial: SuiteRun) -> str:
    """The line of the first failure."""
    place = (trial.count or {}).get("place")
    return f" ({place})" if isinstance(place, str) and place else ""


def _unreadable(plan: SuitePlan, count: _Counted) -> Judgement | None:
    if count.fault:
        return False, count.fault
    if count.inseparable:
        return None, f"{WHY_SPLIT}{count.inseparable}; isolation: shared runs them together"
    if count.broken:
        blamed = count.blame or plan.shared or plan.in_work
        return (False if blamed else None), f"the tests could not be read: {count.broken}"
    return None


def _failed(count: _Counted) -> Judgement | None:
    failed = count.run - count.passed - count.skipped
    if failed <= 0:
        return None
    if failed <= count.limited:
        return (
            None,
            f"{failed} of {count.run} tests failed, where the split does not carry what they need: {count.limit}",
        )
    return False, f"{failed} of {count.run} tests failed" + (f"; the first: {count.reason}" if count.reason else "")


def _proves_nothing(plan: SuitePlan, count: _Counted) -> Judgement | None:
    if not count.finished or count.run != count.collected or count.deselected:
        return None, f"{count.run} of {count.collected} tests ran"
    if count.passed + count.skipped != count.run or not _may_skip(plan, count):
        skips = max(count.skipped, len(count.skips))
        return None, f"{skips} of {count.run} tests were skipped or expected to fail; `skips` allows a number of them"
    if count.passed < plan.min_tests:
        return None, f"{count.passed} tests passed, and at least {plan.min_tests} must"
    if plan.shared:
        return None, "all tests passed, but together with the submission, which can fake that: somebody has to look"
    if count.calls <= 0:
        return None, "the tests passed without asking the submission anything"
    return None


def _may_skip(plan: SuitePlan, count: _Counted) -> bool:
    """So many as the config says; else those that the tests hold, whatever the submission answers."""
    if plan.skips is not None:
        return count.skipped <= plan.skips and all(count.skips)
    return not count.skips or set(count.skips) <= held_skips(plan.files, plan.modules)


def _told(count: _Counted) -> str:
    apart = f"; {count.skipped} are skipped or expected to fail as they are written" if count.skipped else ""
    return f"{count.passed} of {count.run} tests passed{apart}"


def _counted(count: JsonObject) -> _Counted:
    """Of what was written, what is of the right type."""
    given: dict[str, Any] = {
        name: tuple(value if name == "weak" else map(str, value)) if isinstance(value, list | tuple) else value
        for name, value in count.items()
    }
    right = (each.name for each in fields(_Counted) if type(given.get(each.name)) is type(each.default))
    return _Counted(**{name: given[name] for name in right})
