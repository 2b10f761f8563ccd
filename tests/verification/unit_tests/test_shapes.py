"""Does the stand-in serve what hidden tests really do? Right solutions of many shapes, each with tests that use it."""

from pathlib import Path

import pytest

from earnest.verification.verdict import Answer, Verdict
from yaml_file import read_yaml

from .trials import Trial, judge_all

FOLDER = Path(__file__).parent / "shapes"
SHAPES = [shape for path in sorted(FOLDER.glob("*.yaml")) for shape in read_yaml(path)]
TRIALS = [Trial(name=each["name"], solution=each["solution"], tests=each["tests"]) for each in SHAPES]


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    return judge_all(TRIALS)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", [trial.name for trial in TRIALS])
def test_a_right_solution_is_verified(name: str, verdicts: dict[str, Verdict]) -> None:
    assert verdicts[name].answer is Answer.VERIFIED, verdicts[name].criteria[0].reason
