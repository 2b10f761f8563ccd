"""Is a test that passed without deciding anything noticed, and is its honest neighbour left alone?"""

import pytest

from earnest.verification.verdict import Answer, Cause, Verdict

from .trials import Trial, judge_all

HONEST = """
    import math
    def doubled(values): return [2 * value for value in values]
    def kept(values):
        values.append(1)
        return sorted(values)
    def ratio(a, b): return a / b if b else math.nan
    def called_once(probe): return probe(1)
"""
EMPTY = "def doubled(values): return []\n"
HALF = "def doubled(values): return [2 * value for value in values][:1]\n"
CLEARS = "def kept(values):\n    values.clear()\n    return []\n"
NAN = "def ratio(a, b): return float('nan')\n"
RESETS = "def called_once(probe):\n    probe(1), probe(1)\n    probe.calls = 1\n    return 1\n"
WIPES = "def called_once(probe):\n    probe(1), probe(1)\n    del probe.seen[1:]\n    return 1\n"
HEAD = "import math, pytest, unittest\nfrom solution import *\nT = unittest.TestCase\n"

ZIP = "def test():\n    for a, b in zip(doubled([1, 2, 3]), [2, 4, 6]):\n        assert a == b\n"
TYPED = "def test():\n    got = doubled([1, 2, 3])\n    assert isinstance(got, list)\n    for each in got:\n        assert each % 2 == 0\n"
ALL = "def test():\n    assert all(a == b for a, b in zip(doubled([1, 2, 3]), [2, 4, 6]))\n"
ANY = "class Tests(T):\n    def test(self):\n        self.assertFalse(any(each % 2 for each in doubled([1, 2])))\n"
IF = "def test():\n    got = doubled([1])\n    if got:\n        assert got == [2]\n"
HELPER = "def look(got):\n    for each in got:\n        assert each % 2 == 0\ndef test():\n    look(doubled([1, 2]))\n"
BOTH = "def test():\n    got = doubled([1, 2])\n    assert type(got) is list and all(each % 2 == 0 for each in got)\n"
LATE = "def test():\n    values = [3, 1]\n    assert kept(values) == sorted(values)\n"
FAR = "def test():\n    assert not abs(ratio(1, 2) - 0.5) > 0.01\n"
FAIL = "class Tests(T):\n    def test(self):\n        if abs(ratio(1, 2) - 0.5) > 0.01:\n            self.fail('far')\n"
COUNTER = """
class Probe:
    def __init__(self):
        self.calls, self.seen = 0, []
    def __call__(self, x):
        self.calls += 1
        self.seen.append(x)
        return x
def test():
    probe = Probe()
    called_once(probe)
    assert MEASURE == 1
"""
COUNTED, SEEN = (COUNTER.replace("MEASURE", each) for each in ("probe.calls", "len(probe.seen)"))

