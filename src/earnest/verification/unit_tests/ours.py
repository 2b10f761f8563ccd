"""What of the test's may the submission use? What it was given, and only what is open of that."""

import builtins
import io
import sys
import types
import unittest
from functools import cache
from typing import Any, Final

from earnest.verification.unit_tests.library import Malformed, Node
from earnest.verification.unit_tests.operations import FORWARDED

HEAP_TYPE: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE
UNARY: Final[dict[str, Any]] = {
    "__iter__": iter,
    "__next__": next,
    "__len__": len,
    "__bool__": bool,
    "__str__": str,
    "__repr__": repr,
}
BINARY: Final = FORWARDED | {"__contains__", "__exit__", "__aexit__", "__eq__", "__float__", "__index__", "__int__"}
OPEN_MODULES: Final[set[str]] = set()
"""Names of the test modules: instances of their classes show what has no underscore."""


class Ours:
    """What is the test's, as far as the submission was given it, by number."""

    def __init__(self) -> None:
        self._things: dict[object, object] = {}
        self._numbers: dict[int, int] = {}
        self._stdin = sys.stdin
        self._input = builtins.input

    def give(self, value: object) -> Node:
        """The node of a thing that stays here."""
        number = self.number(value)
        named = isinstance(value, types.FunctionType | types.MethodType | type)
        name = str(getattr(value, "__name__", "")) if named else type(value).__name__
        return ["o", number, name, value.__doc__ if named and isinstance(value.__doc__, str) else ""]

    def number(self, value: object) -> int:
        """Under which it is given."""
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self._things)
            self._things[number] = value
        return number

    def serve(self, operation: str, target: object, name: str, given: list[Any], named: dict[str, Any]) -> object:
        """What the submission asks for, if it may."""
        if operation == "input":
            return self._input_line(given)
        if operation in {"readline", "read"}:
            return getattr(sys.stdin, operation)() if sys.stdin is not self._stdin else ""
        thing: Any = self.thing(target)
        if operation == "call":
            return thing(*given, **named)
        if operation == "operate":
            return _operate(thing, name, given)
        return _look(thing, operation, name, given)

    def thing(self, number: object) -> object:
        """What was given under a number. Raises `Malformed` for one that was not."""
        if number not in self._things:
            raise Malformed("an object that was never given")
        return self._things[number]

    def _input_line(self, given: list[Any]) -> object:
        if builtins.input is not self._input:
            return builtins.input(*given)
        if sys.stdin is self._stdin:
            return None
        sys.stdout.write(str(given[0]))
        line = sys.stdin.readline()
        return line.removesuffix("\n") if line else None


def _operate(thing: Any, name: str, given: list[Any]) -> object:
    if name in UNARY:
        return UNARY[name](thing)
    if name not in BINARY:
        raise AttributeError(name)
    return getattr(type(thing), name)(thing, *given)


def _look(thing: object, operation: str, name: str, given: list[Any]) -> object:
    """Read or set an attribute."""
    if operation == "get" and is_open(thing, name):
        return getattr(thing, name)
    if operation == "set" and is_open(thing, name) and not is_kept(thing, name):
        setattr(thing, name, given[0])
        return None
    raise AttributeError(name)


def is_kept(thing: object, name: str) -> bool:
    """True for what stays as it is: methods, and mocks, which keep the test's records."""
    return _is_mock(thing) or callable(getattr(type(thing), name, None))


def is_open(thing: object, name: str) -> bool:
    """True if the submission may see this attribute of an object of the test."""
    kind = type(thing)
    if name.startswith("_") or isinstance(thing, type):
        return False
    if _is_mock(thing):
        return name not in _of_mocks()
    if isinstance(thing, unittest.TestCase) and name in _of_tests():
        return False
    if isinstance(thing, io.IOBase | types.SimpleNamespace):
        return True
    return bool(kind.__flags__ & HEAP_TYPE) and kind.__module__ in OPEN_MODULES


def _is_mock(thing: object) -> bool:
    """Where nobody imported mocks, there are none: loading them takes longer than all else of this side."""
    module = sys.modules.get("unittest.mock")
    return module is not None and isinstance(thing, module.NonCallableMock)


@cache
def _of_mocks() -> frozenset[str]:
    """What the submission may not see or change of a mock: the test's records."""
    from unittest import mock  # noqa: PLC0415

    return frozenset(dir(mock.NonCallableMagicMock())) | {"call_args", "call_args_list", "call_count"}


@cache
def _of_tests() -> frozenset[str]:
    """What is not open of a test that hands over itself: how it asserts, and what it does when it ends."""
    return frozenset(dir(unittest.IsolatedAsyncioTestCase()))
