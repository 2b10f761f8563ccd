"""What do the tests hold instead of the submission? Stand-ins whose every use is a message over the pipe.

Runs with the tests, in a sandbox that the submission never enters. Nothing that comes over the pipe is believed: it is
plain data, or an object of the submission known by a number. What does not fit is a fault, and a run with a fault
proves nothing. A fault ends all further use.
"""

import builtins
import contextlib
import enum
import importlib
import inspect
import io
import os
import sys
import threading
import types
import warnings
import weakref
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from typing import Any, Final, NoReturn
from unittest import mock

from earnest.verification.unit_tests import pipe
from earnest.verification.unit_tests.held import Held
from earnest.verification.unit_tests.sharing import PREFIX, Shelf
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
MESSAGE_PARTS: Final = 11
DEPTH_MAX: Final = 150  # of calls within calls back and forth
BLAND: Final = frozenset(
    {
        *("__name__", "__qualname__", "__doc__", "__module__", "__annotations__", "__wrapped__", "__all__"),
        *("__version__", "__author__", "__members__", "__match_args__", "__self__", "__func__", "__abstractmethods__"),
    }
)
"""Names with underscores that tests ask for; no other is asked of the submission."""
INSEPARABLE: Final = frozenset({"__code__", "__globals__", "__closure__"})
JUDGING: Final = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"})
SECRET: Final = frozenset(dir(mock.NonCallableMagicMock())) | {
    "call_args",
    "call_args_list",
    "call_count",
    "mock_calls",
}
"""What the submission may not see or change of a mock: the test's records."""


PLAIN: Final = (list, dict, set, frozenset, str, int, float, bytes, tuple)


class Lost(BaseException):
    """The submission cannot be used any more: it ended, or answered what no answer can be."""


class Inseparable(Exception):
    """The test needs the submission itself, which a stand-in is not."""


HOSTILE: Final = (
    *(pipe.Closed, pipe.BadMessage, Malformed, TypeError, ValueError, LookupError, AttributeError, ArithmeticError),
    *(RecursionError, ImportError, OSError),
)
"""What taking in a message may raise: each of them means that no writer of ours made it."""


class Remote:
    """Of an exception of the submission: what it could tell."""

    _text: str
    _number: int

    def __str__(self) -> str:
        return self._text

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(name)
        return CHANNEL.request("get", self._number, name)


