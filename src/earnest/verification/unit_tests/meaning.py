"""What does the submission say, and what may it do with what is the test's?"""

import builtins
import contextlib
import dataclasses
import enum
import io
import sys
import types
import weakref
from collections.abc import Sequence
from typing import Any, Final
from unittest import mock

from earnest.verification.unit_tests.channel import CHANNEL
from earnest.verification.unit_tests.objects import (
    FORWARDED,
    MEMBERS,
    OPERATIONS,
    BoundCall,
    Handle,
    IntMember,
    Member,
    Method,
    Remote,
    StandInClass,
    StandInException,
    StrMember,
    is_handle,
)
from earnest.verification.unit_tests.values import (
    NAME_CHARACTERS_MAX,
    Malformed,
    Node,
    Reader,
    Writer,
    exception_named,
    known_exception,
)

OBJECTS_MAX: Final = 1_000_000
CLASSES_MAX: Final = 10_000
HEAP_TYPE: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE
SECRET: Final = frozenset(dir(mock.NonCallableMagicMock())) | {"call_args", "call_args_list", "call_count"}
"""What the submission may not see or change of a mock: the test's records."""
UNARY: Final[dict[str, Any]] = {
    "__iter__": iter,
    "__next__": next,
    "__len__": len,
    "__bool__": bool,
    "__str__": str,
    "__repr__": repr,
}
BINARY: Final = FORWARDED | {"__contains__", "__eq__", "__float__", "__index__", "__int__"}
OPEN_MODULES: Final[set[str]] = set()
"""Names of the test modules: instances of their classes show what has no underscore."""


class Ours:
    """What is the test's, as far as the submission was given it, by number."""

    def __init__(self) -> None:
        self.things: list[object] = []
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
            number = self._numbers[id(value)] = len(self.things)
            self.things.append(value)
        return number

    def serve(self, operation: str, target: object, name: str, given: list[Any], named: dict[str, Any]) -> object:
        """What the submission asks for, if it may."""
        if operation == "input":
            return self._input_line(given)
        if operation in {"readline", "read"}:
            return getattr(sys.stdin, operation)() if sys.stdin is not self._stdin else ""
        if type(target) is not int or not 0 <= target < len(self.things):
            raise Malformed("an object that was never given")
        thing: Any = self.things[target]
        if operation == "call":
            return thing(*given, **named)
        if operation == "operate" and name in UNARY:
            return UNARY[name](thing)
        if operation == "operate" and name in BINARY:
            return getattr(type(thing), name)(thing, *given)
        if operation not in {"get", "set"} or not is_open(thing, name):
            raise AttributeError(name)
        if operation == "get":
            return getattr(thing, name)
        if isinstance(thing, mock.NonCallableMock) or callable(getattr(type(thing), name, None)):
            raise AttributeError(name)
        setattr(thing, name, given[0])
        return None

    def _input_line(self, given: list[Any]) -> object:
        if builtins.input is not self._input:
            return builtins.input(*given)
        if sys.stdin is self._stdin:
            return None
        sys.stdout.write(str(given[0]))
        line = sys.stdin.readline()
        return line.removesuffix("\n") if line else None


