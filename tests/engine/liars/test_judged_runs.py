"""What becomes of a run whose judge is a model: corrections, judges that fail, criteria of the task."""

from dataclasses import replace

import pytest

from earnest.contracts.criterion import Criterion
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.hands.sandbox.available import UnavailableSandbox
from earnest.effects.hands.tools.record import ToolCall
from earnest.engine.gradient.cascade import AbandonCause, MacroState
from earnest.engine.messages import Role
from earnest.foundation.canonical import JsonObject

from .case import Deed
from .trial import Told, Trial, all_met, tried

C1 = Criterion(id="C1", text="one.txt says one and a half")
C2 = Criterion(id="C2", text="two.txt says two and a half")


def deed(*cites: tuple[str, str], **files: str) -> Deed:
    """Files written one after the other, by name without its extension."""
    calls = tuple(ToolCall(tool="write_file", args={"path": f"{n}.txt", "content": t}) for n, t in files.items())
    return Deed(calls=calls, says="done", cites=cites)


async def run(trial: Trial) -> Told:
    """Nothing here needs a sandbox."""
    return await tried(trial, UnavailableSandbox("none is needed", VirtualClock()))


ONE = deed(("c1", "one and a half"), one="one and a half")
BOTH = deed(("c1", "one and a half"), ("c2", "two and a half"), one="one and a half", two="two and a half")


async def test_a_correction_builds_on_what_the_first_execution_did() -> None:
    first = deed(("c1", "one and a half"), one="one and a half")
    then = deed(("c1", "one and a half"), ("c2", "two and a half"), two="two and a half")
    told = await run(Trial(deed=first, corrected=then, criteria=(C1, C2)))
    assert told.result.directive is MacroState.ACCEPT, told.objections
    assert told.objections == ["C2: no call of this work changed two.txt"]
    assert [(turn.role, turn.attempt) for turn in told.asked] == [(Role.R4A, 1), (Role.R4A, 2)]


@pytest.mark.parametrize("answer", [None, {"criteria": []}, {"verdict": "verified"}])
async def test_a_judge_that_breaks_sends_nobody_back_and_blames_nobody(answer: JsonObject | None) -> None:
    told = await run(Trial(deed=ONE, corrected=ONE, criteria=(C1,), answers={Role.R4A: answer}))
    assert told.result.directive is MacroState.ABANDON
    assert told.result.cause is not AbandonCause.DIVERGENCE
    assert {turn.attempt for turn in told.asked} == {1}
    assert told.result.unmet


async def test_what_no_judge_could_tell_is_not_asked_of_the_executor() -> None:
    broken = {"criteria": [*all_met((C1,), ONE)["criteria"], {"id": "C2", "met": "yes"}]}  # type: ignore[misc]
    told = await run(Trial(deed=ONE, corrected=ONE, criteria=(C1, C2), answers={Role.R4A: broken}))
    assert len(told.asked) == 1


async def test_criteria_of_the_task_are_judged_over_all_that_was_recorded() -> None:
    whole = Criterion(id="T1", text="one.txt and two.txt say what was asked for: one and a half, two and a half")
    told = await run(Trial(deed=BOTH, criteria=(C1, C2), task_criteria=(whole,)))
    assert told.result.directive is MacroState.ACCEPT, told.objections
    assert [turn.role for turn in told.asked] == [Role.R4A, Role.R4B]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"criteria": [{"id": "T1", "met": False, "evidence": [], "reason": "too short"}]}, "too short"),
        ({"criteria": [{"id": "T1", "met": True, "evidence": [], "reason": "fine"}]}, "refers to nothing"),
        (all_met((Criterion(id="T1", text=""),), deed(("c9", "one and a half"))), "no call of this work"),
        ({"criteria": "fine"}, "does not count"),
        (None, "it is down"),
    ],
)
async def test_a_rejection_by_the_whole_counts_and_says_why(answer: JsonObject | None, reason: str) -> None:
    whole = Criterion(id="T1", text="The half is told")
    told = await run(Trial(deed=ONE, criteria=(C1,), task_criteria=(whole,), answers={Role.R4B: answer}))
    assert told.result.directive is not MacroState.ACCEPT
    assert told.result.directive is not MacroState.SUCCESS
    assert reason in told.objections[-1]


async def test_an_optional_criterion_that_is_not_met_stops_nothing() -> None:
    told = await run(Trial(deed=ONE, criteria=(C1, replace(C2, required=False))))
    assert told.result.directive is MacroState.ACCEPT, told.objections
