"""Classes, objects and exceptions as the submission tells of them, and as they are given back to it."""

import abc
import dataclasses
import enum
import types
import weakref
from collections.abc import Sequence
from typing import Any, Final

from earnest.verification.unit_tests.channel import CHANNEL
from earnest.verification.unit_tests.claims import CLAIMS
from earnest.verification.unit_tests.deriving import PENDING
from earnest.verification.unit_tests.library import (
    ABSTRACT,
    NAME_CHARACTERS_MAX,
    Malformed,
    Node,
    exception_named,
    exception_of,
    is_library,
    known_exception,
    plain_base,
    plain_view,
)
from earnest.verification.unit_tests.objects import (
    GENERATOR,
    OPERATIONS,
    BoundCall,
    Doc,
    Handle,
    Method,
    Remote,
    StandInClass,
    StandInException,
)
from earnest.verification.unit_tests.ours import Ours
from earnest.verification.unit_tests.owned import KINDS, OwnedObject
from earnest.verification.unit_tests.values import MessageReader, MessageWriter

OBJECTS_MAX: Final = 1_000_000
CLASSES_MAX: Final = 10_000
NAMES_MAX: Final = 2_000  # of one class
BY_VALUE: Final = (str, int, float, bytes, tuple, frozenset)
CATCHES_ALL: Final = "the submission answers with a class of exceptions that catches failed assertions"
NEVER_GIVEN: Final = (types.ModuleType, types.FrameType, types.CodeType)


class SubmissionObjects:
    """Classes and objects that the submission told about, by number."""

    def __init__(self) -> None:
        self._ours = Ours()
        self.serve = self._ours.serve
        self._objects: dict[int, object] = {}
        self._delegates: weakref.WeakKeyDictionary[object, int] = weakref.WeakKeyDictionary()
        self._classes: dict[int, Any] = {}
        self._specials: dict[int, str] = {}
        self._offered: dict[int, dict[str, object]] = {}
        self._members: dict[int, Any] = {}
        self._member_kinds: dict[tuple[int, str], Any] = {}
        self._handed_over: set[type] = set()

    def learn(self, classes: Any) -> None:
        """Take note of classes that it tells about.

        Each: number, name, bases (number, or module and name of an exception), whether it is an exception, operations,
        methods, fields, plain base, special kind, docstring, abstract classes above it, and of a class that a test
        derived the number that the test's side gave it, which then has the rest already.
        """
        if type(classes) is not list or len(self._classes) + len(classes) > CLASSES_MAX:
            raise Malformed("too many classes")
        for each in classes:
            number, name, bases, is_exception, operations, methods, fields, plain, special, doc, likewise, token = each
            if type(number) is not int or number in self._classes or type(name) is not str:
                raise Malformed("no class")
            if token is not None:
                self._classes[number] = made = PENDING.pop(token)
                type.__setattr__(made, "__class_id__", number)
                continue
            _check_names(name, [*operations, *methods, *(fields or [])])
            above = [exception_named(*base) if type(base) is list else self._classes[base] for base in bases]
            namespace: dict[str, object] = {
                "__class_id__": number,
                "__doc__": Doc(doc if type(doc) is str else None),
                "__plain__": plain if type(plain) is str else None,
            }
            if is_exception is True:
                self._classes[number] = _exception_class(name, above, namespace)
                continue
            offered = {name: OPERATIONS[name] for name in operations if name in OPERATIONS}
            namespace |= offered
            namespace |= {method: Method(method) for method in methods if not method.startswith("__")}
            if special == "generator":
                namespace |= GENERATOR
            elif special == "function":
                namespace["__get__"] = _bind
            if fields is not None:
                made = dataclasses.make_dataclass("Fields", fields)
                namespace["__dataclass_fields__"] = vars(made)["__dataclass_fields__"]
            self._classes[number] = _handle_class(name, above, namespace, likewise)
            self._offered[number] = offered
            if special in {"generator", "coroutine"}:
                self._specials[number] = special

    def read(self, reader: MessageReader, node: Sequence[Any]) -> object:
        """What a node means that is no plain data."""
        match node[0]:
            case "h":
                return self._object(node[1], node[2])
            case "c":
                return self._classes[node[1]]
            case "o":
                return self._ours.thing(node[1])
            case "e":
                return self._member(reader, *node[1:])
            case "K":
                kind = exception_named(node[1], node[2])
                if issubclass(AssertionError, kind) and kind not in self._handed_over:
                    CHANNEL.flags.add(CATCHES_ALL)
                return kind
            case "X":
                return self._exception(reader, node[1:])
        raise Malformed("an unknown tag")

    def write(self, writer: MessageWriter, value: Any, depth: int) -> Node:
        """The node of what is no plain data."""
        if isinstance(value, type):
            self._handed_over.add(value)
        node = self._given_back(value)
        if node is not None:
            return node
        kind = type(value)
        if issubclass(kind, BaseException):
            return self._write_exception(writer, value, depth)
        if issubclass(kind, type) and issubclass(value, BaseException):
            return ["K", *_nearest(value)]
        if issubclass(kind, types.TracebackType):
            return None
        if issubclass(kind, NEVER_GIVEN):
            raise TypeError(f"a {kind.__name__} cannot be given to the submission")
        base = None if issubclass(kind, enum.Enum) else plain_base(value)
        if base in BY_VALUE:
            return writer.node(plain_view(value, base), depth + 1)
        return self._ours.give(value)

    def _given_back(self, value: Any) -> Node:
        """The node of something that the submission told about, or has itself, or None."""
        kind = type(value)
        if kind is BoundCall:
            return ["m", value.__owner__.__number__, value.__name__]
        if issubclass(kind, OwnedObject | StandIn):
            return ["h", value.__number__]
        if issubclass(kind, StandInClass | StandInException):
            return ["h", value.__class_id__]
        if issubclass(kind, type | types.FunctionType | types.BuiltinFunctionType) and is_library(value):
            return ["L", value.__module__, value.__name__]
        is_delegate = issubclass(kind, types.GeneratorType | types.CoroutineType) and value in self._delegates
        return ["h", self._delegates[value]] if is_delegate else None

    def _write_exception(self, writer: MessageWriter, error: BaseException, depth: int) -> Node:
        number = vars(error).get("__number__")
        if number is not None:
            return ["h", number]
        CHANNEL.failures.told(error)
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
        type.__setattr__(Handle, "__seen__", Handle.__seen__ + 1)
        object.__setattr__(made, "__number__", number)
        object.__setattr__(made, "__born__", Handle.__seen__)
        special = self._specials.get(class_number)
        if special is not None:
            made = _generate(made) if special == "generator" else _wait(made)
            self._delegates[made] = number
        else:
            CLAIMS.meet(made)
        if special != "coroutine":  # an awaitable is awaited once; keeping it would only make it complain
            self._objects[number] = made
        return made

    def _member(self, reader: MessageReader, number: Any, class_number: Any, *said: Any) -> object:
        """`said` are the name, the value as a node, and the name of the plain type that is mixed in."""
        name, plain, mixin = said
        if number not in self._members:
            self._members[number] = self._new_member(number, class_number, name, reader.value(plain), mixin)
        found = self._members[number]
        if type(number) is not int or found.name != name or found.kind is not self._classes[class_number]:
            raise Malformed("no member")
        return found

    def _new_member(self, number: int, class_number: int, name: object, value: Any, mixin: str) -> Any:
        base, above = KINDS[mixin]
        if base is not None and type(value) is not base:
            raise Malformed("no member")
        kind: Any = self._member_kinds.setdefault(
            (class_number, mixin), type(above.__name__, (above,), {} if base else dict(self._offered[class_number]))
        )
        made: Any = base.__new__(kind, value) if base else object.__new__(kind)
        vars(made).update(__number__=number, name=name, value=value, kind=self._classes[class_number])
        CLAIMS.meet(made)
        return made

    def _exception(self, reader: MessageReader, parts: Sequence[Any]) -> BaseException:
        kind_node, arguments, text, attributes, cause, number, grouped = parts
        is_known = type(kind_node) is list and kind_node[:1] == ["K"]
        kind: Any = exception_named(*kind_node[1:]) if is_known else reader.value(kind_node)
        if not isinstance(kind, type) or not issubclass(kind, BaseException) or type(text) is not str:
            raise Malformed("no exception")
        if issubclass(kind, BaseExceptionGroup):
            within = [reader.value(each) for each in grouped]
            error: BaseException = kind.__new__(kind, text, within)
        else:
            values = reader.value(arguments)
            values = values if type(values) is tuple else ()
            error = exception_of(kind, values)
        for name, value_node in attributes:
            if type(name) is str and not name.startswith("_"):
                vars(error)[name] = reader.value(value_node)
        vars(error).update(__text__=text, __number__=number)
        if cause is False:
            error.__suppress_context__ = True
        elif cause is not None:
            error.__cause__ = reader.value(cause)
        return error