class Theirs:
    """Classes and objects that the submission told about, by number. See `channel.Meaning`."""

    def __init__(self) -> None:
        self._ours = Ours()
        self.serve = self._ours.serve
        self._objects: dict[int, object] = {}
        self._delegates: weakref.WeakKeyDictionary[object, int] = weakref.WeakKeyDictionary()
        self._classes: dict[int, Any] = {}
        self._specials: dict[int, str] = {}
        self._members: dict[tuple[int, str], Any] = {}

    def learn(self, classes: Any) -> None:
        """See `channel.Meaning`. Each: number, name, bases, nearest known exception, operations, methods, fields,
        plain base, special kind, docstring.
        """
        if type(classes) is not list or len(self._classes) + len(classes) > CLASSES_MAX:
            raise Malformed("too many classes")
        for each in classes:
            number, name, bases, nearest, operations, methods, fields, plain, special, doc = each
            texts = [*operations, *methods, *(fields or [])]
            if type(number) is not int or number in self._classes or type(name) is not str:
                raise Malformed("no class")
            if any(type(text) is not str or not text.isidentifier() for text in texts) or len(name) > NAME_CHARACTERS_MAX:
                raise Malformed("no class")
            above = [self._classes[base] for base in bases]
            namespace: dict[str, object] = {
                "__class_id__": number,
                "__doc__": doc if type(doc) is str else None,
                "__plain__": plain if type(plain) is str else None,
            }
            if nearest:
                self._classes[number] = _exception_class(name, above, exception_named(*nearest), namespace)
                continue
            namespace |= {operation: OPERATIONS[operation] for operation in operations if operation in OPERATIONS}
            namespace |= {method: Method(method) for method in methods if not method.startswith("__")}
            namespace |= _special_namespace(special)
            if fields is not None:
                namespace["__dataclass_fields__"] = _dataclass_fields(fields)
            self._classes[number] = _handle_class(name, above, namespace)
            if special in {"generator", "coroutine"}:
                self._specials[number] = special

    def read(self, reader: Reader, node: Sequence[Any]) -> object:
        """See `channel.Meaning`."""
        match node[0]:
            case "h":
                return self._object(node[1], node[2])
            case "c":
                return self._classes[node[1]]
            case "o":
                if type(node[1]) is not int or node[1] < 0:
                    raise Malformed("no number")
                return self._ours.things[node[1]]
            case "e":
                return self._member(reader, *node[1:])
            case "K":
                return exception_named(node[1], node[2])
            case "X":
                return self._exception(reader, *node[1:])
        raise Malformed("an unknown tag")

    def write(self, writer: Writer, value: Any, depth: int) -> Node:
        """See `channel.Meaning`."""
        kind = type(value)
        if kind in MEMBERS:
            return ["e", value.__class_number__, value.name]
        if issubclass(kind, BoundCall):
            return ["m", value.__number__, value.__name__]
        if is_handle(value) or issubclass(kind, StandIn):
            return ["h", value.__number__]
        if issubclass(kind, StandInClass | StandInException):
            return ["h", value.__class_id__]
        if issubclass(kind, types.GeneratorType | types.CoroutineType) and value in self._delegates:
            return ["h", self._delegates[value]]
        if issubclass(kind, BaseException):
            return self._write_exception(writer, value, depth)
        if issubclass(kind, type) and issubclass(value, BaseException):
            return ["K", *_nearest(value)]
        if issubclass(kind, types.TracebackType):
            return None
        if issubclass(kind, types.ModuleType | types.FrameType | types.CodeType):
            raise TypeError(f"a {kind.__name__} cannot be given to the submission")
        if not issubclass(kind, enum.Enum):
            for base in (str, int, float, bytes, tuple, frozenset):
                if issubclass(kind, base):
                    return writer.node(base(value), depth + 1)  # type: ignore[operator]
        return self._ours.give(value)

    def _write_exception(self, writer: Writer, error: BaseException, depth: int) -> Node:
        number = vars(error).get("__number__")
        if number is not None:
            return ["h", number]
        try:
            arguments = writer.node(error.args, depth + 1)
        except (TypeError, Malformed):
            arguments = ["t", str(error)]
        return ["X", _nearest(type(error)), arguments, self._ours.number(error)]

    def _object(self, number: object, class_number: int) -> object:
        if type(number) is not int or number < 0 or Handle.__seen__ > OBJECTS_MAX:
            raise Malformed("no object")
        found = self._objects.get(number)
        if found is not None:
            return found
        kind = self._classes[class_number]
        if not issubclass(kind, Handle):
            raise Malformed("no object")
        made: Any = object.__new__(kind)
        object.__setattr__(made, "__number__", number)
        type.__setattr__(Handle, "__seen__", Handle.__seen__ + 1)
        special = self._specials.get(class_number)
        if special is not None:
            made = _generate(made) if special == "generator" else _wait(made)
            self._delegates[made] = number
        if special != "coroutine":  # an awaitable is awaited once; keeping it would only make it complain
            self._objects[number] = made
        return made

    def _member(self, reader: Reader, number: int, name: object, plain: Node, mixin: object) -> object:
        if type(name) is not str or type(mixin) is not str:
            raise Malformed("no member")
        if (number, name) not in self._members:
            value: Any = reader.value(plain)
            base, kind = {"": (None, Member), "int": (int, IntMember), "str": (str, StrMember)}[mixin]
            if base is not None and type(value) is not base:
                raise Malformed("no member")
            made: Any = object.__new__(kind) if base is None else base.__new__(kind, value)
            made.__dict__.update(name=name, value=value, kind=self._classes[number], __class_number__=number)
            self._members[number, name] = made
        return self._members[number, name]

    def _exception(
        self,
        reader: Reader,
        kind_node: Node,
        arguments: Node,
        text: object,
        attributes: Any,
        cause: Any,
        number: object,
        grouped: Any,
    ) -> BaseException:
        kind: Any = reader.value(kind_node)
        if not isinstance(kind, type) or not issubclass(kind, BaseException) or type(text) is not str:
            raise Malformed("no exception")
        if issubclass(kind, BaseExceptionGroup):
            parts = [reader.value(each) for each in grouped]
            error: BaseException = kind.__new__(kind, text, parts)
        else:
            values = reader.value(arguments)
            values = values if type(values) is tuple else ()
            error = kind.__new__(kind, *values)
            error.args = values
            if kind.__module__ == "builtins":
                with contextlib.suppress(TypeError):
                    error.__init__(*values)  # type: ignore[misc]
        for name, value_node in attributes:
            if type(name) is str and not name.startswith("_"):
                vars(error)[name] = reader.value(value_node)
        vars(error).update(__text__=text, __number__=number)
        if cause is not None:
            error.__cause__ = reader.value(cause)  # type: ignore[assignment]
        return error