class Channel:
    """The test's end of the pipe, and all that is known of the other."""

    def __init__(self) -> None:
        self.calls = 0
        self.raised = 0
        self.fault = ""
        self.inseparable = ""
        self.flags: set[str] = set()
        self._lock = threading.RLock()
        self._incoming = pipe.Incoming(pipe.ANSWER_BYTES_MAX)
        self._number = 0
        self._depth = 0
        self._proxies: dict[int, object] = {}
        self._delegates: weakref.WeakKeyDictionary[object, int] = weakref.WeakKeyDictionary()
        self._classes: dict[int, type] = {}
        self._specials: dict[int, str] = {}
        self._members: dict[tuple[int, str], object] = {}
        self._exports: list[object] = []
        self._export_numbers: dict[int, int] = {}
        self._held = Held(self._write_opaque)
        self._next_held = 0
        self.originals: dict[tuple[int, str], object] = {}
        self._shelf = Shelf()
        self._environment = Environment()
        self._shared = False
        self._stdin = sys.stdin
        self._input = builtins.input

    def request(
        self,
        operation: str,
        target: int,
        name: str = "",
        arguments: Sequence[object] = (),
        keywords: dict[str, object] | None = None,
    ) -> Any:
        """Have the submission do something. Raises what it raised, or `Lost`."""
        with self._lock:
            if self.fault:
                raise Lost(self.fault)
            if self._depth >= DEPTH_MAX:
                raise RecursionError("too many calls within calls")
            dropped = self._held.superfluous()
            self._held.drop(dropped)
            writer = Writer(self._write_opaque, self._held.numbers, PREFIX)
            nodes = [writer.node(argument) for argument in arguments]
            named = {key: writer.node(value) for key, value in (keywords or {}).items()}
            changes = self._held.changes(writer)
            table = writer.finish()
            first, self._next_held = self._next_held, self._next_held + len(writer.containers)
            self._held.hold(first, writer.containers)
            self._number = number = self._number + 1
            self.calls += operation in {"call", "method", "operate", "await"}
            self._depth += 1
            try:
                held = [first, dropped, changes]
                pipe.send([number, operation, target, name, nodes, named, table, self._setting(writer), held])
                value, succeeded, warned = self._conclude(self._await_answer(number))
            except HOSTILE as error:
                self._lose(error)
            finally:
                self._depth -= 1
        for text, category in warned:
            warnings.warn(text, category, stacklevel=3)
        if succeeded:
            return value
        self.raised += 1
        raise value

    def replace(self, number: int, name: str, value: object) -> None:
        """Set an attribute of a module or class for the submission too; what was there first is kept."""
        if (number, name) not in self.originals:
            with contextlib.suppress(AttributeError):
                self.originals[number, name] = self.request("get", number, name)
        if isinstance(value, Method):
            self.put_back(number, name)
        else:
            self.request("set", number, name, (value,))

    def put_back(self, number: int, name: str) -> None:
        """What stand-ins' deletion means: the original comes back if there was one."""
        if (number, name) in self.originals:
            self.request("set", number, name, (self.originals.pop((number, name)),))
        else:
            self.request("del", number, name)

    @property
    def objects(self) -> int:
        """How many objects of the submission were ever seen."""
        return len(self._proxies)

    def _lose(self, error: Exception) -> NoReturn:
        gone = isinstance(error, pipe.Closed)
        self.fault = "the submission ended" if gone else f"the submission broke the protocol: {error}"
        raise Lost(self.fault) from None

    def _await_answer(self, number: int) -> list[Any]:
        while True:
            message: list[Any] = self._incoming.receive()
            kind = message[1] if len(message) == MESSAGE_PARTS else None
            if kind == "ask":
                self._serve(message)
            elif kind == "answer" and message[0] == number and type(message[0]) is int:
                return message
            else:
                raise Malformed("an answer out of turn")

    def _conclude(self, message: list[Any]) -> tuple[Any, bool, list[tuple[str, type[Warning]]]]:
        """The value or exception, whether it is a value, and warnings."""
        _, _, succeeded, node, table, changes, out, err, classes, files, warned = message
        self._print(out, err)
        self._learn(classes)
        reader = Reader(table, self._read_opaque, self._held.containers)
        self._held.apply(reader, changes)
        if self._held.containers:
            self._held.agree()
        value = reader.value(node)
        if files is not None:
            self._shelf.apply(files, anywhere=False)
        if succeeded is not True and not isinstance(value, BaseException):
            raise Malformed("no exception")
        return value, succeeded is True, [_warning(text, category) for text, category in warned]

    def _print(self, out: object, err: object) -> None:
        if type(out) is not str or type(err) is not str:
            raise Malformed("no text")
        if out:
            sys.stdout.write(out)
        if err:
            sys.stderr.write(err)

    def _setting(self, writer: Writer) -> Node:
        """Files, folder and environment, if anything of them was ever used."""
        folder = os.getcwd()
        if not folder.startswith(PREFIX):
            folder = ""
        for path in writer.noted | ({folder} if folder else set()):
            self._shelf.add(path)
        environment = _environment() if self._environment.changed() else None
        if environment is None and not folder and not self._shared and not (self._shelf.folders or self._shelf.files):
            return None
        self._shared = True
        return [
            self._shelf.changes(),
            [sorted(self._shelf.folders), sorted(self._shelf.files)],
            folder or None,
            environment,
        ]

    # What the submission is told about, and what it may do with what is the test's.

    def _write_opaque(self, writer: Writer, value: object, depth: int) -> Node:
        if issubclass(type(value), Handle | BoundCall):
            return value.__node__()  # type: ignore[attr-defined]
        if isinstance(value, StandInClass | StandInException):
            return ["h", value.__class_id__]
        if isinstance(value, StandInModule):
            return ["h", value.__number__]
        if isinstance(value, Member):
            return ["e", value.__class_number__, value.name]
        number = self._delegates.get(value) if isinstance(value, types.GeneratorType | types.CoroutineType) else None
        if number is not None:
            return ["h", number]
        if isinstance(value, BaseException):
            return self._write_exception(writer, value, depth)
        if isinstance(value, type) and issubclass(value, BaseException):
            known = next((known for base in value.__mro__ if (known := known_exception(base))), None)
            return ["K", *(known or ["builtins", "Exception"])]
        if isinstance(value, types.ModuleType | types.FrameType | types.CodeType | types.TracebackType):
            if isinstance(value, types.TracebackType):
                return None
            raise TypeError(f"a {type(value).__name__} cannot be given to the submission")
        if not isinstance(value, enum.Enum):
            for base in (str, int, float, bytes, tuple, frozenset):
                if isinstance(value, base):
                    return writer.node(base(value), depth + 1)
        return self._export(value)

    def _write_exception(self, writer: Writer, error: BaseException, depth: int) -> Node:
        number = getattr(error, "__number_of_exception__", None)
        if number is not None:
            return ["h", number]
        known = next((known for base in type(error).__mro__ if (known := known_exception(base))), None)
        try:
            arguments = writer.node(error.args, depth + 1)
        except (TypeError, Malformed):
            arguments = ["t", str(error)]
        self._export(error)
        return ["X", known or ["builtins", "Exception"], arguments, self._export_numbers[id(error)]]

    def _export(self, value: object) -> Node:
        number = self._export_numbers.get(id(value))
        if number is None:
            number = self._export_numbers[id(value)] = len(self._exports)
            self._exports.append(value)
        named = isinstance(value, types.FunctionType | types.MethodType | type)
        name = str(getattr(value, "__name__", "")) if named else type(value).__name__
        return ["o", number, name, value.__doc__ if named and isinstance(value.__doc__, str) else ""]

    def _serve(self, message: list[Any]) -> None:
        """One request of the submission about what is the test's."""
        number, _, operation, target, name, arguments, keywords, table, out, err, classes = message
        self._print(out, err)
        self._learn(classes)
        if type(operation) is not str or type(name) is not str or type(keywords) is not dict:
            raise Malformed("no request")
        reader = Reader(table, self._read_opaque)
        given = reader.values(arguments)
        named = {key: reader.value(node) for key, node in keywords.items()}
        writer = Writer(self._write_opaque, prefix=PREFIX)
        self._depth += 1
        try:
            if self._depth >= DEPTH_MAX:
                raise RecursionError("too many calls within calls")
            node, succeeded = writer.node(self._allow(operation, target, name, given, named)), True
        except Lost:
            raise
        except BaseException as error:
            node, succeeded = self._write_opaque(writer, error, 0), False
        finally:
            self._depth -= 1
        pipe.send([number, "reply", succeeded, node, writer.finish()])

    def _allow(
        self, operation: str, target: object, name: str, given: list[object], named: dict[str, object]
    ) -> object:
        if operation == "input":
            return self._serve_input(given)
        if operation in {"readline", "read"}:
            return getattr(sys.stdin, operation)() if sys.stdin is not self._stdin else ""
        if type(target) is not int or not 0 <= target < len(self._exports):
            raise Malformed("an object that was never given")
        thing = self._exports[target]
        if operation == "call":
            return thing(*given, **named)  # type: ignore[operator]
        if operation == "operate":
            return _operate(thing, name, given)
        if operation not in {"get", "set"} or not _is_open(thing, name):
            raise AttributeError(name)
        if operation == "get":
            return getattr(thing, name)
        if isinstance(thing, mock.NonCallableMock) or callable(getattr(type(thing), name, None)):
            raise AttributeError(name)
        setattr(thing, name, given[0])
        return None

    def _serve_input(self, given: list[object]) -> object:
        if builtins.input is not self._input:
            return builtins.input(*given)
        if sys.stdin is self._stdin:
            return None
        sys.stdout.write(str(given[0]))
        line = sys.stdin.readline()
        return line.removesuffix("\n") if line else None

    # What the submission tells about itself.

    def _learn(self, classes: Any) -> None:
        if type(classes) is not list or len(self._classes) + len(classes) > CLASSES_MAX:
            raise Malformed("too many classes")
        for each in classes:
            number, name, bases, nearest, operations, methods, fields, plain, special, doc = each
            if type(number) is not int or number in self._classes or type(name) is not str:
                raise Malformed("no class")
            texts = [*operations, *methods, *(fields or [])]
            if (
                any(type(text) is not str or not text.isidentifier() for text in texts)
                or len(name) > NAME_CHARACTERS_MAX
            ):
                raise Malformed("no class")
            above = [self._classes[base] for base in bases]
            root = exception_named(*nearest) if nearest else Handle
            namespace: dict[str, object] = {
                "__class_id__": number,
                "__doc__": doc if type(doc) is str else None,
                "__plain__": plain,
            }
            made = _exception_class(name, above, root, namespace) if nearest else None
            if made is None:
                namespace |= {each: OPERATIONS[each] for each in operations if each in OPERATIONS}
                namespace |= {each: Method(each) for each in methods if not each.startswith("__")}
                if special == "generator":
                    namespace["__iter__"] = lambda self: self
                if special == "function":
                    namespace["__doc__"] = property(lambda self: CHANNEL.request("get", self.__number__, "__doc__"))
                if fields is not None:
                    namespace["__dataclass_fields__"] = _dataclass_fields(fields)
                made = _handle_class(name, above, namespace)
            self._classes[number] = made
            if special in {"generator", "coroutine"}:
                self._specials[number] = special

    def _read_opaque(self, reader: Reader, node: Sequence[Any]) -> object:
        tag = node[0]
        if tag == "h":
            return self._proxy(node[1], node[2])
        if tag == "c":
            return self._classes[node[1]]
        if tag == "o":
            if type(node[1]) is not int or node[1] < 0:
                raise Malformed("no number")
            return self._exports[node[1]]
        if tag == "e":
            return self._member(reader, node)
        if tag == "K":
            return exception_named(node[1], node[2])
        if tag == "X":
            return self._exception(reader, node)
        raise Malformed(f"an unknown tag {str(tag)[:20]!r}")

    def _proxy(self, number: object, class_number: object) -> object:
        if type(number) is not int or number < 0 or len(self._proxies) > OBJECTS_MAX:
            raise Malformed("no object")
        found = self._proxies.get(number)
        if found is None:
            kind = self._classes[class_number]  # type: ignore[index]
            if not issubclass(kind, Handle):
                raise Malformed("no object")
            found = object.__new__(kind)
            object.__setattr__(found, "__number__", number)
            special = self._specials.get(class_number)  # type: ignore[arg-type]
            if special == "generator":
                found = _generate(found)
                self._delegates[found] = number
            elif special == "coroutine":
                found = _wait(found)
                self._delegates[found] = number
                return found
            self._proxies[number] = found
        return found

    def _member(self, reader: Reader, node: Sequence[Any]) -> object:
        _, number, name, plain, mixin = node
        key = (number, name)
        if key not in self._members:
            if type(name) is not str or mixin not in {"", "int", "str"}:
                raise Malformed("no member")
            value = reader.value(plain)
            base = {"": None, "int": int, "str": str}[mixin]
            if base is not None and type(value) is not base:
                raise Malformed("no member")
            made = object.__new__(Member) if base is None else {int: IntMember, str: StrMember}[base](value)  # type: ignore[index]
            made.__dict__.update(name=name, value=value, _kind=self._classes[number], __class_number__=number)
            self._members[key] = made
        return self._members[key]

    def _exception(self, reader: Reader, node: Sequence[Any]) -> BaseException:
        _, kind_node, arguments, text, attributes, cause, number, grouped = node
        kind = reader.value(kind_node)
        if not isinstance(kind, type) or not issubclass(kind, BaseException) or type(text) is not str:
            raise Malformed("no exception")
        if issubclass(kind, BaseExceptionGroup):
            parts = [self._exception(reader, each) for each in grouped]
            error: BaseException = kind(text, parts)  # type: ignore[type-var, arg-type]
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
        vars(error).update(_text=text, _number=number, __number_of_exception__=number)
        if cause is not None:
            error.__cause__ = self._exception(reader, cause)
        return error


