"""Repetition: how often a check must pass before it has passed.

As often as its author says, and once more if it came close to a limit: a tenth of a limit is what a busy machine
takes, and what passed by luck must not be rounded up.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from earnest.effects.hands.sandbox.api import ExecutionLimits, ExecutionReport
from earnest.verification.plugin import Findings

BOUNDARY_PERCENT: Final = 90


def passes_needed(repeat: int, findings: Findings, limits: ExecutionLimits) -> int:
    """How many passes in all, after a first one that passed with `findings`."""
    return max(repeat, 2 if any(is_at_a_boundary(report, limits) for report in findings.reports) else 1)


def is_at_a_boundary(report: ExecutionReport, limits: ExecutionLimits) -> bool:
    """True if an execution used 90 % or more of any limit that is measured."""
    used = (
        (report.wall_ms, limits.wall_ms),
        (report.cpu_ms, limits.cpu_ms),
        (report.memory_peak_bytes, limits.memory_bytes),
        (len(report.stdout), limits.output_bytes),
        (len(report.stderr), limits.output_bytes),
    )
    return any(100 * amount >= BOUNDARY_PERCENT * limit for amount, limit in used)


def all_of(rounds: Sequence[Findings]) -> Findings:
    """One finding for all rounds, of which only the last may not have passed: k of k, or what the last one says."""
    *before, last = rounds
    if not before:
        return last
    reports = tuple(report for findings in rounds for report in findings.reports)
    flags = tuple(dict.fromkeys(flag for findings in rounds for flag in findings.flags))
    told = f"passed {len(rounds)} times: " if last.passed else f"passed {len(before)} times, then not: "
    return replace(last, reports=reports, flags=flags, reason=told + last.reason)