class StandIn(types.ModuleType):
    """A module of the submission; see `stand_in`."""

    __number__: int


def is_open(thing: object, name: str) -> bool:
    """True if the submission may see this attribute of an object of the test."""
    kind = type(thing)
    if name.startswith("_") or isinstance(thing, type):
        return False
    if isinstance(thing, mock.NonCallableMock):
        return name not in SECRET
    if isinstance(thing, io.IOBase | types.SimpleNamespace):
        return True
    return bool(kind.__flags__ & HEAP_TYPE) and kind.__module__ in OPEN_MODULES


def _nearest(kind: type) -> list[str]:
    return next((known for base in kind.__mro__ if (known := known_exception(base))), ["builtins", "Exception"])


def _special_namespace(special: object) -> dict[str, object]:
    if special == "generator":
        return {"__iter__": lambda self: self}
    if special == "function":
        return {"__doc__": property(lambda self: CHANNEL.request("get", self.__number__, "__doc__"))}
    return {}


def _handle_class(name: str, above: list[type], namespace: dict[str, object]) -> type:
    namespace["__slots__"] = ()
    bases = tuple(base for base in above if issubclass(base, Handle))
    try:
        return StandInClass(name, bases or (Handle,), namespace)
    except TypeError:  # an order of bases that cannot be
        return StandInClass(name, (Handle,), namespace)


def _exception_class(name: str, above: list[type], root: type, namespace: dict[str, object]) -> type:
    bases = tuple(base for base in above if issubclass(base, BaseException))
    bases = bases if any(issubclass(base, root) for base in bases) else (*bases, root)
    bases = bases if any(issubclass(base, Remote) for base in bases) else (Remote, *bases)
    try:
        return StandInException(name, bases, namespace)
    except TypeError:
        return StandInException(name, (Remote, root), namespace)


def _dataclass_fields(names: list[str]) -> object:
    return vars(dataclasses.make_dataclass("Fields", names))["__dataclass_fields__"]


def _generate(handle: Any) -> Any:
    return (yield from handle)


async def _wait(handle: Any) -> Any:
    return CHANNEL.request("await", handle.__number__)
