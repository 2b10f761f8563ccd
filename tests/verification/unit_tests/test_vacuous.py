"""Is a test that passed without deciding anything noticed, and is its honest neighbour left alone?"""

from pathlib import Path
from typing import Any

import pytest

from earnest.verification.verdict import Answer, Cause, Verdict
from yaml_file import read_yaml

from .trials import Trial, judge_all

pytestmark = pytest.mark.slow  # some ninety runs of tests

CASES: dict[str, Any] = read_yaml(Path(__file__).with_name("vacuous.yaml"))
HONEST, CHEATS, OF_THEIR_OWN = CASES["honest"], CASES["cheats"], CASES["of_their_own"]
HEAD = "import math, unittest\nfrom solution import *\nT = unittest.TestCase\n"
LATE = "an expectation made of what was cleared"
"""Named by lint, too: such a test is believed of nobody who changes what he is given."""


def _headed(tests: str) -> str:
    return ("import pytest\n" if "pytest." in tests else "") + HEAD + tests


TRIALS = [
    *(Trial(name=name, solution=case["solution"], tests=_headed(case["tests"])) for name, case in CHEATS.items()),
    *(Trial(name=f"{name}, answered", solution=HONEST, tests=_headed(case["tests"])) for name, case in CHEATS.items()),
    *(Trial(name=name, solution=HONEST, tests=_headed(tests)) for name, tests in OF_THEIR_OWN.items()),
    Trial(name="nothing asserts", solution=HONEST, tests=HEAD + "def test():\n    doubled([1])\n"),
    Trial(
        name="wrong", solution="def doubled(values): return [1]\n", tests=HEAD + CHEATS["a zip over nothing"]["tests"]
    ),
]


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    return judge_all(TRIALS)


@pytest.mark.parametrize("name", CHEATS)
def test_a_test_that_decided_nothing_is_flagged(name: str, verdicts: dict[str, Verdict]) -> None:
    verdict = verdicts[name]
    assert (verdict.answer, verdict.criteria[0].cause) == (Answer.UNCLEAR, Cause.EVIDENCE), verdict
    assert verdict.flags, verdict


@pytest.mark.parametrize("name", sorted(set(CHEATS) - {LATE}))
def test_the_same_test_is_believed_of_work_that_answers(name: str, verdicts: dict[str, Verdict]) -> None:
    assert verdicts[f"{name}, answered"].answer is Answer.VERIFIED, verdicts[f"{name}, answered"]


@pytest.mark.parametrize("name", OF_THEIR_OWN)
def test_what_the_tests_decide_themselves_is_nobodys_fault(name: str, verdicts: dict[str, Verdict]) -> None:
    assert verdicts[name].answer is Answer.VERIFIED, verdicts[name]


def test_tests_that_assert_nothing_are_the_fault_of_who_wrote_them(verdicts: dict[str, Verdict]) -> None:
    verdict = verdicts["nothing asserts"]
    assert (verdict.answer, verdict.criteria[0].cause) == (Answer.UNCLEAR, Cause.VERIFIER), verdict


def test_a_failed_assertion_fails(verdicts: dict[str, Verdict]) -> None:
    assert verdicts["wrong"].answer is Answer.NOT_VERIFIED
