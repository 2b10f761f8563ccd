"""Does the corpus of problems hold as much as its page promises?"""

from pathlib import Path
from typing import Any

import yaml

from .source import ROOT, expect_none

PROBLEMS = ROOT / "tests" / "verification" / "problems"
PROBLEMS_MIN = 60
BUGS_OF_A_PROBLEM_MIN = 3


def _given() -> dict[Path, dict[str, Any]]:
    return {path: yaml.safe_load(path.read_text(encoding="utf-8")) for path in PROBLEMS.rglob("*.yaml")}


def test_there_are_at_least_sixty_problems() -> None:
    assert len(_given()) >= PROBLEMS_MIN


def test_every_problem_has_at_least_three_wrong_solutions_that_differ() -> None:
    expect_none(
        (
            path.stem
            for path, given in _given().items()
            if len({*map(str, given["bugs"].values())}) < BUGS_OF_A_PROBLEM_MIN
        ),
        "fewer wrong solutions",
    )


def test_about_half_of_the_problems_are_tested_with_pytest_and_half_with_unittest() -> None:
    texts = [given["tests"] for given in _given().values()]
    with_unittest = sum("unittest.TestCase" in text for text in texts)
    assert len(texts) / 3 <= with_unittest <= len(texts) * 2 / 3
