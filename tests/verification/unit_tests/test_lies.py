"""Does a submission get by on its own word, or by swallowing what the tests raise?"""

from pathlib import Path
from typing import Any

import pytest

from earnest.verification.unit_tests.claims import unlike
from earnest.verification.verdict import Answer, Verdict
from yaml_file import read_yaml

from .trials import Trial, judge_all

CASES: dict[str, Any] = read_yaml(Path(__file__).with_name("lies.yaml"))
EXPECTED = {name: Answer(answer) for answer, cases in CASES.items() for name in cases}


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    return judge_all([Trial(name=name, **CASES[answer][name]) for name, answer in EXPECTED.items()])


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", EXPECTED)
def test_neither_its_word_nor_a_lost_failure_counts(name: str, verdicts: dict[str, Verdict]) -> None:
    """Unclear is also what fails apart from the tests and passes together with them, where it can fake that."""
    assert verdicts[name].answer in {EXPECTED[name], Answer.UNCLEAR}, verdicts[name].criteria[0].reason


@pytest.mark.parametrize("value", ["", "Ann", "é!", 0, -1, 2.5, 10**30, True, (), ("a", 1), None, [1], (None,)])
def test_what_a_thing_must_deny_is_never_what_it_was_asked(value: object) -> None:
    found = unlike(value)
    assert found
    assert value not in found or value == ""
    assert any(each != value for each in found)
