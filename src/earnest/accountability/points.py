"""The points that a verdict or a vote earns or costs. (seed accountability, Scoring System; ruling 3)"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from earnest.accountability.asking import AskedTask
from earnest.verification.verdict import Answer, Cause


class PointsRule(StrEnum):
    """Why points were booked, or none."""

    VERIFIED_REQUIRED = "verified_required"
    VERIFIED_OPTIONAL = "verified_optional"
    NOT_VERIFIED = "not_verified"
    CONTRADICTION = "contradiction"
    WEAKENED = "weakened"
    UNCLEAR_EVIDENCE = "unclear_evidence"
    UNCLEAR_VERIFIER = "unclear_verifier"
    LEFT_OPTIONAL = "left_optional"
    NOT_ACCEPTED = "not_accepted"
    UNSTRUCTURED = "unstructured"
    VOTE_UP = "vote_up"
    VOTE_DOWN = "vote_down"


POINTS: Final[Mapping[PointsRule, int]] = {
    PointsRule.VERIFIED_REQUIRED: 10,
    PointsRule.VERIFIED_OPTIONAL: 5,
    PointsRule.NOT_VERIFIED: -15,
    PointsRule.CONTRADICTION: -30,
    PointsRule.WEAKENED: -15,
    PointsRule.UNCLEAR_EVIDENCE: -2,
    PointsRule.UNCLEAR_VERIFIER: 0,
    PointsRule.LEFT_OPTIONAL: 0,
    PointsRule.NOT_ACCEPTED: 0,
    PointsRule.UNSTRUCTURED: 0,
    PointsRule.VOTE_UP: 3,
    PointsRule.VOTE_DOWN: -10,
}
"""`contradiction` stands beside `not_verified`: 45 in all. The zeros are there to be explained."""

_COUNTED: Final[Mapping[PointsRule, str]] = {
    PointsRule.VERIFIED_REQUIRED: "verified",
    PointsRule.VERIFIED_OPTIONAL: "verified",
    PointsRule.NOT_VERIFIED: "failed",
    PointsRule.WEAKENED: "failed",
    PointsRule.CONTRADICTION: "contradictions",
    PointsRule.UNCLEAR_EVIDENCE: "unclear",
    PointsRule.UNCLEAR_VERIFIER: "unclear",
}
_TELLING: Final = frozenset(_COUNTED) - {PointsRule.UNCLEAR_VERIFIER, PointsRule.CONTRADICTION}


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """Points for one reason. `task`: the task's id, or the message that a vote is about.

    `sign` -1 takes back what was booked before: its points and its count.
    """

    rule: PointsRule
    task: str
    reason: str = ""
    sign: int = 1

    @property
    def points(self) -> int:
        """What is added to the day."""
        return self.sign * POINTS[self.rule]

    @property
    def counted(self) -> str:
        """The count of a day that goes up with it; empty: none."""
        return _COUNTED.get(self.rule, "")

    @property
    def is_verdict(self) -> bool:
        """True where the agent's work was decided on: a verdict that only our side failed to give does not count."""
        return self.rule in _TELLING


def rules_for(  # noqa: PLR0911 - a table, first match
    asked: AskedTask, answer: Answer, cause: Cause | None, *, asserted: bool, contradiction: bool
) -> list[PointsRule]:
    """The rules that one verdict falls under. `asserted`: the agent said that it did the task.

    A contradiction counts with `not_verified` only, and is a recorded claim against a measured fact: the verifier says.
    """
    is_required = asked.is_required or asked.is_forced
    if asked.weakened:
        return [PointsRule.WEAKENED]
    if answer is Answer.VERIFIED:
        earned = PointsRule.VERIFIED_REQUIRED if is_required else PointsRule.VERIFIED_OPTIONAL
        return [earned if asked.is_accepted else PointsRule.NOT_ACCEPTED]
    if answer is Answer.UNCLEAR and cause is not Cause.EVIDENCE:
        return [PointsRule.UNCLEAR_VERIFIER]
    if not asked.is_structured:
        return [PointsRule.UNSTRUCTURED]
    if not (is_required or asserted):
        return [PointsRule.LEFT_OPTIONAL]
    if answer is Answer.UNCLEAR:
        return [PointsRule.UNCLEAR_EVIDENCE]
    return [PointsRule.NOT_VERIFIED, *([PointsRule.CONTRADICTION] if contradiction else [])]