class StandInClass(type):
    """The class of stand-in classes: what is asked of a class goes to the class of the submission."""

    __class_id__: int
    __test__ = False

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, object]) -> type:  # noqa: N804
        if "__class_id__" not in namespace and bases and any(isinstance(base, StandInClass) for base in bases):
            CHANNEL.inseparable = "a test makes a class of its own from a class of the submission"
            raise Inseparable(CHANNEL.inseparable)
        return super().__new__(mcs, name, bases, namespace)

    def __call__(cls, *arguments: object, **keywords: object) -> object:
        known = CHANNEL.objects
        value = CHANNEL.request("call", cls.__class_id__, "", arguments, keywords)
        if issubclass(type(value), Handle) and CHANNEL.objects == known:
            CHANNEL.flags.add("a class of the submission answered with an object that was there before")
        return value

    def __getattr__(cls, name: str) -> object:
        if _is_private(name):
            raise AttributeError(name)
        value = CHANNEL.request("get", cls.__class_id__, name)
        if isinstance(value, Member) and value.name != name:
            CHANNEL.flags.add("two names of an enumeration mean one member")
        return value

    def __setattr__(cls, name: str, value: object) -> None:
        if _is_private(name):
            type.__setattr__(cls, name, value)
        else:
            CHANNEL.replace(cls.__class_id__, name, value)

    def __delattr__(cls, name: str) -> None:
        CHANNEL.put_back(cls.__class_id__, name)

    def __iter__(cls) -> object:
        return iter(CHANNEL.request("operate", cls.__class_id__, "__iter__"))

    def __len__(cls) -> int:
        return int(CHANNEL.request("operate", cls.__class_id__, "__len__"))

    def __bool__(cls) -> bool:
        return True

    def __getitem__(cls, key: object) -> object:
        return CHANNEL.request("operate", cls.__class_id__, "__getitem__", (key,))

    def __contains__(cls, key: object) -> bool:
        return CHANNEL.request("operate", cls.__class_id__, "__contains__", (key,)) is True

    def __dir__(cls) -> list[str]:
        return list(CHANNEL.request("operate", cls.__class_id__, "__dir__"))