class StandIn(types.ModuleType):
    """A module of the submission; see `stand_in`."""

    __number__: int


def _check_names(name: str, names: list[Any]) -> None:
    """Of a class and what it has."""
    if any(type(each) is not str or not each.isidentifier() for each in names):
        raise Malformed("no class")
    if len(names) > NAMES_MAX or max(map(len, [name, *names])) > NAME_CHARACTERS_MAX:
        raise Malformed("a class of too many names")


def _nearest(kind: type) -> list[str]:
    return next((known for base in kind.__mro__ if (known := known_exception(base))), ["builtins", "Exception"])


def _handle_class(name: str, above: list[type], namespace: dict[str, object], likewise: list[str]) -> type:
    abstract = [ABSTRACT[each] for each in likewise]
    namespace["__slots__"] = ()
    namespace["__likewise__"] = tuple(each for each in abstract if not isinstance(each, abc.ABCMeta))
    bases = tuple(base for base in above if issubclass(base, Handle))
    try:
        made = StandInClass(name, bases or (Handle,), namespace)
    except TypeError:  # an order of bases that cannot be
        made = StandInClass(name, (Handle,), namespace)
    for each in abstract:
        if isinstance(each, abc.ABCMeta):
            each.register(made)  # type: ignore[arg-type]
    return made


def _exception_class(name: str, above: list[type], namespace: dict[str, object]) -> type:
    bases: tuple[type, ...] = tuple(base for base in above if issubclass(base, BaseException)) or (Exception,)
    if not any(issubclass(base, Remote) for base in bases):
        bases = (Remote, *bases)
    try:
        return StandInException(name, bases, namespace)
    except TypeError:  # an order or a mixture of bases that cannot be
        return StandInException(name, (Remote, Exception), namespace)


def _bind(function: Any, instance: object, _owner: object = None) -> object:
    """A function of the submission in a class of the test is a method there."""
    return function if instance is None else types.MethodType(function, instance)


def _generate(handle: Any) -> Any:
    return (yield from handle)


async def _wait(handle: Any) -> Any:
    return CHANNEL.request("await", handle.__number__)
