"""What the submission's side tells about what is no plain data. Every object that it hands out has a number."""

import abc
import copy
import dataclasses
import enum
import importlib
import inspect
import io
import pickle
import types
from collections.abc import Callable, Sequence
from typing import Any, Final

from earnest.verification.unit_tests.library import (
    ABSTRACT,
    OPERATIONS,
    Malformed,
    Node,
    exception_named,
    exception_of,
    known_exception,
    offers,
    plain_base,
    plain_view,
)
from earnest.verification.unit_tests.theirs import Ask, Loans, TheirClass
from earnest.verification.unit_tests.values import MessageReader, MessageWriter

CAUSES_MAX: Final = 5
BY_VALUE: Final = (str, int, float, bytes, tuple, frozenset)  # classes of these arrive as what they are made of
PLAIN_VIEWS: Final[tuple[type, ...]] = (list, dict, set, *BY_VALUE, type({}.keys()), type({}.items()))
SPECIAL: Final[dict[type, str]] = {
    types.GeneratorType: "generator",
    types.CoroutineType: "coroutine",
    types.FunctionType: "function",
}
MADE: Final[dict[str, Callable[..., Any]]] = {
    "function": lambda function: function,
    "property": property,
    "classmethod": classmethod,
    "staticmethod": staticmethod,
}
"""What a function of a test's class is there."""