class Handle(metaclass=StandInClass):
    """An object of the submission. It never equals a value of ours."""

    __slots__ = ("__number__", "__weakref__")
    __test__ = False
    __plain__: str | None = None

    def __node__(self) -> Node:
        return ["h", self.__number__]

    def __getattr__(self, name: str) -> object:
        if name in INSEPARABLE:
            CHANNEL.inseparable = f"a test looks at {name} of the submission"
        if name == "__signature__":
            return _signature(self.__number__)
        if _is_private(name) and name != "__dict__":
            raise AttributeError(name)
        return CHANNEL.request("get", self.__number__, name)

    def __setattr__(self, name: str, value: object) -> None:
        CHANNEL.request("set", self.__number__, name, (value,))

    def __delattr__(self, name: str) -> None:
        CHANNEL.request("del", self.__number__, name)

    def __eq__(self, other: object) -> Any:
        return _compare(self, other, "__eq__")

    def __ne__(self, other: object) -> Any:
        return _compare(self, other, "__ne__")

    def __hash__(self) -> int:
        return hash(self.__number__)

    def __str__(self) -> str:
        return _text(CHANNEL.request("operate", self.__number__, "__str__"))

    def __repr__(self) -> str:
        if CHANNEL.fault:
            return f"<{type(self).__name__} of the submission>"
        return _text(CHANNEL.request("operate", self.__number__, "__repr__"))

    def __format__(self, spec: str) -> str:
        return _text(CHANNEL.request("operate", self.__number__, "__format__", (spec,)))

    def __dir__(self) -> list[str]:
        return list(CHANNEL.request("operate", self.__number__, "__dir__"))

    def __copy__(self) -> object:
        return CHANNEL.request("operate", self.__number__, "__copy__")

    def __deepcopy__(self, _memo: object) -> object:
        return CHANNEL.request("operate", self.__number__, "__deepcopy__")

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError("an object of the submission cannot be pickled")


