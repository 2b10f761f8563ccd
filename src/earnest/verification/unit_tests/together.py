"""The second look at a failure: tests that pass in one process with the submission failed because they were split.

A test may need what no stand-in is: the very object, source text, a program that it starts. Which ones do cannot be
read from them. So where tests fail, they are run once more together with the submission. That they pass there proves
nothing, for there it could fake that; but nobody can be blamed any longer.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from earnest.verification.core import has_waited
from earnest.verification.plugin import CheckTools, Findings
from earnest.verification.unit_tests.judging import all_passed, judge, where
from earnest.verification.unit_tests.trial import SuitePlan, run_trial

LONGER_MS: Final = 5_000
"""Together takes less than apart; nobody waits longer than this and twice the time of the first run for what hangs."""


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
    if not all_passed(beside, together):
        return findings
    reason = (
        f"{findings.reason}{where(trial)}; but all pass in one process with the submission: what they need is lost"
        " where they are split from it. Have them compare values, and call what the submission offers"
    )
    return replace(findings, passed=None, cannot_run=True, reason=reason, reports=both)
