"""Who is to blame if the tests' own side passes a limit: the submission that flooded it, or the tests as they are?"""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from earnest.verification.verdict import Answer, Cause, Verdict
from yaml_file import read_yaml

from .trials import Trial, judge_all

pytestmark = pytest.mark.slow  # limits have to be passed

LIMITS = {"wall_s": 50, "cpu_s": 2, "memory_mb": 256, "stdout_kb": 64}
"""Of processor time little, of other time much: a busy machine changes nothing."""
CASES: dict[str, Any] = read_yaml(Path(__file__).with_name("blame.yaml"))
FLOODS, TESTS = CASES["floods"], CASES["tests"]
HONEST = {case["tests"] for name, case in FLOODS.items() if "busy" not in name and "memory" not in name}
QUICK = "def f(): return [1]\n"
trial = partial(Trial, limits=LIMITS)
TRIALS = [
    *(trial(name=name, solution=case["solution"], tests=case["tests"]) for name, case in FLOODS.items()),
    *(trial(name=name, solution=QUICK, tests=tests) for name, tests in TESTS.items()),
    *(trial(name=f"{at} honest", solution=QUICK, tests=tests) for at, tests in enumerate(sorted(HONEST))),
]


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    return judge_all(TRIALS)


@pytest.mark.parametrize("name", FLOODS)
def test_what_only_the_submission_sent_is_its_own_fault(name: str, verdicts: dict[str, Verdict]) -> None:
    assert verdicts[name].answer is Answer.NOT_VERIFIED, verdicts[name]


@pytest.mark.parametrize("name", TESTS)
def test_tests_that_pass_their_limits_by_themselves_blame_nobody(name: str, verdicts: dict[str, Verdict]) -> None:
    verdict = verdicts[name]
    assert (verdict.answer, verdict.criteria[0].cause) == (Answer.UNCLEAR, Cause.VERIFIER), verdict


@pytest.mark.parametrize("name", [one.name for one in TRIALS if one.name.endswith("honest")])
def test_the_same_tests_verify_who_answers_in_bounds(name: str, verdicts: dict[str, Verdict]) -> None:
    assert verdicts[name].answer is Answer.VERIFIED, verdicts[name]
