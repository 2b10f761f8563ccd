"""Does `unit_tests` keep the promises of every check, and what does lint say about hidden tests?"""

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from earnest.effects.hands.sandbox.api import Execution, ExecutionReport, ExecutionStatus
from earnest.foundation.canonical import JsonObject
from earnest.testing.check_conformance import CheckCase, CheckConformance
from earnest.verification.checks.unit_tests import CHECK
from earnest.verification.unit_tests.judging import judge
from earnest.verification.unit_tests.linting import complaints
from earnest.verification.unit_tests.trial import SuitePlan, SuiteRun

TESTS = (
    b"import unittest, solution\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(solution.f(), 1)\n"
)
GOOD = {
    **dict.fromkeys(("run", "passed", "collected", "calls", "asserted"), 3),
    **dict.fromkeys(("skipped", "deselected"), 0),
    **dict.fromkeys(("fault", "inseparable", "broken", "reason", "place"), ""),
    "blame": False,
    "finished": True,
    "flags": [],
    "skips": [],
    "weak": [],
}
DONE = ExecutionReport(status=ExecutionStatus.DONE, exit_code=0)
PLAN = SuitePlan(modules=("solution",), tests=("test_it.py",), min_tests=3)


def answer(execution: Execution) -> ExecutionReport:
    assert execution.joined is not None
    (result,) = (name for name in execution.joined.artifacts if name.startswith("result"))
    return replace(DONE, joined=replace(DONE, artifacts={result: json.dumps(GOOD).encode()}))


class TestUnitTests(CheckConformance):
    @pytest.fixture
    def case(self) -> CheckCase:
        return CheckCase(
            check=CHECK,
            config={"module": "solution", "tests": ["hidden/test_it.py"], "min_tests": 1, "runner": "unittest"},
            submission={"solution.py": b"def f(): return 1\n"},
            beside={"hidden/test_it.py": TESTS},
            answer=answer,
        )


@pytest.mark.parametrize(
    ("change", "passed"),
    [
        ({}, True),
        ({"run": 2}, None),
        ({"run": 4, "collected": 4}, False),
        ({"passed": 2}, False),
        ({"passed": 2, "skipped": 1}, None),
        ({"collected": 4}, None),
        ({"deselected": 1}, None),
        ({"run": 2, "passed": 2, "collected": 2}, None),
        ({"calls": 0}, None),
        ({"finished": False}, None),
        ({"finished": 1}, None),
        ({"fault": "the submission ended"}, False),
        ({"fault": None}, False),
        ({"inseparable": "x"}, None),
        ({"broken": "x"}, None),
        ({"broken": "x", "blame": True}, False),
        ({"run": True}, False),
        ({"flags": None}, True),
        ({"asserted": 0}, None),
    ],
)
def test_only_a_whole_run_passes(change: Mapping[str, object], passed: bool | None) -> None:
    count: JsonObject = {**GOOD, **change}  # type: ignore[dict-item]
    findings = judge(PLAN, SuiteRun(count=count, reports=(DONE, DONE)), ())
    if "run" in change and change["run"] is True:
        assert findings.passed is not True
    else:
        assert findings.passed is passed
    assert bool(findings.flags) is (change.get("flags", ()) is None)


def test_no_count_is_no_pass_and_an_exit_code_is_a_failure() -> None:
    assert judge(PLAN, SuiteRun(count=None, reports=(DONE,)), ()).passed is None
    assert judge(PLAN, SuiteRun(count=GOOD, reports=(replace(DONE, exit_code=1), DONE)), ()).passed is False  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({"module": "a", "modules": ["a"], "tests": ["t.py"]}, ""),
        ({"module": "a b", "tests": ["t.py"]}, "module"),
        ({"module": "a", "tests": ["../t.py"]}, "tests"),
        ({"module": "a", "tests": ["t.txt"]}, "tests"),
        ({"module": "a", "tests": ["t.py"], "tests_in_work": ["t.py"]}, ""),
        ({"module": "a", "tests_in_work": ["t.py"], "isolation": "shared"}, ""),
        ({"module": "a", "tests": ["t.py"], "killed_percent": 50}, ""),
        ({"module": "a", "tests": ["t.py"], "runner": "nose"}, "runner"),
    ],
)
def test_a_faulty_config_is_named(config: JsonObject, path: str) -> None:
    assert path in [fault.path for fault in CHECK.config_faults(config, None)]


@pytest.mark.parametrize(
    ("tests", "said"),
    [
        ("def test(): f(1)\n", "asserts nothing"),
        ("def test(): assert A(1) == A(1)\n", "compares two objects"),
        (
            "class T(TestCase):\n    def test(self): self.assertEqual(A(1) + A(2), solution.A(3))\n",
            "compares two objects",
        ),
        ("def helper(): pass\n", "there are 0 tests"),
        ("def test(:\n", "is no Python"),
        ("def check(x): assert x\ndef test(): check(f(1))\n", ""),
        ("import pytest\ndef test():\n    with pytest.raises(ValueError): f(1)\n", ""),
        ("def test(): assert A(1).x == 1 and f(A(1)) == 2\n", ""),
    ],
)
def test_lint_names_tests_that_prove_nothing(tests: str, said: str) -> None:
    text = b"import solution\nfrom solution import A, f\n" + tests.encode()
    found = list(complaints({"t.py": text, "data.json": b"{"}, ("solution",), 1))
    assert (said in found[0].message) if said else not found, found


@pytest.mark.parametrize(
    ("tests", "is_grave"),
    [
        ("def test(): f(1)\n", True),
        ("def test(): assert A(1) == A(1)\n", True),
        ("def test(): A(1)\ndef test_2(): assert f(1) == 1\n", False),
        ("def test():\n    assert A(1) == A(1)\n    assert A(1).x == 1\n", False),
        ("def test(): assert A(1) == A(1)\ndef test_2(): assert f(1) == 1\n", False),
    ],
)
def test_lint_refuses_only_where_no_test_decides(tests: str, is_grave: bool) -> None:
    text = b"import solution\nfrom solution import A, f\n" + tests.encode()
    found = list(complaints({"t.py": text}, ("solution",), 1))
    assert any(weakness.is_grave for weakness in found) is is_grave, found


@pytest.mark.parametrize(
    ("body", "is_named"),
    [
        ("assert f(x) == sorted(x)", True),
        ("self.assertEqual(f(x), sorted(x))", True),
        ("self.assertEqual(sorted(x), f(x))", True),
        ("y = f(x)\n    assert y == [n for n in x if n]", True),
        ("y = f(x)\n    with a:\n        assert y[0] == x[0]", True),
        ("wanted = sorted(x)\n    assert f(x) == wanted", False),
        ("f(x)\n    assert x == [1, 2]", False),
        ("assert f(list(x)) == sorted(x)", False),
        ("assert f(x) == [1, 2]", False),
        ("assert f(x) == len(x)", False),
    ],
)
def test_lint_names_expectations_made_after_the_call_from_what_it_was_given(body: str, is_named: bool) -> None:
    text = f"from solution import f\ndef test(self):\n    x = [2, 1]\n    {body}\n".encode()
    found = [weakness.message for weakness in complaints({"t.py": text}, ("solution",), 1)]
    assert any("after the call" in message for message in found) is is_named, found
