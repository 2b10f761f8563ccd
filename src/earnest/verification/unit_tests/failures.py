"""Failures of a test that were lost on their way through the submission.

A test fails by raising. What it raises in the `with` of an object of the submission, in a function that the submission
calls, or into one of its generators, passes through the submission, which can make it disappear and with it every
assertion that had still to come. So a failed assertion that reaches the submission fails the test at once, whatever
becomes of it; and any other error that the submission swallows does if it cut assertions off. Only what a test raises
by a `raise` of its own is its own business: `with suppressing(ValueError): raise ValueError`.
"""

import ast
import functools
import sys
from types import FrameType, TracebackType
from typing import Final
from unittest import SkipTest

from earnest.verification.unit_tests.asserting import last_name, named

FILES: Final[set[str]] = set()
"""Paths of the tests."""

_open: Final = open  # a test may put something else in its place
_Block = ast.With | ast.AsyncWith | ast.FunctionDef | ast.AsyncFunctionDef


class Failures:
    """Of the test that runs now."""

    def __init__(self) -> None:
        self._failed = False
        self._skipped = False
        self._is_away = False

    def told(self, error: BaseException) -> None:
        """The submission is told of an exception of ours; one that was never raised is a value like others."""
        if error.__traceback__ is None:
            return
        if isinstance(error, (SkipTest, *_outcomes("Skipped"))):
            self._skipped = True
        elif is_verdict(error):
            self._failed = True

    def left(self, error: BaseException) -> None:
        """A function of the test ended in an exception; the submission had called it."""
        self._is_away |= cuts_off_assertions(error.__traceback__)

    def returned(self, *, succeeded: bool) -> None:
        """The submission ended what the test asked of it, with a value or an exception."""
        self._failed |= succeeded and self._is_away
        self._is_away = False

    def swallowed(self, error: BaseException | None) -> bool:
        """True if an exception of the test must go on being raised, though the submission took it."""
        if error is None or not (is_verdict(error) or cuts_off_assertions(error.__traceback__)):
            return False
        self._failed = True
        return True

    def take(self) -> tuple[bool, bool]:
        """Whether something failed and whether something was skipped, since last time."""
        taken = self._failed, self._skipped
        self._failed = self._skipped = False
        return taken


def is_verdict(error: BaseException) -> bool:
    """True for what says how a test of ours ended. An AssertionError of the submission does not."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(is_verdict, error.exceptions))
    if "__number__" in vars(error):
        return False
    return isinstance(error, (AssertionError, SkipTest, *_outcomes("OutcomeException")))


def cuts_off_assertions(trace: TracebackType | None) -> bool:
    """True if assertions of a test follow the place where an exception came from, in a block that it ended."""
    steps = _steps(trace)
    if not steps:
        return False
    last = steps[-1]
    if any(isinstance(each, ast.Raise) for each in _statements(last.tb_frame.f_code.co_filename, last.tb_lineno)):
        return False
    return any(_rest_asserts(step) for step in steps)


def place(error: BaseException | type) -> str:
    """The line of the tests that an error comes from."""
    steps = _steps(getattr(error, "__traceback__", None))
    return f"{steps[-1].tb_frame.f_code.co_filename.rpartition('/')[2]}, line {steps[-1].tb_lineno}" if steps else ""


def _outcomes(name: str) -> tuple[type[BaseException], ...]:
    """A class of pytest's outcomes, if pytest runs the tests."""
    module = sys.modules.get("_pytest.outcomes")
    return () if module is None else (getattr(module, name),)


def _steps(trace: TracebackType | None) -> list[TracebackType]:
    """Those in files of the tests, the innermost last."""
    steps = []
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in FILES:
            steps.append(trace)
        trace = trace.tb_next
    return steps


@functools.cache
def _tree(path: str) -> ast.Module:
    with _open(path, "rb") as file:
        return ast.parse(file.read())


def _statements(path: str, line: int) -> list[ast.stmt]:
    """Those that hold a line, from the outermost to the innermost."""
    return [
        node
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line)
    ]


def _rest_asserts(step: TracebackType) -> bool:
    """True if the rest of the block asserts something: of the `with` that is being left, else of the function."""
    frame, line = step.tb_frame, step.tb_lineno
    around = _statements(frame.f_code.co_filename, line)
    if _is_running(frame):
        blocks: list[_Block] = [node for node in around if isinstance(node, ast.With | ast.AsyncWith)]
        blocks = [node for node in blocks if node.lineno <= frame.f_lineno < node.body[0].lineno] or blocks
    else:
        functions = [node for node in around if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        blocks = [node for node in functions if node.name == frame.f_code.co_name]
    rest = [each for each in blocks[-1].body if (each.end_lineno or each.lineno) >= line] if blocks else []
    return any(_asserts(node) for statement in rest for node in ast.walk(statement))


def _asserts(node: ast.AST) -> bool:
    """True for an assertion that might have passed; `fail` and `assert False` only say that nobody comes here."""
    if isinstance(node, ast.Assert):
        return not isinstance(node.test, ast.Constant)
    return isinstance(node, ast.Call) and named(last_name(node.func))


def _is_running(frame: FrameType) -> bool:
    now: FrameType | None = sys._getframe()  # noqa: SLF001
    while now is not None and now is not frame:
        now = now.f_back
    return now is not None