CHEATS = {
    "a zip over nothing": (EMPTY, ZIP),
    "a zip over half of it": (HALF, ZIP),
    "all of nothing": (EMPTY, ALL),
    "all of half of it": (HALF, ALL),
    "none of nothing": (EMPTY, ANY),
    "a loop over nothing beside an assertion": (EMPTY, TYPED),
    "a helper that loops over nothing": (EMPTY, HELPER),
    "an assertion under a condition": (EMPTY, IF),
    "two conditions, one of them over nothing": (EMPTY, BOTH),
    "an expectation made of what was cleared": (CLEARS, LATE),
    "not a number is not far away": (NAN, FAR),
    "not a number fails no condition": (NAN, FAIL),
    "a counter that is set back": (RESETS, COUNTED),
    "a record that is cut": (WIPES, SEEN),
}
OF_THEIR_OWN = {
    "cases of which one is empty": "@pytest.mark.parametrize('many', [[], [1]])\n"
    "def test(many):\n    for each in many:\n        assert doubled([each]) == [2 * each]\n",
    "a condition of the platform": "import sys\ndef test():\n    if sys.platform == 'other':\n        assert doubled([]) == 1\n"
    "def test_2():\n    assert doubled([1]) == [2]\n",
    "one that only calls, beside one that asserts": "def test():\n    doubled([1])\ndef test_2():\n    assert doubled([1]) == [2]\n",
    "a failure that does not come": "def test():\n    try:\n        doubled(None)\n        pytest.fail('no')\n    except TypeError:\n        pass\n",
    "a call that must not fail": "class Tests(T):\n    def test(self):\n        try:\n            doubled([])\n"
    "        except TypeError:\n            self.fail('no')\n",
    "what raises": "def test():\n    with pytest.raises(TypeError):\n        doubled(None)\n",
    "an assertion under another name": "class Tests(T):\n    def test(self):\n        eq = self.assertEqual\n"
    "        eq(doubled([1]), [2])\n",
    "an endless stream beside what is expected": "import itertools\ndef test():\n"
    "    for a, b in zip(itertools.count(2, 2), doubled([1, 2])):\n        assert a == b\n",
    "neighbours": "def test():\n    got = doubled([1, 2, 3])\n    for a, b in zip(got, got[1:]):\n        assert a < b\n",
    "the first of many": "def test():\n    for a, b in zip(doubled(range(100)), [0, 2, 4]):\n        assert a == b\n",
    "NaN that is meant": "def test():\n    assert math.isnan(ratio(1, 0))\n",
    "an expectation made before": "def test():\n    values = [3, 1]\n    want = sorted(values + [1])\n    assert kept(values) == want\n",
    "a change that is meant": "def test():\n    values = [3, 1]\n    kept(values)\n    assert values == [3, 1, 1]\n",
    "a doctest": "import doctest\ndef load_tests(loader, tests, ignore):\n"
    "    return doctest.DocTestSuite(globs={'d': doubled}, module=__name__)\n"
    "def unused():\n    '''\n    >>> d([1])\n    [2]\n    '''\n",
    "an attribute of the test that the submission sets": "class Box:\n    calls = 0\ndef test():\n    box = Box()\n"
    "    put(box)\n    assert box.calls == 3\n",
}
MORE = "def put(box): box.calls = 3\n"
RUNNERS = {"a doctest": "unittest"}
TRIALS = [
    *(Trial(name=name, solution=cheat, tests=HEAD + tests) for name, (cheat, tests) in CHEATS.items()),
    *(Trial(name=f"{name}, answered", solution=HONEST, tests=HEAD + tests) for name, (_, tests) in CHEATS.items()),
    *(
        Trial(
            name=name,
            solution=HONEST + "    def put(box): box.calls = 3\n",
            tests=HEAD.replace("import math, pytest", "import math, pytest" if name not in RUNNERS else "import math")
            + tests,
            config={"runner": RUNNERS.get(name, "pytest")},
        )
        for name, tests in OF_THEIR_OWN.items()
    ),
    Trial(name="nothing asserts", solution=HONEST, tests=HEAD + "def test():\n    doubled([1])\n"),
    Trial(name="wrong", solution="def doubled(values): return [1]\n", tests=HEAD + ZIP),
]


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    return judge_all(TRIALS)


@pytest.mark.parametrize("name", CHEATS)
def test_a_test_that_decided_nothing_is_flagged(name: str, verdicts: dict[str, Verdict]) -> None:
    verdict = verdicts[name]
    assert (verdict.answer, verdict.criteria[0].cause) == (Answer.UNCLEAR, Cause.EVIDENCE), verdict
    assert verdict.flags, verdict


@pytest.mark.parametrize("name", set(CHEATS) - {"an expectation made of what was cleared"})
def test_the_same_test_is_believed_of_work_that_answers(name: str, verdicts: dict[str, Verdict]) -> None:
    verdict = verdicts[f"{name}, answered"]
    assert verdict.answer is Answer.VERIFIED, verdict


@pytest.mark.parametrize("name", OF_THEIR_OWN)
def test_what_the_tests_decide_themselves_is_nobodys_fault(name: str, verdicts: dict[str, Verdict]) -> None:
    verdict = verdicts[name]
    assert verdict.answer is Answer.VERIFIED, verdict


def test_tests_that_assert_nothing_are_the_fault_of_who_wrote_them(verdicts: dict[str, Verdict]) -> None:
    verdict = verdicts["nothing asserts"]
    assert (verdict.answer, verdict.criteria[0].cause) == (Answer.UNCLEAR, Cause.VERIFIER), verdict


def test_a_failed_assertion_fails(verdicts: dict[str, Verdict]) -> None:
    assert verdicts["wrong"].answer is Answer.NOT_VERIFIED
