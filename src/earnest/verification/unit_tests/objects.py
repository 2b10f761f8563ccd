"""Stand-ins for objects and classes of the submission: each use is a request."""

import copyreg
import types
from collections.abc import Callable, Generator
from typing import Any, Final

from earnest.verification.unit_tests.channel import CHANNEL
from earnest.verification.unit_tests.claims import CLAIMS, PREFIXES
from earnest.verification.unit_tests.deriving import KEPT, derive
from earnest.verification.unit_tests.library import FORWARDED, signature
from earnest.verification.unit_tests.owned import EnumMember, OwnedObject, is_private

INSEPARABLE: Final = frozenset({"__globals__", "__closure__"})
PLAIN: Final = (list, dict, set, frozenset, str, int, float, bytes, tuple)
SAME_OBJECT: Final = "a class of the submission answered with an object that was there before"
SAME_NAME: Final = "two names of the submission mean one object"
SAME_MEMBER: Final = "two names of an enumeration of the submission mean one member"


def operate(thing: OwnedObject, name: str, arguments: tuple[object, ...] = ()) -> Any:
    """An operation of the submission's own class, though a test may have derived one that has it too."""
    operation = "call_above" if name in type(thing).__overridden__ else "operate"
    return CHANNEL.request(operation, thing.__number__, name, arguments)


def _operation(name: str) -> Callable[..., object]:
    def operation(self: OwnedObject, *arguments: object) -> object:
        answer = operate(self, name, arguments)
        CLAIMS.heard(self, name, arguments, answer)
        return answer

    operation.__name__ = name
    return operation


def _exact(name: str, kind: type) -> Callable[..., object]:
    def operation(self: OwnedObject) -> object:
        value = operate(self, name)
        if type(value) is not kind:
            raise TypeError(f"{name} answered no {kind.__name__}")
        if value is True:
            CLAIMS.taken(self)
        return value

    operation.__name__ = name
    return operation


def _call(self: OwnedObject, /, *arguments: object, **keywords: object) -> object:
    operation = "call_above" if "__call__" in type(self).__overridden__ else "call"
    return CHANNEL.request(operation, self.__number__, "__call__", arguments, keywords)


def _contains(self: OwnedObject, item: object) -> bool:
    answer = bool(operate(self, "__contains__", (item,)))
    CLAIMS.heard(self, "__contains__", (item,), answer)
    return answer


def _await(self: OwnedObject) -> Generator[None, None, Any]:
    yield from ()
    return CHANNEL.request("await", self.__number__)


def _exit(self: OwnedObject, kind: object, error: BaseException | None, trace: object) -> object:
    answer = operate(self, "__exit__", (kind, error, trace))
    return answer and not CHANNEL.failures.swallowed(error)


async def _async_exit(self: OwnedObject, kind: object, error: BaseException | None, trace: object) -> object:
    answer = await operate(self, "__aexit__", (kind, error, trace))
    return answer and not CHANNEL.failures.swallowed(error)


class StandInClass(type):
    """The class of stand-in classes: what is asked of a class goes to the class of the submission."""

    __class_id__: int
    __test__ = False

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, object], **options: object) -> type:
        """A stand-in, or what a test derives from one."""
        if "__class_id__" not in namespace and any(isinstance(base, StandInClass) for base in bases):
            found = {each for base in bases for kind in base.__mro__ for each in vars(kind)}
            missing = {each: Inherited(each) for each in namespace.keys() - found if isinstance(namespace[each], KEPT)}
            made: type = derive(cls, name, bases, (namespace, missing), options)
            return made
        return super().__new__(cls, name, bases, namespace)

    def __init__(cls, *_: object, **__: object) -> None:
        """Options of a derived class are for the submission's."""

    def mro(cls) -> list[type]:
        """With the library's classes that it is one of, though it has nothing of theirs."""
        likewise = vars(cls).get("__likewise__", ())
        return list(dict.fromkeys([*super().mro()[:-1], *likewise, object]))

    def __call__(cls, /, *arguments: object, **keywords: object) -> object:
        """An object of the submission. One that was there before may stand for anything."""
        before = Handle.__seen__
        value: Any = CHANNEL.request("call", cls.__class_id__, "", arguments, keywords)
        if is_handle(value) and value.__born__ <= before:
            CHANNEL.flags.add(SAME_OBJECT)
        return value

    def __getattr__(cls, name: str) -> object:
        if is_private(name):
            raise AttributeError(name)
        value = CHANNEL.request("get", cls.__class_id__, name)
        if issubclass(type(value), EnumMember) and value.name != name:
            CHANNEL.flags.add(SAME_MEMBER)
        note_name(cls.__class_id__, name, value)
        return value

    def __setattr__(cls, name: str, value: object) -> None:
        if "__overridden__" in vars(cls) and (name in vars(cls) or isinstance(value, types.FunctionType)):
            CHANNEL.refuse(f"a test sets {name} of {cls.__name__}, which it derives from a class of the submission")
        if is_private(name):
            type.__setattr__(cls, name, value)
        elif isinstance(value, Method):
            CHANNEL.put_back(cls.__class_id__, name)
        else:
            CHANNEL.replace(cls.__class_id__, name, value)

    def __delattr__(cls, name: str) -> None:
        CHANNEL.put_back(cls.__class_id__, name)

    def __iter__(cls) -> Any:
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


