"""Tests that only fail because they are split from the submission, and what of them the split carries."""

from collections.abc import Mapping

import pytest

from earnest.verification.verdict import Answer, Cause, Verdict

from .trials import Trial, judge_all

CARRIED = """
import copy, io
class Bag(dict):
    def __init__(self, owner=None, **items):
        super().__init__(**items)
        self.owner = owner
    def __class_getitem__(cls, kind): return cls
class Kept:
    "Keeps what a method answers."
    def __init__(self, function):
        self.function, self.__doc__ = function, function.__doc__
    def __set_name__(self, owner, name): self.name = name
    def __get__(self, thing, owner=None):
        return self if thing is None else self.name + self.function(thing)
class Buffer(io.RawIOBase):
    def readable(self): return True
class Closing:
    def __init__(self, thing): self.thing = thing
    def __enter__(self): return self
    def __exit__(self, *told): return self.thing.__exit__(*told)
def twice(function):
    def call(self, *given): return 2 * function(self, *given)
    return call
def called(thing): return thing(), thing.__qualname__
def keywords(self=1, **more): return self, sorted(more)
def fail():
    try: raise KeyError(1)
    except KeyError: raise LookupError("none") from None
def close(thing):
    with thing: thing.work()
"""
TESTS = """
import copy, io, math, pickle, unittest
import solution
class Clock:
    def __init__(self): self.time = 1
    def now(self): return self.time
class Derived(solution.Bag):
    def __init__(self, owner, limit=math.inf): super().__init__(owner)
class Door:
    def __enter__(self): self.is_open = True
    def __exit__(self, *told): self.is_open = False
    def work(self): raise Exception("stuck")
class Case(unittest.TestCase):
    def test_pickle(self):
        bag = solution.Bag(a=1)
        other = pickle.loads(pickle.dumps(bag))
        other["a"] = 2
        self.assertEqual((bag["a"], other["a"]), (1, 2))
        self.assertIs(pickle.loads(pickle.dumps(solution.Bag)), solution.Bag)
        self.assertIs(type(pickle.loads(pickle.dumps(Derived(3)))), Derived)
    def test_deep_copy_takes_what_is_the_tests(self):
        bag = solution.Bag(Clock())
        other = copy.deepcopy(bag)
        other.owner.time = 5
        self.assertEqual((bag.owner.now(), other.owner.now()), (1, 5))
    def test_generic(self):
        self.assertEqual(solution.Bag[int](a=1)["a"], 1)
    def test_descriptors(self):
        class Mine:
            @solution.Kept
            def name(self):
                "What it is called."
                return "x"
            @solution.twice
            def size(self, n): return n
        self.assertEqual((Mine().name, Mine().size(4), Mine.name.__doc__), ("namex", 8, "What it is called."))
        self.assertEqual(solution.Kept.__doc__, "Keeps what a method answers.")
    def test_streams(self):
        self.assertIsInstance(solution.Buffer(), io.RawIOBase)
    def test_names(self):
        self.assertEqual(solution.called(Clock().now), (1, "Clock.now"))
        self.assertEqual(solution.keywords(self=2, other=3), (2, ["other"]))
    def test_contexts(self):
        with self.assertRaises(LookupError) as caught: solution.fail()
        self.assertTrue(caught.exception.__suppress_context__)
        door = Door()
        with self.assertRaises(Exception): solution.close(door)
        self.assertFalse(door.is_open)
"""
SAME = """
import subprocess, sys, unittest
import solution
class Case(unittest.TestCase):
    def test_program(self):
        told = subprocess.run([sys.executable, "solution.py"], capture_output=True, text=True).stdout
        self.assertEqual(told, "4\\n")
    def test_plain(self): self.assertEqual(solution.double(2), 4)
"""
PROGRAM = """
def double(n): return n + n
if __name__ == "__main__": print(double(2))
"""
FAKED = """
import sys, unittest
def double(n): return 0
unittest.TestCase.assertEqual = lambda *_: None
"""
CAUGHT = """
class Odd: pass
Odd = Exception
def double(n): return n
"""
CATCHING = """
import unittest, solution
class Case(unittest.TestCase):
    def test_it(self):
        try: self.assertEqual(solution.double(2), 4)
        except solution.Odd: pass
"""
DOCTESTS = """
import doctest, unittest, solution
class Case(unittest.TestCase):
    def test_examples(self): self.assertEqual(doctest.testmod(solution).failed, 0)
    def test_plain(self): self.assertEqual(solution.double(2), 4)
"""

TRIALS = [
    Trial(name="carried", solution=CARRIED, tests=TESTS),
    Trial(name="carried, but wrong", solution=CARRIED.replace("2 * function", "3 * function"), tests=TESTS),
    Trial(name="not carried", solution=PROGRAM, tests=SAME),
    Trial(name="not carried, and wrong", solution=PROGRAM.replace("n + n", "n"), tests=SAME),
    Trial(name="faked together", solution=FAKED, tests=SAME.replace("[sys.executable", "['none'")),
    Trial(name="doctests", solution=PROGRAM, tests=DOCTESTS),
    Trial(name="caught", solution=CAUGHT, tests=CATCHING),
]


@pytest.fixture(scope="module")
def verdicts() -> Mapping[str, Verdict]:
    return judge_all(TRIALS)


@pytest.mark.slow
def test_what_grown_libraries_are_tested_for_crosses_the_pipe(verdicts: Mapping[str, Verdict]) -> None:
    assert verdicts["carried"].answer is Answer.VERIFIED, verdicts["carried"].criteria[0].reason


def test_the_same_tests_find_a_bug(verdicts: Mapping[str, Verdict]) -> None:
    assert verdicts["carried, but wrong"].answer is Answer.NOT_VERIFIED


def test_a_test_that_starts_the_submission_as_a_program_blames_nobody(verdicts: Mapping[str, Verdict]) -> None:
    (criterion,) = verdicts["not carried"].criteria
    assert (criterion.answer, criterion.cause) == (Answer.UNCLEAR, Cause.VERIFIER)
    assert criterion.cannot_run
    assert "test_it.py, line 7" in criterion.reason


def test_doctests_of_the_submission_are_not_taken_for_tests(verdicts: Mapping[str, Verdict]) -> None:
    (criterion,) = verdicts["doctests"].criteria
    assert (criterion.answer, criterion.cause) == (Answer.UNCLEAR, Cause.VERIFIER)
    assert "test_it.py, line 4" in criterion.reason


def test_what_fails_together_too_is_the_submissions_failure(verdicts: Mapping[str, Verdict]) -> None:
    assert verdicts["not carried, and wrong"].answer is Answer.NOT_VERIFIED


def test_faking_where_both_are_together_verifies_nothing(verdicts: Mapping[str, Verdict]) -> None:
    assert verdicts["faked together"].answer is not Answer.VERIFIED


def test_a_name_that_catches_failed_assertions_is_still_flagged(verdicts: Mapping[str, Verdict]) -> None:
    assert verdicts["caught"].answer is not Answer.VERIFIED
