"""The meaning of a run's counted results: only all of them passed, and enough of them, is a success."""

from dataclasses import dataclass
from typing import Final

from earnest.effects.hands.sandbox.api import ExecutionReport
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.verification.plugin import Findings
from earnest.verification.unit_tests.skips import held_skips
from earnest.verification.unit_tests.trial import SuitePlan, SuiteRun
from earnest.verification.unit_tests.vacuous import vacuous_tests

WHY_SPLIT: Final = "the tests cannot be split from the submission: "

Judgement = tuple[bool | None, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
    """What the tests' side wrote. A number that is missing is negative, a text that is missing stands for trouble."""

    run: int
    passed: int
    skipped: int
    skips: tuple[str, ...]
    collected: int
    deselected: int
    calls: int
    fault: str
    inseparable: str
    limited: int
    limit: str
    broken: str
    reason: str
    blame: bool
    finished: bool
    asserted: int
    weak: tuple[JsonValue, ...]
    flags: tuple[str, ...]


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


def all_passed(plan: SuitePlan, trial: SuiteRun) -> bool:
    """True if every test ran and passed, in an execution that ended as it should."""
    if trial.count is None or any(report.broken_limit or report.leftovers for report in trial.reports):
        return False
    count = _counted(trial.count)
    passed = _unreadable(plan, count) is None and _failed(count) is None
    return passed and count.finished and 0 < count.run == count.collected


def where(trial: SuiteRun) -> str:
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
    flags, skips, weak = count.get("flags"), count.get("skips"), count.get("weak")
    return _Counted(
        run=_number(count.get("run")),
        passed=_number(count.get("passed")),
        skipped=_number(count.get("skipped")),
        skips=tuple(map(str, skips)) if isinstance(skips, list | tuple) else ("",),
        collected=_number(count.get("collected")),
        deselected=_number(count.get("deselected")),
        calls=_number(count.get("calls")),
        fault=_text(count.get("fault")),
        inseparable=_text(count.get("inseparable")),
        limited=_number(count.get("limited")),
        limit=_text(count.get("limit")),
        broken=_text(count.get("broken")),
        reason=_text(count.get("reason")),
        blame=count.get("blame") is True,
        finished=count.get("finished") is True,
        asserted=_number(count.get("asserted")),
        weak=tuple(weak) if isinstance(weak, list | tuple) else ("",),
        flags=tuple(map(str, flags)) if isinstance(flags, list | tuple) else ("no flags were written",),
    )


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else "no result was written"


def _number(value: JsonValue) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else -1