class BoundCall:
    """A method of an object of the submission."""

    __test__ = False

    def __init__(self, number: int, name: str) -> None:
        self.__number__ = number
        self.__name__ = name

    def __call__(self, *arguments: object, **keywords: object) -> object:
        return CHANNEL.request("method", self.__number__, self.__name__, arguments, keywords)

    def __getattr__(self, name: str) -> object:
        return getattr(CHANNEL.request("get", self.__number__, self.__name__), name)

    def __node__(self) -> Node:
        return ["m", self.__number__, self.__name__]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoundCall) and self.__node__() == other.__node__()

    def __hash__(self) -> int:
        return hash((self.__number__, self.__name__))


class Method:
    """In a stand-in class: a name that its instances call."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Handle | None, owner: Any) -> object:
        if instance is None:
            return CHANNEL.request("get", owner.__class_id__, self._name)
        return BoundCall(instance.__number__, self._name)


class Member:
    """A member of an enumeration of the submission: its name, and the value that it is said to have."""

    name: str
    value: object
    _kind: type
    __class_number__: int
    __test__ = False

    def __repr__(self) -> str:
        return f"<{self._kind.__name__}.{self.name}>"

    def __getattr__(self, name: str) -> object:
        if _is_private(name):
            raise AttributeError(name)
        return CHANNEL.request("member", self.__class_number__, self.name, (name,))

    @property
    def __class__(self) -> Any:  # type: ignore[override]
        return self.__dict__["_kind"] if "_kind" in self.__dict__ else Member


class IntMember(Member, int):
    """Of an IntEnum."""

    __hash__ = int.__hash__


class StrMember(Member, str):
    """Of a StrEnum."""

    __hash__ = str.__hash__
    __str__ = str.__str__


class StandInModule(types.ModuleType):
    """A module of the submission."""

    __number__: int
    __test__ = False

    def __getattr__(self, name: str) -> object:
        if _is_private(name):
            raise AttributeError(name)
        if name == "__all__":
            return self._public_names()
        value = CHANNEL.request("get", self.__number__, name)
        if issubclass(type(value), Handle) and not callable(value):
            number = value.__number__
            if self.__dict__.setdefault("__names__", {}).setdefault(number, name) != name:
                CHANNEL.flags.add("two names of the submission mean one object")
        return value

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
        elif type(value) is not StandInModule:  # which the import system sets in its package
            CHANNEL.replace(self.__number__, name, value)

    def __delattr__(self, name: str) -> None:
        if name.startswith("__"):
            super().__delattr__(name)
        else:
            CHANNEL.put_back(self.__number__, name)

    def __dir__(self) -> list[str]:
        return list(CHANNEL.request("operate", self.__number__, "__dir__"))

    def _public_names(self) -> list[str]:
        """What `from module import *` takes."""
        try:
            return list(CHANNEL.request("get", self.__number__, "__all__"))
        except AttributeError:
            return list(CHANNEL.request("names", self.__number__))


class Finder:
    """Finds the submission's modules on the other side of the pipe, before anything else does."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        if any(name == own or name.startswith(own + ".") or own.startswith(name + ".") for own in self._names):
            return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]
        return None

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        """See `importlib.abc.Loader`."""
        return StandInModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """See `importlib.abc.Loader`; running it again runs the submission's again."""
        if "__number__" in vars(module):
            CHANNEL.request("fresh", 0)
        number, is_package = CHANNEL.request("load", 0, module.__name__)
        if type(number) is not int:
            raise Malformed("no module")
        vars(module)["__number__"] = number
        vars(module).pop("__names__", None)
        if is_package is not True:
            del module.__path__

    def forget(self) -> None:
        """Have the next import run the submission's modules anew."""
        for name in [name for name, module in sys.modules.items() if type(module) is StandInModule]:
            del sys.modules[name]
        CHANNEL.request("fresh", 0)


