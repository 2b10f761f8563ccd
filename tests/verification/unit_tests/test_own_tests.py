"""Do tests that the submission brought prove something only if they notice changes to the solution?"""

import ast
from textwrap import dedent

import pytest

from earnest.verification.unit_tests.mutants import MUTANTS_MAX, mutants, rewritten, spread
from earnest.verification.verdict import Answer, Verdict

from .trials import Trial, judge_all

SOLUTION = dedent(
    """
    def clamp(value, low=0, high=10):
        result = value
        if low > high:
            raise ValueError("low is above high")
        if value < low:
            result = low
        elif value > high:
            result = high
        return result
    """
)
GOOD = """
import pytest
from solution import clamp
@pytest.mark.parametrize(("value", "wanted"), [(-1, 0), (0, 0), (1, 1), (9, 9), (10, 10), (11, 10)])
def test_clamp(value, wanted): assert clamp(value) == wanted
def test_bounds(): assert clamp(5, 6, 7) == 6 and clamp(7, 7, 7) == 7 and clamp(3, low=1, high=2) == 2
def test_refused():
    with pytest.raises(ValueError): clamp(1, 3, 2)
"""
CASES = {
    "thorough": (SOLUTION, GOOD, Answer.VERIFIED),
    "vacuous": (SOLUTION, "from solution import clamp\ndef test(): assert clamp(5) is not None\n", Answer.NOT_VERIFIED),
    "asking nothing": (SOLUTION, "import solution\ndef test(): assert True\n", Answer.NOT_VERIFIED),
    "failing": (SOLUTION, "from solution import clamp\ndef test(): assert clamp(5) == 6\n", Answer.NOT_VERIFIED),
    "about the names of variables": (
        SOLUTION + "def source():\n    with open(__file__) as file: return file.read()\n",
        "from solution import source\ndef test(): assert 'result = value' in source()\n",
        Answer.NOT_VERIFIED,
    ),
    "nothing to change": (
        "def f(): pass\n",
        "from solution import f\ndef test(): assert f() is None\n",
        Answer.UNCLEAR,
    ),
    "no python": ("def f(:\n", GOOD, Answer.NOT_VERIFIED),
}


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    return judge_all(
        [
            Trial(
                name=name,
                solution=solution,
                tests="",
                beside={"test_own.py": tests},
                config={"tests_in_work": ["test_own.py"]},
            )
            for name, (solution, tests, _) in CASES.items()
        ]
    )


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", CASES)
def test_own_tests_are_judged_by_what_they_notice(name: str, verdicts: dict[str, Verdict]) -> None:
    assert verdicts[name].answer is CASES[name][2], verdicts[name].criteria[0].reason


def test_a_mutant_differs_in_one_place_and_can_be_compiled() -> None:
    tree = ast.parse(SOLUTION)
    found = [ast.unparse(mutant) for mutant in mutants(tree)]
    assert len(found) == len(set(found)) > 5
    assert ast.unparse(tree) not in found
    for text in found:
        compile(text, "mutant", "exec")


@pytest.mark.slow
def test_mutants_are_spread_over_the_whole() -> None:
    found = list(mutants(ast.parse("\n".join(f"x = {n}" for n in range(100)))))
    few = [ast.unparse(mutant) for mutant in spread(found, MUTANTS_MAX)]
    assert len(few) == MUTANTS_MAX
    assert "x = 1" in few[0]


def test_a_rewrite_has_other_names_and_does_the_same() -> None:
    text = ast.unparse(rewritten(ast.parse(SOLUTION)))
    assert "result = " not in text
    scope: dict[str, object] = {}
    exec(text, scope)
    clamp = scope["clamp"]
    assert callable(clamp)
    assert [clamp(value) for value in (-1, 5, 11)] == [0, 5, 10]
    assert clamp(3, low=1, high=2) == 2
