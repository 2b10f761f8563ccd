"""Is every right solution verified, and no wrong one?"""

import asyncio
from collections.abc import Mapping

import pytest

from ..cheats.case import Case
from ..cheats.judging import Outcome, asked_for, judge_all
from .problem import problems

PROBLEMS = problems()
RIGHT = [problem.right() for problem in PROBLEMS]
WRONG = [case for problem in PROBLEMS for case in problem.wrong()]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> Mapping[str, Outcome]:
    """Of every solution that is asked for, judged together."""
    return asyncio.run(judge_all(asked_for(request, [*RIGHT, *WRONG])))


@pytest.mark.parametrize("case", RIGHT, ids=lambda case: case.name)
def test_a_right_solution_is_verified(case: Case, outcomes: Mapping[str, Outcome]) -> None:
    outcome = outcomes[case.name]
    assert outcome.answer in case.may_be, f"{case.about}\n{outcome.answer}: {outcome.reason}"


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.name)
def test_a_solution_with_a_bug_is_not_verified(case: Case, outcomes: Mapping[str, Outcome]) -> None:
    outcome = outcomes[case.name]
    assert outcome.answer in case.may_be, f"{case.about}\n{outcome.answer}: {outcome.reason}"
