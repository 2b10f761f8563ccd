"""Tests as people publish them: marks, fixtures, both runners, packages, data, and skips that they hold themselves."""

from collections.abc import Mapping

import pytest

from earnest.foundation.canonical import JsonObject
from earnest.verification.verdict import Answer, Verdict

from .trials import Trial, judge_all

Cases = Mapping[str, tuple[str, JsonObject, Mapping[str, str]]]
"""By name: the tests, the config, and files beside them."""

SOLUTION = """
def double(n): return 2 * n
def told(): return None
READY = True
"""
PYTEST = """
import json, pathlib, unittest, pytest
from solution import double

pytestmark = pytest.mark.anybody_may_invent_this
DATA = json.loads(pathlib.Path(__file__).with_name("data.json").read_text())

class Case(unittest.TestCase):
    def setUp(self): self.seen = []
    @pytest.mark.task(taskno=1)
    def test_case(self):
        for n in DATA:
            with self.subTest(n=n): self.assertEqual(double(n), n + n)
    def tearDown(self): self.assertEqual(self.seen, [])

@pytest.mark.parametrize("n", [1, 2, pytest.param(3, id="three")])
def test_parameters(n, factor): assert double(n) == n * factor

def test_old_fixture(tmpdir, record_property): assert double(len(tmpdir.listdir())) == 0
"""
CONFTEST = """
import pytest
@pytest.fixture(params=[2])
def factor(request): return request.param
"""
MARKED = """
import unittest, pytest
from solution import double
class Case(unittest.TestCase):
    @pytest.mark.task(taskno=1)
    def test_case(self):
        self.assertEqual(double(2), 4)
        with pytest.raises(TypeError): double(None)
"""
PACKAGED = """
import unittest
from .helper import FOUR
from solution import double
class Case(unittest.TestCase):
    def test_case(self): self.assertEqual(double(2), FOUR)
"""
HELD = """
import sys, unittest, pytest
from solution import double
CASES = [(1, 2), (double.__name__, "doubledouble")]

@pytest.mark.parametrize(("n", "doubled"), CASES)
def test_double(n, doubled):
    if sys.platform.startswith("linux") and isinstance(n, str):
        pytest.skip("texts elsewhere only")
    assert double(n) == doubled

@unittest.skipIf(sys.platform.startswith("linux"), "not here")
def test_elsewhere(): assert double(1) == 3

@pytest.mark.xfail(reason="some day")
def test_some_day(): assert double(1) == 1.5
"""
CAUSED = """
import pytest, solution
def test_double(): assert solution.double(1) == 2
def test_told():
    answer = solution.told()
    if answer is None: pytest.skip("nothing told")
    assert answer == 1
"""
BEHIND_A_FIXTURE = """
import pytest, solution
@pytest.fixture
def answer(): return solution.told()
def test_double(): assert solution.double(1) == 2
def test_told(answer):
    if not answer: pytest.skip("nothing told")
    assert answer == 1
"""
MARKED_BY_IT = """
import unittest, solution
class Case(unittest.TestCase):
    def test_double(self): self.assertEqual(solution.double(1), 2)
    @unittest.skipIf(solution.READY, "nothing to be told")
    def test_told(self): self.assertEqual(solution.told(), 1)
"""
SKIPPED_AND_FAILED = """
import pytest, solution
@pytest.mark.skip
def test_nothing(): pass
def test_told(): assert solution.told() == 1
"""
SKIPPED = """
import pytest, solution
@pytest.mark.skip
def test_nothing(): pass
def test_double(): assert solution.double(1) == 2
"""
BESIDE = {"conftest.py": CONFTEST, "data.json": "[1, 5]"}
PACKAGE = {"checks/__init__.py": "", "checks/helper.py": "FOUR = 4\n", "checks/test_more.py": PACKAGED}
VERIFIED: Cases = {
    "pytest with all that belongs to it": (PYTEST, {}, BESIDE),
    "unittest though pytest is imported": (MARKED, {"runner": "unittest"}, {}),
    "a package of tests, unittest": (MARKED, {"runner": "unittest"}, PACKAGE),
    "a package of tests, pytest": (MARKED, {"runner": "pytest"}, PACKAGE),
    "skips that the tests hold": (HELD, {}, {}),
    "a skip that the submission causes and the config allows": (CAUSED, {"skips": 1}, {}),
}
UNCLEAR: Cases = {
    "a skip that the submission causes": (CAUSED, {}, {}),
    "a skip that it causes through a fixture": (BEHIND_A_FIXTURE, {}, {}),
    "a skip that it causes by a constant": (MARKED_BY_IT, {}, {}),
    "more skips than allowed": (SKIPPED, {"skips": 0}, {}),
    "skips do not count as tests": (SKIPPED, {"min_tests": 2}, {}),
}
REFUSED: Cases = {"a failure beside a skip": (SKIPPED_AND_FAILED, {}, {})}
TRIALS = [
    Trial(name=name, solution=SOLUTION, tests=tests, config=config, hidden=beside)
    for name, (tests, config, beside) in {**VERIFIED, **UNCLEAR, **REFUSED}.items()
]


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    return judge_all(TRIALS)


@pytest.mark.parametrize("name", VERIFIED)
def test_published_tests_are_taken_as_they_are(verdicts: dict[str, Verdict], name: str) -> None:
    assert verdicts[name].answer is Answer.VERIFIED, verdicts[name].criteria[0].reason


@pytest.mark.parametrize("name", UNCLEAR)
def test_a_skip_that_nobody_allowed_proves_nothing(verdicts: dict[str, Verdict], name: str) -> None:
    assert verdicts[name].answer is Answer.UNCLEAR, verdicts[name].criteria[0].reason


@pytest.mark.parametrize("name", REFUSED)
def test_a_skip_hides_no_failure(verdicts: dict[str, Verdict], name: str) -> None:
    assert verdicts[name].answer is Answer.NOT_VERIFIED, verdicts[name].criteria[0].reason


def test_what_is_skipped_is_told(verdicts: dict[str, Verdict]) -> None:
    told = verdicts["skips that the tests hold"].criteria[0].reason
    assert told == "1 of 4 tests passed; 3 are skipped or expected to fail as they are written"
