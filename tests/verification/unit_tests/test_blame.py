"""Who is to blame if the tests' own side passes a limit: the submission that flooded it, or the tests as they are?"""

from functools import partial

import pytest

from earnest.verification.verdict import Answer, Cause, Verdict

from .trials import Trial, judge_all

pytestmark = pytest.mark.slow  # limits have to be passed

LIMITS = {"wall_s": 50, "cpu_s": 2, "memory_mb": 256, "stdout_kb": 64}
"""Of processor time little, of other time much: a busy machine changes nothing."""
HEAD = "import pytest, itertools\nfrom solution import *\n"
trial = partial(Trial, limits=LIMITS)
PRINTED = (
    "import unittest\nfrom solution import *\nclass Tests(unittest.TestCase):\n    def test(self):\n"
    "        for _ in range(7):\n            got = f()\n            print(got)\n        self.assertTrue(got)\n"
)
LISTED = HEAD + "def test():\n    assert list(f())[:1] == [1]\n"
BUSY = HEAD + "def test():\n    got = f()\n    while True:\n        sorted(got, key=str)\n"
HELD = HEAD + "def test():\n    kept = []\n    while True:\n        kept.append(f())\n"
SHOWN = HEAD + "def test():\n    assert '1' in repr(f())\n"
SUBMISSIONS = {
    "what the tests print is huge": ("def f(): return 'x' * 15_000_000\n", PRINTED),
    "it prints without end": ("def f():\n    for _ in range(3000): print('x' * 1000)\n    return 1\n", PRINTED),
    "a generator that never ends": ("def f():\n    while True: yield 1\n", LISTED),
    "a huge list makes the tests busy": ("def f(): return list(range(1_500_000))\n", BUSY),
    "huge lists fill the tests' memory": ("def f(): return list(range(1_500_000))\n", HELD),
    "a repr that is slow": (
        "class A:\n    def __repr__(self):\n        while True: pass\ndef f(): return A()\n",
        SHOWN,
    ),
    "a repr that is larger than a message": (
        "class A:\n    def __repr__(self): return '2' * 30_000_000\ndef f(): return A()\n",
        SHOWN,
    ),
    "an answer larger than a message": ("def f(): return [1] * 20_000_000\n", LISTED),
}
QUICK = "def f(): return [1]\n"
TESTS = {
    "tests that are busy by themselves": HEAD + "def test():\n    assert f() == [1]\n    while True:\n        pass\n",
    "tests that print without end": HEAD
    + "def test():\n    assert f() == [1]\n    while True:\n        print('x' * 1000)\n",
    "tests that fill their memory": HEAD
    + "def test():\n    assert f() == [1]\n    kept = []\n    while True:\n        kept.append(bytearray(10_000_000))\n",
    "tests that end themselves": HEAD + "import os\ndef test():\n    assert f() == [1]\n    os._exit(0)\n",
    "tests that wait": HEAD + "import time\ndef test():\n    assert f() == [1]\n    time.sleep(60)\n",
}
TRIALS = [
    *(trial(name=name, solution=solution, tests=tests) for name, (solution, tests) in SUBMISSIONS.items()),
    *(trial(name=name, solution=QUICK, tests=tests) for name, tests in TESTS.items()),
    *(
        trial(name=f"{name}, honest", solution="def f(): return [1]\n", tests=tests)
        for name, tests in {"printed": PRINTED, "listed": LISTED, "shown": SHOWN}.items()
    ),
]


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    return judge_all(TRIALS)


@pytest.mark.parametrize("name", SUBMISSIONS)
def test_what_only_the_submission_sent_is_its_own_fault(name: str, verdicts: dict[str, Verdict]) -> None:
    assert verdicts[name].answer is Answer.NOT_VERIFIED, verdicts[name]


@pytest.mark.parametrize("name", TESTS)
def test_tests_that_pass_their_limits_by_themselves_blame_nobody(name: str, verdicts: dict[str, Verdict]) -> None:
    verdict = verdicts[name]
    assert (verdict.answer, verdict.criteria[0].cause) == (Answer.UNCLEAR, Cause.VERIFIER), verdict


@pytest.mark.parametrize("name", [one.name for one in TRIALS if one.name.endswith("honest")])
def test_the_same_tests_verify_who_answers_in_bounds(name: str, verdicts: dict[str, Verdict]) -> None:
    assert verdicts[name].answer is Answer.VERIFIED, verdicts[name]
