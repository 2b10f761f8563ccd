"""What do the tests hold in place of objects and classes of the submission? Stand-ins: each use is a request."""

import inspect
from collections.abc import Callable, Generator
from typing import Any, Final, NoReturn

from earnest.verification.unit_tests.channel import CHANNEL

BLAND: Final = frozenset(
    {
        *("__name__", "__qualname__", "__doc__", "__module__", "__annotations__", "__wrapped__", "__all__"),
        *("__version__", "__author__", "__members__", "__match_args__", "__self__", "__func__"),
    }
)
"""Names with underscores that tests ask for; no other is asked of the submission."""
INSEPARABLE: Final = frozenset({"__globals__", "__closure__"})
JUDGING: Final = frozenset({"__lt__", "__le__", "__gt__", "__ge__"})
PLAIN: Final = (list, dict, set, frozenset, str, int, float, bytes, tuple)
OWN_COMPARISON: Final = "a test compares two objects of the submission, which proves nothing"
OWN_JUDGEMENT: Final = "a test lets an object of the submission compare itself, which proves nothing"
SAME_OBJECT: Final = "a class of the submission answered with an object that was there before"
SAME_NAME: Final = "two names of the submission mean one object"
SAME_MEMBER: Final = "two names of an enumeration of the submission mean one member"


def is_private(name: str) -> bool:
    """True for a name that is never asked of the submission."""
    return name.startswith("__") and name.endswith("__") and name not in BLAND


class StandInClass(type):
    """The class of stand-in classes: what is asked of a class goes to the class of the submission."""

    __class_id__: int
    __test__ = False

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, object]) -> type:
        """Only the submission's classes have stand-ins; a test cannot make one from another."""
        if bases and "__class_id__" not in namespace:
            CHANNEL.refuse("a test makes a class of its own from a class of the submission")
        return super().__new__(cls, name, bases, namespace)

    def __call__(cls, *arguments: object, **keywords: object) -> object:
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
        if type(value) in MEMBERS and value.name != name:
            CHANNEL.flags.add(SAME_MEMBER)
        note_name(cls.__class_id__, name, value)
        return value

    def __setattr__(cls, name: str, value: object) -> None:
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


class Handle(metaclass=StandInClass):
    """An object of the submission. It never equals a value of ours."""

    __slots__ = ("__born__", "__number__", "__weakref__")
    __test__ = False
    __plain__: str | None = None
    __seen__ = 0  # how many there are
    __number__: int
    __born__: int
    """How many there were when this one was first seen, itself included."""

    def __getattr__(self, name: str) -> object:
        if name in INSEPARABLE:
            CHANNEL.refuse(f"a test looks at {name} of the submission")
        if name == "__signature__":
            return signature(self.__number__)
        if is_private(name) and name != "__dict__":
            raise AttributeError(name)
        return CHANNEL.request("get", self.__number__, name)

    def __setattr__(self, name: str, value: object) -> None:
        CHANNEL.request("set", self.__number__, name, (value,))

    def __delattr__(self, name: str) -> None:
        CHANNEL.request("del", self.__number__, name)

    def __eq__(self, other: object) -> Any:
        return compare(self, other, "__eq__")

    def __ne__(self, other: object) -> Any:
        return compare(self, other, "__ne__")

    def __hash__(self) -> int:
        return hash(self.__number__)

    def __str__(self) -> str:
        return text(CHANNEL.request("operate", self.__number__, "__str__"))

    def __repr__(self) -> str:
        if CHANNEL.fault:
            return f"<{type(self).__name__} of the submission>"
        return text(CHANNEL.request("operate", self.__number__, "__repr__"))

    def __format__(self, spec: str) -> str:
        return text(CHANNEL.request("operate", self.__number__, "__format__", (spec,)))

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
        """In one request, not two."""
        return CHANNEL.request("method", self.__number__, self.__name__, arguments, keywords)

    def __getattr__(self, name: str) -> object:
        return getattr(CHANNEL.request("get", self.__number__, self.__name__), name)

    def __eq__(self, other: object) -> bool:
        return type(other) is BoundCall and (self.__number__, self.__name__) == (other.__number__, other.__name__)

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

    __test__ = False
    __class_number__: int
    name: str
    value: object
    kind: type

    def __repr__(self) -> str:
        return f"<{self.kind.__name__}.{self.name}: {self.value!r}>"

    def __getattr__(self, name: str) -> object:
        if is_private(name):
            raise AttributeError(name)
        return CHANNEL.request("member", self.__class_number__, self.name, (name,))

    @property
    def __class__(self) -> Any:
        """As `isinstance` sees it."""
        return self.__dict__.get("kind", Member)

    @__class__.setter
    def __class__(self, _: object) -> NoReturn:
        raise TypeError("a member stays what it is")


