"""The decision about each task of a cycle, and their sum."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from earnest.accountability.asking import AskedTask
from earnest.accountability.heartbeat import Heartbeat
from earnest.accountability.points import POINTS, Charge, PointsRule, rules_for
from earnest.foundation.canonical import JsonValue, canonical_text
from earnest.foundation.shapes import from_json, to_json
from earnest.verification.verdict import Answer, Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskVerdict:
    """The verdict on one task. `waits`: the operator has to decide. `rules` are what its points come from.

    `for_operator`: the reason as it is for them alone, where it holds what was measured of their world.
    `decided_at_ms`: when they have decided, 0 where a machine did.
    """

    task: str
    answer: Answer
    reason: str
    cause: Cause | None = None
    contradiction: bool = False
    evidence: tuple[str, ...] = ()
    waits: bool = False
    by: str = ""
    rules: tuple[PointsRule, ...] = ()
    for_operator: str = ""
    decided_at_ms: int = 0

    @property
    def points(self) -> int:
        """What it earned or cost."""
        return sum(POINTS[rule] for rule in self.rules)

    def is_failure(self, asked: AskedTask) -> bool:
        """True where it uses up an attempt."""
        return self.points < 0 or (not asked.is_structured and self.answer is Answer.NOT_VERIFIED)

    def charges(self, sign: int = 1) -> list[Charge]:
        """Its points; with `sign` -1 they are taken back."""
        return [Charge(rule=rule, task=self.task, reason=self.reason, sign=sign) for rule in self.rules]


def asked_in(heartbeat: Heartbeat) -> tuple[AskedTask, ...]:
    """The tasks that it asked for."""
    return from_json(tuple[AskedTask, ...], json.loads(heartbeat.asked), f"what {heartbeat.id} asked for")


def verdicts_in(heartbeat: Heartbeat) -> tuple[TaskVerdict, ...]:
    """The verdicts on them, as far as there are any."""
    return from_json(tuple[TaskVerdict, ...], json.loads(heartbeat.verdicts), f"the verdicts on {heartbeat.id}")


def kept(parts: Iterable[AskedTask | TaskVerdict]) -> str:
    """Either as a heartbeat keeps it."""
    return canonical_text([to_json(part) for part in parts])


BY_OPERATOR: Final = "operator"


def feedback(asked: Iterable[AskedTask], verdicts: Iterable[TaskVerdict]) -> list[JsonValue]:
    """What the agent is told, a line each: of what was not verified, and of what the operator has decided."""
    return [
        _line(one, verdict)
        for one, verdict in zip(asked, verdicts, strict=True)
        if verdict.answer is Answer.UNCLEAR or verdict.points < 0 or verdict.by == BY_OPERATOR
    ]


def decided_since(asked: Iterable[AskedTask], verdicts: Iterable[TaskVerdict], since_ms: int) -> list[str]:
    """What the operator has decided since then, a line each."""
    pairs = zip(asked, verdicts, strict=True)
    return [_line(one, verdict) for one, verdict in pairs if verdict.decided_at_ms > since_ms]


def _line(asked: AskedTask, verdict: TaskVerdict) -> str:
    return f"{asked.id} (attempt {asked.attempt} of {asked.max_attempts}): {verdict.answer}: {verdict.reason}"


def ruled(asked: AskedTask, verdict: TaskVerdict, asserted: frozenset[str]) -> TaskVerdict:
    """The verdict with the rules that it falls under. `asserted`: the tasks that the agent says it did."""
    rules = rules_for(
        asked,
        verdict.answer,
        verdict.cause,
        asserted=asked.id in asserted or verdict.contradiction,
        contradiction=verdict.contradiction,
    )
    return replace(verdict, rules=tuple(rules))


def complete(
    asked: Iterable[AskedTask], found: Mapping[str, TaskVerdict], asserted: frozenset[str]
) -> tuple[TaskVerdict, ...]:
    """One verdict for each task: a weakened one is not verified, and where none was given it is unclear."""
    return tuple(ruled(one, _of(one, found.get(one.id)), asserted) for one in asked)


def _of(asked: AskedTask, found: TaskVerdict | None) -> TaskVerdict:
    if asked.weakened:
        reason = f"the contract was weakened without leave: {asked.weakened}"
        return TaskVerdict(task=asked.id, answer=Answer.NOT_VERIFIED, reason=reason)
    if found is None:
        reason = "no verdict was given"
        return TaskVerdict(task=asked.id, answer=Answer.UNCLEAR, cause=Cause.VERIFIER, reason=reason)
    return found
