"""The test's objects that the submission may use: what it was given, and only what is open of that."""

import abc
import array
import copy
import dataclasses
import inspect
import io
import random
import sys
import types
import unittest
from collections.abc import Coroutine
from functools import cache
from typing import Any, Final

from earnest.verification.unit_tests.channel import CHANNEL
from earnest.verification.unit_tests.library import (
    ABSTRACT,
    FORWARDED,
    Malformed,
    Node,
    offers,
    parameters,
)
from earnest.verification.unit_tests.marking import NOTES, SET_BACK, sizes
from earnest.verification.unit_tests.values import is_scalar

HEAP_TYPE: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE
UNARY: Final[dict[str, Any]] = {
    "__iter__": iter,
    "__next__": next,
    "__len__": len,
    "__copy__": copy.copy,
    "__deepcopy__": copy.deepcopy,
    "__bool__": bool,
    "__str__": lambda thing: _shown(thing, str),
    "__repr__": lambda thing: _shown(thing, repr),
    "__await__": lambda coroutine: _finished(coroutine),  # noqa: PLW0108 - defined below
}
BINARY: Final = {*FORWARDED, "__contains__", "__exit__", "__aexit__", "__eq__", "__float__", "__index__", "__int__"}
COMMON: Final = frozenset({"__eq__", "__repr__", "__str__", "__copy__", "__deepcopy__"})
"""What is asked of anything of the test."""
OFFERED: Final = tuple((BINARY | UNARY.keys() | {"__call__"}) - COMMON)
LIKEWISE: Final[dict[str, Any]] = {name: kind for name, kind in ABSTRACT.items() if isinstance(kind, abc.ABCMeta)}
OPEN_TYPES: Final = (io.IOBase, types.SimpleNamespace, random.Random, array.array)
"""Classes of the library whose instances show what has no underscore."""
INSTANCES_MAX: Final = 16  # of the tests' own classes, whose counters are watched
OPEN_MODULES: Final[set[str]] = set()
"""Names of the test modules: instances of their classes show what has no underscore."""


class Ours:
    """What is the test's, as far as the submission was given it, by number."""

    def __init__(self) -> None:
        self._things: dict[object, object] = {}
        self._numbers: dict[int, int] = {}
        self._nodes: dict[int, Node] = {}
        self._stdin = sys.stdin
        self._instances: list[object] = []

    def give(self, value: Any) -> Node:
        """The node of a thing that stays here."""
        number = self.number(value)
        if number not in self._nodes:
            self._nodes[number] = self._node(number, value)
        return self._nodes[number]

    def _node(self, number: int, value: Any) -> Node:
        """What is told of it: names, and for functions and classes of the test what they are like."""
        kind = type(value)
        if kind is types.FunctionType:
            return ["f", number, _names(value), [inspect.iscoroutinefunction(value), _told(value)]]
        if isinstance(value, type) and _is_of_test(value):
            bases = [self.give(base) for base in value.__bases__ if _is_of_test(base)]
            return ["k", number, _names(value), [[name for name in OFFERED if offers(value, name)], bases]]
        if _is_of_test(kind):
            self._instances = [*self._instances, value][-INSTANCES_MAX:]
            return ["o", number, self.give(kind)]
        named = isinstance(value, types.MethodType | type)
        names = (value.__name__, value.__qualname__) if named else (kind.__name__, kind.__qualname__)
        return ["o", number, *names, _text(value.__doc__) if named else "", _likewise(value)]

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
        if operation == "derive":
            CHANNEL.limit("the submission derives a class from one of the test")
            raise TypeError("a class of the test cannot be derived from")
        if operation == "set" and (id(thing), name) in NOTES.counted:
            CHANNEL.flags.add(SET_BACK)
        if operation not in {"call", "operate"}:
            return _look(thing, operation, name, given)
        watched = self._instances
        before = sizes(watched)
        try:
            return _called(thing, given, named) if operation == "call" else _operate(thing, name, given)
        finally:
            NOTES.count(watched, before)

    def thing(self, number: object) -> object:
        """What was given under a number. Raises `Malformed` for one that was not."""
        if number not in self._things:
            raise Malformed("an object that was never given")
        return self._things[number]

    def _input_line(self, given: list[Any]) -> object:
        if sys.stdin is self._stdin:
            return None
        sys.stdout.write(str(given[0]))
        line = sys.stdin.readline()
        return line.removesuffix("\n") if line else None


