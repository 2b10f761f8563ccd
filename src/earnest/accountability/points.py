"""The points that a verdict or a vote earns or costs. (seed accountability, Scoring System; ruling 3)"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from earnest.accountability.asking import Asked
from earnest.verification.verdict import Answer, Cause


class Rule(StrEnum):
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


POINTS: Final[Mapping[Rule, int]] = {
    Rule.VERIFIED_REQUIRED: 10,
    Rule.VERIFIED_OPTIONAL: 5,
    Rule.NOT_VERIFIED: -15,
    Rule.CONTRADICTION: -30,
    Rule.WEAKENED: -15,
    Rule.UNCLEAR_EVIDENCE: -2,
    Rule.UNCLEAR_VERIFIER: 0,
    Rule.LEFT_OPTIONAL: 0,
    Rule.NOT_ACCEPTED: 0,
    Rule.UNSTRUCTURED: 0,
    Rule.VOTE_UP: 3,
    Rule.VOTE_DOWN: -10,
}
"""`contradiction` stands beside `not_verified`: 45 in all. The zeros are there to be explained."""

_COUNTED: Final[Mapping[Rule, str]] = {
    Rule.VERIFIED_REQUIRED: "verified",
    Rule.VERIFIED_OPTIONAL: "verified",
    Rule.NOT_VERIFIED: "failed",
    Rule.WEAKENED: "failed",
    Rule.CONTRADICTION: "contradictions",
    Rule.UNCLEAR_EVIDENCE: "unclear",
    Rule.UNCLEAR_VERIFIER: "unclear",
}
_TELLING: Final = frozenset(_COUNTED) - {Rule.UNCLEAR_VERIFIER, Rule.CONTRADICTION}


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """Points for one reason. `task`: the task's id, or the message that a vote is about.

    `sign` -1 takes back what was booked before: its points and its count.
    """

    rule: Rule
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
    asked: Asked, answer: Answer, cause: Cause | None, *, asserted: bool, contradiction: bool
) -> list[Rule]:
    """The rules that one verdict falls under. `asserted`: the agent said that it did the task.

    A contradiction counts with `not_verified` only, and is a recorded claim against a measured fact: the verifier says.
    """
    is_required = asked.is_required or asked.is_forced
    if asked.weakened:
        return [Rule.WEAKENED]
    if answer is Answer.VERIFIED:
        earned = Rule.VERIFIED_REQUIRED if is_required else Rule.VERIFIED_OPTIONAL
        return [earned if asked.is_accepted else Rule.NOT_ACCEPTED]
    if answer is Answer.UNCLEAR and cause is not Cause.EVIDENCE:
        return [Rule.UNCLEAR_VERIFIER]
    if not asked.is_structured:
        return [Rule.UNSTRUCTURED]
    if not (is_required or asserted):
        return [Rule.LEFT_OPTIONAL]
    if answer is Answer.UNCLEAR:
        return [Rule.UNCLEAR_EVIDENCE]
    return [Rule.NOT_VERIFIED, *([Rule.CONTRADICTION] if contradiction else [])]