class Handle(OwnedObject, metaclass=StandInClass):
    """An object of the submission. It never equals a value of ours; see `claims`."""

    __slots__ = ("__born__", "__number__", "__weakref__")
    __test__ = False
    __plain__: str | None = None
    __seen__ = 0  # how many there are
    __born__: int
    """How many there were when this one was first seen, itself included."""

    def __init__(self, /, *arguments: object, **keywords: object) -> None:
        """Asked for by `super()` of a derived class alone; see `StandInClass.__call__`."""
        above(self, "__init__")(*arguments, **keywords)

    def __getattr__(self, name: str) -> object:
        if name in INSEPARABLE:
            CHANNEL.refuse(f"a test looks at {name} of the submission")
        if name == "__signature__":
            return signature(CHANNEL.request("signature", self.__number__))
        if is_private(name) and name != "__dict__":
            raise AttributeError(name)
        if name in type(self).__overridden__:
            return CHANNEL.request("above", self.__number__, name)
        value = CHANNEL.request("get", self.__number__, name)
        return BoundCall(self, name) if name in PREFIXES and is_handle(value) else value

    def __setattr__(self, name: str, value: object) -> None:
        CHANNEL.request("set", self.__number__, name, (value,))

    def __delattr__(self, name: str) -> None:
        CHANNEL.request("del", self.__number__, name)

    def __eq__(self, other: object) -> Any:
        if is_handle(other):
            answer = operate(self, "__eq__", (other,))
            CLAIMS.heard(self, "__eq__", (other,), answer)
            return answer
        if type(self).__plain__ is not None and isinstance(other, PLAIN):
            return CHANNEL.request("plain", self.__number__) == other
        return NotImplemented

    def __bool__(self) -> bool:
        CLAIMS.taken(self)
        has_size = any("__len__" in vars(kind) for kind in type(self).__mro__)
        return not has_size or len(self) > 0  # type: ignore[arg-type]

    def __hash__(self) -> int:
        return hash(self.__number__)

    def __str__(self) -> str:
        return text(operate(self, "__str__"))

    def __repr__(self) -> str:
        if CHANNEL.fault:
            return f"<{type(self).__name__} of the submission>"
        return text(operate(self, "__repr__"))

    def __format__(self, spec: str) -> str:
        return text(operate(self, "__format__", (spec,)))

    def __dir__(self) -> list[str]:
        return list(CHANNEL.request("operate", self.__number__, "__dir__"))

    def __copy__(self) -> object:
        return CHANNEL.request("operate", self.__number__, "__copy__")

    def __deepcopy__(self, _memo: object) -> object:
        return CHANNEL.request("operate", self.__number__, "__deepcopy__")

    def __reduce_ex__(self, _protocol: object) -> Any:
        return pickled(self.__number__)


class BoundCall:
    """A method of an object of the submission."""

    __test__ = False

    def __init__(self, owner: Handle, name: str) -> None:
        self.__owner__ = owner
        self.__name__ = name

    def __call__(self, /, *arguments: object, **keywords: object) -> object:
        """In one request, not two."""
        answer = CHANNEL.request("method", self.__owner__.__number__, self.__name__, arguments, keywords)
        if self.__name__ in PREFIXES:
            CLAIMS.heard(self.__owner__, self.__name__, arguments, answer)
        return answer

    def __getattr__(self, name: str) -> object:
        return getattr(CHANNEL.request("get", self.__owner__.__number__, self.__name__), name)

    def __eq__(self, other: object) -> bool:
        return type(other) is BoundCall and self.__owner__ is other.__owner__ and self.__name__ == other.__name__

    def __hash__(self) -> int:
        return hash((self.__owner__.__number__, self.__name__))