class IntMember(Member, int):
    """Of an enumeration whose members are integers."""

    __hash__ = int.__hash__


class StrMember(Member, str):
    """Of an enumeration whose members are texts."""

    __hash__ = str.__hash__
    __str__ = str.__str__


MEMBERS: Final = (Member, IntMember, StrMember)


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

    def __call__(cls, *arguments: object, **keywords: object) -> object:
        """An exception of the submission, not raised."""
        return CHANNEL.request("call", cls.__class_id__, "", arguments, keywords)

    def __getattr__(cls, name: str) -> object:
        if is_private(name):
            raise AttributeError(name)
        return CHANNEL.request("get", cls.__class_id__, name)


def is_handle(value: object) -> bool:
    """True for a stand-in of an object; what says so of itself does not count."""
    return issubclass(type(value), Handle)


_names: Final[dict[tuple[int, int], str]] = {}


def note_name(owner: int, name: str, value: Any) -> None:
    """An object found under two names may stand for anything. Functions and classes may well have two."""
    if is_handle(value) and not callable(value) and _names.setdefault((owner, value.__number__), name) != name:
        CHANNEL.flags.add(SAME_NAME)


def compare(mine: Handle, other: object, name: str) -> Any:
    """Of two objects of the submission its own word, and a flag; of containers of its own classes the plain content."""
    if is_handle(other):
        CHANNEL.flags.add(OWN_COMPARISON)
        return CHANNEL.request("operate", mine.__number__, name, (other,))
    if type(mine).__plain__ is not None and isinstance(other, PLAIN):
        same = CHANNEL.request("plain", mine.__number__) == other
        return same if name == "__eq__" else not same
    return NotImplemented


def text(value: object) -> str:
    """What must be text."""
    if type(value) is not str:
        raise TypeError("the submission answered no text")
    return value


def signature(number: int) -> inspect.Signature:
    """Of a function of the submission, as it says."""
    kinds = list(inspect.signature(_every_kind).parameters.values())
    return inspect.Signature(
        [
            inspect.Parameter(name, kinds[kind].kind, default=default if has else inspect.Parameter.empty)
            for name, kind, has, default in CHANNEL.request("signature", number)
        ]
    )


def _every_kind(a: object, /, b: object, *c: object, d: object, **e: object) -> None:
    """Its parameters are of every kind, in the order of their numbers."""


def _operation(name: str) -> Callable[..., object]:
    def operation(self: Handle, *arguments: object) -> object:
        if name in JUDGING:
            CHANNEL.flags.add(OWN_JUDGEMENT)
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


def _await(self: Handle) -> Generator[None, None, Any]:
    yield from ()
    return CHANNEL.request("await", self.__number__)


FORWARDED: Final = frozenset(
    {
        *("__abs__", "__add__", "__aenter__", "__aexit__", "__aiter__", "__and__", "__anext__", "__ceil__"),
        *("__delitem__", "__divmod__", "__enter__", "__exit__", "__floor__", "__floordiv__", "__ge__", "__getitem__"),
        *("__gt__", "__iadd__", "__iand__", "__ifloordiv__", "__ilshift__", "__imod__", "__imul__", "__invert__"),
        *("__ior__", "__ipow__", "__irshift__", "__isub__", "__iter__", "__itruediv__", "__ixor__", "__le__"),
        *("__lshift__", "__lt__", "__matmul__", "__mod__", "__mul__", "__neg__", "__next__", "__or__", "__pos__"),
        *("__pow__", "__radd__", "__rand__", "__rdivmod__", "__reversed__", "__rfloordiv__", "__rlshift__"),
        *("__rmatmul__", "__rmod__", "__rmul__", "__ror__", "__round__", "__rpow__", "__rrshift__", "__rshift__"),
        *("__rsub__", "__rtruediv__", "__rxor__", "__setitem__", "__sub__", "__truediv__", "__trunc__", "__xor__"),
    }
)
OPERATIONS: Final[dict[str, object]] = {
    **{name: _operation(name) for name in FORWARDED},
    **{f"__{kind.__name__}__": _exact(f"__{kind.__name__}__", kind) for kind in (bool, int, float, complex, bytes)},
    "__index__": _exact("__index__", int),
    "__len__": _exact("__len__", int),
    "__hash__": _exact("__hash__", int),
    "__call__": _call,
    "__contains__": _contains,
    "__await__": _await,
}
"""What a stand-in class gets of what the submission's class offers."""