def _called(thing: Any, given: list[Any], named: dict[str, Any]) -> object:
    answer = thing(*given, **named)
    is_async = type(thing) is types.FunctionType and inspect.iscoroutinefunction(thing)
    return _finished(answer) if is_async else answer


def _operate(thing: Any, name: str, given: list[Any]) -> object:
    if name in UNARY:
        return UNARY[name](thing)
    if name not in BINARY:
        raise AttributeError(name)
    return getattr(type(thing), name)(thing, *given)


def _look(thing: Any, operation: str, name: str, given: list[Any]) -> object:
    """Read or set an attribute."""
    if operation == "get" and is_open(thing, name):
        return getattr(thing, name)
    if operation == "set" and is_open(thing, name) and not is_kept(thing, name):
        setattr(thing, name, given[0])
        return None
    if not name.startswith("_") or isinstance(thing, type):
        _note_limit(thing, operation, name)
    raise AttributeError(f"{type(thing).__name__!r} object has no attribute {name!r}", name=name)


def _note_limit(thing: Any, operation: str, name: str) -> None:
    """What a test would let the submission do, and the split does not."""
    hidden = _is_mock(thing) or isinstance(thing, unittest.TestCase)
    if operation == "set" and isinstance(thing, type):
        CHANNEL.limit(f"the submission sets {name} of the test's class {thing.__name__}")
    elif operation == "get" and not hidden and hasattr(thing, name):
        CHANNEL.limit(f"the submission uses {name} of a {type(thing).__name__} of the test")


def is_kept(thing: object, name: str) -> bool:
    """True for what stays as it is: classes, methods, and mocks, which keep the test's records."""
    return isinstance(thing, type) or _is_mock(thing) or callable(getattr(type(thing), name, None))


def is_open(thing: Any, name: str) -> bool:
    """True if the submission may see this attribute of an object or a class of the test."""
    if name.startswith("_"):
        return False
    if _is_mock(thing):
        return name not in _of_mocks()
    if isinstance(thing, unittest.TestCase) and name in _of_tests():
        return False
    if isinstance(thing, type):
        return _is_of_test(thing) and not issubclass(thing, unittest.TestCase)
    return isinstance(thing, OPEN_TYPES) or _is_of_test(type(thing))


def _is_of_test(kind: type) -> bool:
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


def _likewise(value: object) -> list[Node]:
    """The library's abstract classes that it is one of."""
    return [name for name, kind in LIKEWISE.items() if isinstance(value, kind)]


def _names(value: Any) -> list[Node]:
    return [value.__name__, value.__qualname__, _text(value.__module__), _text(value.__doc__)]


def _text(value: object) -> str | None:
    return value if type(value) is str else None


def _told(function: Any) -> Node:
    """Its parameters, with such defaults as are plain; None if nobody knows them."""
    try:
        found = parameters(function)
    except (TypeError, ValueError):
        return None
    return [[*each, default if is_scalar(default) else None] for *each, default in found]


def _shown(thing: Any, show: Any) -> str:
    """Its text. What `dataclass` writes would show what has an underscore: that is left out."""
    kind = type(thing)
    if not (dataclasses.is_dataclass(kind) and hasattr(kind.__repr__, "__wrapped__")) or (
        show is str and kind.__str__ is not object.__str__
    ):
        return str(show(thing))
    fields = [each.name for each in dataclasses.fields(kind) if each.repr and not each.name.startswith("_")]
    return f"{kind.__qualname__}({', '.join(f'{name}={_within(getattr(thing, name))}' for name in fields)})"


def _within(value: Any) -> str:
    """Of a field: what it holds may hold what has an underscore too."""
    if type(value) in {list, tuple, set, frozenset} and value:
        items = ", ".join(map(_within, value))
        if type(value) is tuple:
            return f"({items},)" if len(value) == 1 else f"({items})"
        return f"[{items}]" if type(value) is list else repr(type(value)()).replace("()", f"({{{items}}})")
    if type(value) is dict:
        return "{" + ", ".join(f"{_within(key)}: {_within(item)}" for key, item in value.items()) + "}"
    return _shown(value, repr)


def _finished(awaitable: Coroutine[Any, Any, object]) -> object:
    """What a coroutine of the test comes to. It cannot wait: the loop that it would wait on is busy with us."""
    try:
        while True:
            if awaitable.send(None) is not None:
                break
    except StopIteration as stop:
        return stop.value
    awaitable.close()
    return CHANNEL.refuse("a coroutine of a test waits while the submission awaits it")