class Method:
    """In a stand-in class: a name that its instances call."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Handle | None, owner: Any) -> object:
        if instance is None:
            return CHANNEL.request("get", owner.__class_id__, self._name)
        if self._name in type(instance).__overridden__:
            return above(instance, self._name)
        return BoundCall(instance, self._name)


class Inherited:
    """What a class that a test derives overrides, if it is no method: what `super()` asks the submission's own for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Handle | None, owner: Any) -> object:
        operation = "above" if self._name in owner.__overridden__ else "get"
        return CHANNEL.request(operation, owner.__class_id__ if instance is None else instance.__number__, self._name)


class Doc:
    """In a stand-in class: its docstring, and that of an instance."""

    def __init__(self, text: str | None) -> None:
        self._text = text

    def __get__(self, instance: Handle | None, owner: object) -> object:
        return self._text if instance is None else CHANNEL.request("get", instance.__number__, "__doc__")


class Remote:
    """Of an exception of the submission: what it could tell."""

    __number__: int
    __text__: str

    def __str__(self) -> str:
        return self.__text__

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(name)
        return CHANNEL.request("get", self.__number__, name)


class StandInException(type):
    """The class of exception classes of the submission. A test that makes one has the submission make it."""

    __class_id__: int

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, object], **options: object) -> type:
        """A stand-in, or what a test derives from one."""
        if "__class_id__" in namespace:
            return super().__new__(cls, name, bases, namespace)
        made: type = derive(cls, name, bases, (namespace, {}), options)
        return made

    def __init__(cls, *_: object, **__: object) -> None:
        """As of `StandInClass`."""

    def __call__(cls, /, *arguments: object, **keywords: object) -> object:
        """An exception of the submission, not raised."""
        return CHANNEL.request("call", cls.__class_id__, "", arguments, keywords)

    def __getattr__(cls, name: str) -> object:
        if is_private(name):
            raise AttributeError(name)
        return CHANNEL.request("get", cls.__class_id__, name)


def above(instance: Handle, name: str) -> Any:
    """A method of an object of a test's derived class, as the submission's own class has it."""

    def call(*arguments: object, **keywords: object) -> object:
        return CHANNEL.request("call_above", instance.__number__, name, arguments, keywords)

    return call


def pickled(number: int) -> tuple[Any, tuple[Any, ...]]:
    """What `pickle` makes of an object of the submission: the bytes that it becomes there, which are read there too."""
    return unpickled, (CHANNEL.request("pickle", number),)


def unpickled(data: bytes) -> object:
    """The object that these bytes are to the submission."""
    return CHANNEL.request("unpickle", 0, "", (data,))


copyreg.pickle(StandInClass, lambda kind: pickled(kind.__class_id__))


def is_handle(value: object) -> bool:
    """True for a stand-in of an object; what says so of itself does not count."""
    return issubclass(type(value), Handle)


_names: Final[dict[tuple[int, int], str]] = {}


def note_name(owner: int, name: str, value: Any) -> None:
    """An object found under two names may stand for anything. Functions and classes may well have two."""
    if is_handle(value) and not callable(value) and _names.setdefault((owner, value.__number__), name) != name:
        CHANNEL.flags.add(SAME_NAME)


def text(value: object) -> str:
    """What must be text."""
    if type(value) is not str:
        raise TypeError("the submission answered no text")
    return value


OPERATIONS: Final[dict[str, object]] = {
    **{name: _operation(name) for name in FORWARDED},
    **{f"__{kind.__name__}__": _exact(f"__{kind.__name__}__", kind) for kind in (bool, int, float, complex, bytes)},
    "__index__": _exact("__index__", int),
    "__len__": _exact("__len__", int),
    "__hash__": _exact("__hash__", int),
    "__call__": _call,
    "__contains__": _contains,
    "__await__": _await,
    "__exit__": _exit,
    "__aexit__": _async_exit,
}
GENERATOR: Final = {"__iter__": lambda self: self} | {name: _operation(name) for name in ("send", "throw", "close")}
"""What a generator has besides: `yield from` asks it for these."""