class Telling:
    """The objects that were handed out, and the classes told about since the last message."""

    def __init__(self, ask: Ask) -> None:
        self._loans = Loans(ask)
        self.objects: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._described: set[int] = set()
        self.derived: dict[type, int] = {}
        self._classes: list[Node] = []
        self._pickled: list[Any] = []

    def new_classes(self) -> list[Node]:
        """Those that were not told about yet."""
        classes, self._classes = self._classes, []
        return classes

    def number(self, value: object) -> int:
        """The number of an object that is handed out. It is kept, so that no other comes to have its place."""
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self.objects)
            self.objects.append(value)
        return number

    def handle(self, value: object) -> Node:
        """An object that stays here."""
        return ["h", self.number(value), self.describe(type(value))]

    def describe(self, kind: type) -> int:
        """The number of a class; see `meaning.SubmissionObjects.learn` for what is told."""
        number = self.number(kind)
        if number in self._described:
            return number
        self._described.add(number)
        bases = [known_exception(base) or self.describe(base) for base in kind.__bases__ if _is_telling(base)]
        fields = [each.name for each in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else None
        doc = vars(kind).get("__doc__")
        self._classes.append(
            [
                number,
                str(kind.__name__),
                bases,
                issubclass(kind, BaseException),
                [name for name in OPERATIONS if offers(kind, name)],
                [name for name in dir(kind) if not name.startswith("__") and is_method(kind, name)],
                fields,
                next((base.__name__ for base in PLAIN_VIEWS if issubclass(kind, base)), None),
                next((name for base, name in SPECIAL.items() if issubclass(kind, base)), None),
                doc if type(doc) is str else None,
                [name for base in kind.__mro__ if ABSTRACT.get(name := f"{base.__module__}.{base.__name__}") is base],
                self.derived.get(kind),
            ]
        )
        return number

    def derive(self, name: str, given: Sequence[Any], options: dict[str, Any]) -> type:
        """A class that a test derives: see `deriving`."""
        token, bases, functions, namespace = given
        namespace = dict(namespace)
        for key, is_abstract, how, *parts in functions:
            abstract = [part and abc.abstractmethod(part) for part in parts] if is_abstract else parts
            namespace[key] = MADE[how](*abstract)
        made = types.new_class(name, tuple(bases), options, lambda body: body.update(namespace))
        self.derived[made] = token
        return made

    def pickle(self, thing: object) -> bytes:
        """The pickle of an object. What is the test's, and classes that it derived, are kept beside it."""
        file = io.BytesIO()
        pickler = pickle.Pickler(file)
        pickler.persistent_id = self._keep  # type: ignore[method-assign]
        pickler.dump(thing)
        return file.getvalue()

    def unpickle(self, data: bytes) -> object:
        """Another object that is like it."""
        unpickler = pickle.Unpickler(io.BytesIO(data))  # noqa: S301 - whatever it runs is the submission's, and here
        unpickler.persistent_load = self._another  # type: ignore[method-assign]
        return unpickler.load()

    def _keep(self, thing: Any) -> int | None:
        if self._loans.number(thing) is None and not (isinstance(thing, type) and thing in self.derived):
            return None
        self._pickled.append(thing)
        return len(self._pickled) - 1

    def _another(self, number: Any) -> object:
        thing = self._pickled[number]
        return copy.deepcopy(thing) if isinstance(type(thing), TheirClass) else thing

    def above(self, thing: Any, name: str) -> Any:
        """An attribute as the submission's own classes have it, past those that tests derived."""
        order = thing.__mro__ if isinstance(thing, type) else type(thing).__mro__
        last = max(order.index(kind) for kind in order if kind in self.derived)
        return getattr(super(order[last], thing), name)

    def write(self, writer: MessageWriter, value: Any, depth: int) -> Node:
        """The node of what is no plain data."""
        lent = self._loans.number(value)
        if lent is not None:
            return ["o", lent]
        if isinstance(value, BaseException):
            return self.write_exception(writer, value, depth)
        if isinstance(value, type):
            known = known_exception(value)
            return ["K", *known] if known else ["c", self.describe(value)]
        if isinstance(value, enum.Enum):
            return self._write_member(writer, value, depth)
        base = plain_base(value)
        if base in BY_VALUE and not (base is tuple and hasattr(type(value), "__getattr__")):  # which has more to tell
            return writer.node(plain_view(value, base), depth + 1)
        return self.handle(value)

    def write_exception(self, writer: MessageWriter, error: BaseException, depth: int) -> Node:
        """An exception with what can be told of it."""
        lent = self._loans.number(error)
        if lent is not None:
            return ["o", lent]
        kind = type(error)
        known = known_exception(kind)
        cause = error.__cause__ if depth < CAUSES_MAX else None
        grouped = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
        return [
            "X",
            ["K", *known] if known else ["c", self.describe(kind)],
            self._if_possible(writer, error.args, depth),
            _text(error),
            [[str(name), self._if_possible(writer, value, depth)] for name, value in vars(error).items()],
            self.write_exception(writer, cause, depth + 1) if cause else False if error.__suppress_context__ else None,
            self.number(error),
            [self.write_exception(writer, each, depth + 1) for each in grouped],
        ]

    def read(self, reader: MessageReader, node: Sequence[Any]) -> object:
        """What the test's side hands in besides plain data."""
        match node[0]:
            case "h":
                return self.objects[node[1]]
            case "m":
                return getattr(self.objects[node[1]], node[2])
            case "o" | "f" | "k":
                return self._loans.read(reader.value, node)
            case "K" | "L":
                return getattr(importlib.import_module(node[1]), node[2])
            case "X":
                error = exception_of(exception_named(*node[1]), reader.value(node[2]))
                return self._loans.keep(node[3], error)
        raise Malformed("an unknown tag")

    def _write_member(self, writer: MessageWriter, member: enum.Enum, depth: int) -> Node:
        mixin = next((kind for kind in (int, str) if issubclass(type(member), kind)), None)
        plain = writer.node(plain_view(member, mixin) if mixin else member.value, depth + 1)
        return [
            "e",
            self.number(member),
            self.describe(type(member)),
            member.name,
            plain,
            mixin.__name__ if mixin else "",
        ]

    def _if_possible(self, writer: MessageWriter, value: object, depth: int) -> Node:
        """A part of an exception; what cannot be told is left out."""
        try:
            return writer.node(value, depth + 1)
        except Malformed:
            return None


def is_method(kind: type, name: str) -> bool:
    """True for a function in a class, which an instance calls as its method."""
    return isinstance(inspect.getattr_static(kind, name, None), types.FunctionType)


def is_made(value: object) -> bool:
    """True for what a test makes from a class in order to use it, and not for its value: it stays here, whole."""
    kind = type(value)
    if isinstance(value, enum.Enum | BaseException) or kind.__module__ == "builtins":
        return False
    named = isinstance(value, tuple) and hasattr(kind, "_fields")
    return not named or any(is_method(kind, name) for name in vars(kind) if not name.startswith("_"))


def _is_telling(kind: type) -> bool:
    """True for a base that means something to a test: a class of the submission, or an exception."""
    return kind.__module__ != "builtins" or issubclass(kind, BaseException)


def _text(error: BaseException) -> str:
    try:
        return str.__add__(str(error), "")
    except BaseException:  # its class is the submission's
        return ""
