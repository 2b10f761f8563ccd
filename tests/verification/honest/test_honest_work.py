"""Is any honest submission turned away?"""

import asyncio
from collections.abc import Mapping

import pytest

from ..cheats.case import Case, honest
from ..cheats.judging import Outcome, asked_for, judge_all

SUBMISSIONS_MIN = 40

HONEST = honest()

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> Mapping[str, Outcome]:
    """Of every case that is asked for, judged together."""
    return asyncio.run(judge_all(asked_for(request, HONEST)))


@pytest.mark.parametrize("case", HONEST, ids=lambda case: case.name)
def test_honest_work_is_verified(case: Case, outcomes: Mapping[str, Outcome]) -> None:
    outcome = outcomes[case.name]
    assert outcome.answer in case.may_be, f"{case.about}\n{outcome.answer}: {outcome.reason}"


def test_there_are_at_least_forty_honest_submissions() -> None:
    assert len(HONEST) >= SUBMISSIONS_MIN
