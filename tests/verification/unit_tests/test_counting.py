"""Is a run of tests believed only if it was one: enough tests, all of them run, all passed, about the submission?"""

from pathlib import Path
from typing import Any

import pytest

from earnest.verification.verdict import Answer, Cause, Verdict
from yaml_file import read_yaml

from .trials import Trial, judge_all

CASES: dict[str, Any] = read_yaml(Path(__file__).with_name("counting.yaml"))
EXPECTED = {name: answer for answer in ("unclear", "not_verified") for name in CASES[answer]}
SHARED = {"isolation": "shared"}
FIXTURE = """
    import json, pathlib, pytest
    @pytest.fixture
    def data():
        return json.loads((pathlib.Path(__file__).parent / "data.json").read_text())
"""
PACKAGE = """
    import pytest, shop, shop.cart
    from shop.cart import Cart
    def test_names(): assert Cart().total == 0 and shop.Cart is Cart
    def test_one_class(): assert issubclass(Cart, shop.cart.Cart) and isinstance(shop.Cart(), Cart)
"""
SEE = "import pytest, solution\ndef test(): assert solution.see(1) == 1\n"
MORE = "import pytest, solution, helper\ndef test(data): assert solution.see(data) == helper.ONE\n"
TRIALS = [
    *(
        Trial(name=name, solution=CASES["solution"], tests=CASES[answer][name], config={"min_tests": 2})
        for name, answer in EXPECTED.items()
    ),
    Trial(
        name="shared",
        solution=CASES["solution"],
        tests=CASES["unclear"]["a class of the test's own"],
        config=SHARED,
    ),
    Trial(name="shared and failed", solution="", tests=CASES["not_verified"]["a failed subtest"], config=SHARED),
    Trial(
        name="several files, each with a module of its own",
        solution="seen = []\ndef see(x):\n    seen.append(x)\n    return len(seen)\n",
        tests=SEE,
        hidden={
            "more/test_more.py": MORE,
            "more/helper.py": "ONE = 1\n",
            "more/conftest.py": FIXTURE,
            "more/data.json": "[1]",
        },
        config={"min_tests": 2},
    ),
    Trial(
        name="a package",
        solution="",
        beside={"shop/__init__.py": "from .cart import Cart\n", "shop/cart.py": "class Cart:\n    total = 0\n"},
        tests=PACKAGE,
        config={"module": "shop"},
    ),
]
VERIFIED = ("several files, each with a module of its own", "a package")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    return judge_all(TRIALS)


@pytest.mark.parametrize("name", EXPECTED)
def test_only_a_whole_run_about_the_submission_proves_something(name: str, verdicts: dict[str, Verdict]) -> None:
    assert verdicts[name].answer == EXPECTED[name], verdicts[name].criteria[0].reason


@pytest.mark.parametrize("name", VERIFIED)
def test_what_is_in_order_is_verified(name: str, verdicts: dict[str, Verdict]) -> None:
    assert verdicts[name].answer is Answer.VERIFIED, verdicts[name].criteria[0].reason


def test_tests_that_share_the_process_can_fail_but_not_verify(verdicts: dict[str, Verdict]) -> None:
    assert verdicts["shared"].answer is Answer.UNCLEAR
    assert verdicts["shared and failed"].answer is Answer.NOT_VERIFIED


def test_who_is_to_blame_is_told(verdicts: dict[str, Verdict]) -> None:
    assert verdicts["tests that hang"].criteria[0].cause is Cause.VERIFIER
    assert verdicts["objects against each other"].flags
    assert "cannot be split" in verdicts["a class of the test's own"].criteria[0].reason


def test_a_reason_tells_nothing_of_what_was_expected(verdicts: dict[str, Verdict]) -> None:
    assert verdicts["a failed subtest"].criteria[0].reason == "1 of 2 tests failed; the first: AssertionError"