def _warning(text: object, category: Any) -> tuple[str, type[Warning]]:
    kind = exception_named(*category) if category else UserWarning
    if not issubclass(kind, Warning) or type(text) is not str:
        raise Malformed("no warning")
    return text, kind


def _is_private(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in BLAND


def _compare(mine: Handle, other: object, name: str) -> Any:
    if issubclass(type(other), Handle):
        CHANNEL.flags.add("a test compares two objects of the submission, which proves nothing")
        return CHANNEL.request("operate", mine.__number__, name, (other,))
    if type(mine).__plain__ is not None and isinstance(other, PLAIN):
        same = CHANNEL.request("plain", mine.__number__) == other
        return same if name == "__eq__" else not same
    return NotImplemented


def _text(value: object) -> str:
    if type(value) is not str:
        raise TypeError("the submission answered no text")
    return value


def _operation(name: str) -> Callable[..., object]:
    def operation(self: Handle, *arguments: object) -> object:
        if name in JUDGING:
            CHANNEL.flags.add("a test lets the submission compare, which proves nothing")
        return CHANNEL.request("operate", self.__number__, name, arguments)

    operation.__name__ = name
    return operation


def _exact(name: str, kind: type) -> Callable[..., object]:
    def operation(self: Handle) -> object:
        value = CHANNEL.request("operate", self.__number__, name)
        if type(value) is not kind:
            raise TypeError(f"{name} answered no {kind.__name__}")
        return value

    operation.__name__ = name
    return operation


def _call(self: Handle, *arguments: object, **keywords: object) -> object:
    return CHANNEL.request("call", self.__number__, "", arguments, keywords)


def _contains(self: Handle, item: object) -> bool:
    return CHANNEL.request("operate", self.__number__, "__contains__", (item,)) is True


def _await(self: Handle) -> Any:
    return CHANNEL.request("await", self.__number__)
    yield


_NAMES: Final = (
    *("__abs__", "__add__", "__aenter__", "__aexit__", "__aiter__", "__and__", "__anext__", "__ceil__", "__delitem__"),
    *("__divmod__", "__enter__", "__exit__", "__floor__", "__floordiv__", "__ge__", "__getitem__", "__gt__"),
    *("__iadd__", "__iand__", "__ifloordiv__", "__ilshift__", "__imod__", "__imul__", "__invert__", "__ior__"),
    *("__ipow__", "__irshift__", "__isub__", "__iter__", "__itruediv__", "__ixor__", "__le__", "__lshift__", "__lt__"),
    *("__matmul__", "__mod__", "__mul__", "__neg__", "__next__", "__or__", "__pos__", "__pow__", "__radd__"),
    *("__rand__", "__rdivmod__", "__reversed__", "__rfloordiv__", "__rlshift__", "__rmatmul__", "__rmod__"),
    *("__rmul__", "__ror__", "__round__", "__rpow__", "__rrshift__", "__rshift__", "__rsub__", "__rtruediv__"),
    *("__rxor__", "__setitem__", "__sub__", "__truediv__", "__trunc__", "__xor__"),
)
OPERATIONS: Final[dict[str, object]] = {
    **{name: _operation(name) for name in _NAMES},
    **{f"__{kind.__name__}__": _exact(f"__{kind.__name__}__", kind) for kind in (bool, int, float, complex, bytes)},
    "__index__": _exact("__index__", int),
    "__len__": _exact("__len__", int),
    "__hash__": _exact("__hash__", int),
    "__call__": _call,
    "__contains__": _contains,
    "__await__": _await,
}


def _handle_class(name: str, above: list[type], namespace: dict[str, object]) -> type:
    namespace["__slots__"] = ()
    bases = tuple(base for base in above if issubclass(base, Handle)) or (Handle,)
    try:
        return StandInClass(name, bases, namespace)
    except TypeError:
        return StandInClass(name, (Handle,), namespace)


def _exception_class(name: str, above: list[type], root: type, namespace: dict[str, object]) -> type:
    bases = tuple(base for base in above if issubclass(base, BaseException))
    bases = bases if any(issubclass(base, root) for base in bases) else (*bases, root)
    bases = bases if any(issubclass(base, Remote) for base in bases) else (Remote, *bases)
    try:
        return StandInException(name, bases, namespace)
    except TypeError:
        return StandInException(name, (Remote, root), namespace)


class StandInException(type):
    """The class of exception classes of the submission. A test that makes one has the submission make it."""

    __class_id__: int

    def __call__(cls, *arguments: object, **keywords: object) -> object:
        return CHANNEL.request("call", cls.__class_id__, "", arguments, keywords)

    def __getattr__(cls, name: str) -> object:
        if _is_private(name):
            raise AttributeError(name)
        return CHANNEL.request("get", cls.__class_id__, name)


def _dataclass_fields(names: list[str]) -> dict[str, object]:
    import dataclasses

    plain = dataclasses.make_dataclass("Plain", names)
    return dict(vars(plain)["__dataclass_fields__"])


def _generate(handle: Any) -> Any:
    return (yield from handle)


async def _wait(handle: Any) -> Any:
    return CHANNEL.request("await", handle.__number__)


def _signature(number: int) -> inspect.Signature:
    described = CHANNEL.request("signature", number)
    return inspect.Signature(
        [
            inspect.Parameter(name, inspect._ParameterKind(kind), default=default if has else inspect.Parameter.empty)  # noqa: SLF001
            for name, kind, has, default in described
        ]
    )


def _environment() -> dict[str, str]:
    """Without what pytest puts there, which names the test and its parameters."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}


class Environment:
    """Notices when a test changes a variable."""

    def __init__(self) -> None:
        self._last = dict(self._bytes)

    @property
    def _bytes(self) -> dict[bytes, bytes]:
        return os.environ._data  # type: ignore[attr-defined]  # noqa: SLF001 - decoding all of it at each call is slow

    def changed(self) -> bool:
        """True if something is other than last time."""
        now = {name: value for name, value in self._bytes.items() if name[:6] != b"PYTEST"}
        self._last, before = now, self._last
        return now != before


def _operate(thing: Any, name: str, given: list[Any]) -> object:
    if name in {"__iter__", "__next__", "__len__", "__bool__", "__str__", "__repr__"}:
        return {
            "__iter__": iter,
            "__next__": next,
            "__len__": len,
            "__bool__": bool,
            "__str__": str,
            "__repr__": repr,
        }[name](thing)  # type: ignore[operator]
    if name not in _NAMES and name not in {"__contains__", "__eq__", "__float__", "__index__", "__int__"}:
        raise AttributeError(name)
    return getattr(type(thing), name)(thing, *given)


def _is_open(thing: object, name: str) -> bool:
    """True if the submission may see this attribute of an object of the test."""
    if name.startswith("_"):
        return False
    if isinstance(thing, mock.NonCallableMock):
        return name not in SECRET
    if isinstance(thing, io.IOBase | types.SimpleNamespace):
        return True
    kind = type(thing)
    return not isinstance(thing, type) and bool(kind.__flags__ & (1 << 9)) and kind.__module__ in OPEN_MODULES


OPEN_MODULES: Final[set[str]] = set()
"""Names of the test modules: instances of their classes show what has no underscore."""

CHANNEL: Final = Channel()


def separate(names: Sequence[str]) -> Finder:
    """Put stand-ins in place of these modules."""
    finder = Finder(names)
    sys.meta_path.insert(0, finder)  # type: ignore[arg-type]
    importlib.invalidate_caches()
    return finder
