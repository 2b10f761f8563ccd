"""Values of the standard library across the pipe: a tag and plain parts, and back from these alone."""

import abc
import base64
import builtins
import collections
import collections.abc
import contextlib
import datetime
import decimal
import enum
import fractions
import importlib
import inspect
import io
import math
import numbers
import pathlib
import sys
import uuid
import zoneinfo
from collections.abc import Callable
from typing import Any, Final

Node = object  # what json makes and takes
INTEGER_BITS: Final = 63
NAME_CHARACTERS_MAX: Final = 200
MICROSECOND: Final = datetime.timedelta(microseconds=1)

EXCEPTION_MODULES: Final = frozenset(
    {
        *("_csv", "_queue", "ast", "asyncio.exceptions", "binascii", "concurrent.futures._base", "configparser"),
        *("copy", "csv", "dataclasses", "decimal", "graphlib", "json.decoder", "queue", "re", "shutil", "statistics"),
        *("string", "struct", "subprocess", "tomllib", "urllib.error", "uuid", "xml.etree.ElementTree", "zipfile"),
        *("zlib", "zoneinfo", "zoneinfo._common"),
    }
)
"""Whose exceptions arrive as themselves."""

_ParameterKind: Final[Any] = type(inspect.Parameter.POSITIONAL_ONLY)
PATHS: Final = ("PosixPath", "PurePosixPath", "PureWindowsPath")
_LIBRARY_TYPES: Final[tuple[type, ...]] = (
    *(collections.Counter, collections.OrderedDict, collections.defaultdict, collections.deque, decimal.Decimal),
    *(fractions.Fraction, datetime.datetime, datetime.date, datetime.time, datetime.timedelta, uuid.UUID),
    *(pathlib.Path, pathlib.PurePath, pathlib.PosixPath, pathlib.PurePosixPath, pathlib.PureWindowsPath),
)
TYPES: Final[dict[str, type]] = {
    **{
        name: value
        for name, value in vars(builtins).items()
        if isinstance(value, type) and not issubclass(value, BaseException)
    },
    **{kind.__name__: kind for kind in _LIBRARY_TYPES},
}
"""Classes that arrive as themselves, by name; those of exceptions by `known_exception`."""
TYPE_NAMES: Final[dict[type, str]] = {kind: name for name, kind in TYPES.items()}
ABSTRACT: Final[dict[str, Any]] = {
    f"{kind.__module__}.{kind.__name__}": kind
    for kind in (
        *(vars(collections.abc)[name] for name in collections.abc.__all__),
        *(numbers.Number, numbers.Complex, numbers.Real, numbers.Rational, numbers.Integral),
        *(abc.ABC, enum.Enum, enum.Flag, io.IOBase, io.RawIOBase, io.BufferedIOBase, io.TextIOBase),
    )
}
"""Classes whose subclass a class of the submission is also on our side, by module and name."""
PLAIN_BASES: Final = (str, int, float, bytes, tuple, list, dict, set, frozenset, collections.deque)


FORWARDED: Final = (
    *("__abs__", "__add__", "__aenter__", "__aiter__", "__and__", "__anext__", "__ceil__", "__delete__"),
    *("__delitem__", "__divmod__", "__enter__", "__floor__", "__floordiv__", "__ge__", "__get__", "__getitem__"),
    *("__gt__", "__iadd__", "__iand__", "__ifloordiv__", "__ilshift__", "__imod__", "__imul__", "__invert__"),
    *("__ior__", "__ipow__", "__irshift__", "__isub__", "__iter__", "__itruediv__", "__ixor__", "__le__"),
    *("__lshift__", "__lt__", "__matmul__", "__mod__", "__mro_entries__", "__mul__", "__neg__", "__next__"),
    *("__or__", "__pos__", "__pow__", "__radd__", "__rand__", "__rdivmod__", "__reversed__", "__rfloordiv__"),
    *("__rlshift__", "__rmatmul__", "__rmod__", "__rmul__", "__ror__", "__round__", "__rpow__", "__rrshift__"),
    *("__rshift__", "__rsub__", "__rtruediv__", "__rxor__", "__set__", "__set_name__", "__setitem__", "__sub__"),
    *("__truediv__", "__trunc__", "__xor__"),
)
"""Operations whose answer is taken as it comes."""
OPERATIONS: Final = (
    *FORWARDED,
    *("__aexit__", "__await__", "__bool__", "__bytes__", "__call__", "__complex__", "__contains__", "__exit__"),
    *("__float__", "__hash__", "__index__", "__int__", "__len__"),
)
"""Every operation that a class is told to offer."""


class Malformed(Exception):
    """A node that no writer of ours makes, or a value beyond the bounds."""


def known_exception(kind: type) -> list[str] | None:
    """How an exception class is named that both sides have, or None."""
    if not issubclass(kind, BaseException):
        return None
    if kind.__module__ == "builtins" and getattr(builtins, kind.__name__, None) is kind:
        return ["builtins", kind.__name__]
    return [kind.__module__, kind.__name__] if kind.__module__ in EXCEPTION_MODULES else None


def exception_named(module: Node, name: Node) -> type[BaseException]:
    """The class that `known_exception` named."""
    if type(module) is not str or type(name) is not str or module not in {"builtins", *EXCEPTION_MODULES}:
        raise Malformed("an exception of an unknown module")
    found = getattr(importlib.import_module(module), name, None)
    if not isinstance(found, type) or not issubclass(found, BaseException):
        raise Malformed("no exception")
    return found


def exception_of(kind: Any, arguments: tuple[object, ...]) -> BaseException:
    """An exception with these arguments, made without running what a class in Python does with them.

    What a builtin class does is run: the interpreter reads what it sets, and ends the process where it is missing.
    """
    error: BaseException = kind.__new__(kind, *arguments)
    error.args = arguments
    made_by = next(base for base in kind.__mro__ if "__init__" in vars(base))
    if made_by.__module__ == "builtins":
        with contextlib.suppress(TypeError):
            made_by.__init__(error, *arguments)
    return error


def is_library(value: Any) -> bool:
    """True for a function or class of the standard library that can be found by its name there."""
    module = getattr(value, "__module__", None)
    if type(module) is not str or module.partition(".")[0] not in sys.stdlib_module_names:
        return False
    return getattr(sys.modules.get(module), value.__name__, None) is value


def offers(kind: type, name: str) -> bool:
    """True if the class itself offers an operation; what every object has does not count."""
    return any(vars(base).get(name) is not None for base in kind.__mro__[:-1])  # the last is object


def parameters(function: Any) -> list[tuple[object, ...]]:
    """Name, kind, has a default, default, of each parameter."""
    return [
        (each.name, int(each.kind), has, each.default if has else None)
        for each in inspect.signature(function).parameters.values()
        for has in [each.default is not each.empty]
    ]


def signature(told: Any) -> inspect.Signature:
    """From what `parameters` told."""
    return inspect.Signature(
        [
            inspect.Parameter(name, _ParameterKind(kind), default=default if has else inspect.Parameter.empty)
            for name, kind, has, default in told
        ]
    )


def plain_base(value: object) -> type | None:
    """The plain type whose subclass the value's class is, or None."""
    return next((base for base in PLAIN_BASES if issubclass(type(value), base)), None)


def plain_view(value: Any, base: Any) -> object:
    """The plain content, read past everything that its class says of itself."""
    if base is dict:
        return {key: dict.__getitem__(value, key) for key in dict.__iter__(value)}
    if base in (int, float):
        return base.__pos__(value)
    if base in (str, bytes):
        return base.__add__(value, base())
    return base(base.__iter__(value))


def integer(value: int) -> Node:
    """A number, in base 16 if JSON's readers might not take it."""
    return value if value.bit_length() <= INTEGER_BITS else ["i", hex(value)]


_named_kinds: dict[tuple[str, ...], Any] = {}


def named_tuple(name: Node, fields: Node) -> Any:
    """The class of a named tuple, made once for each name and fields."""
    if type(name) is not str or type(fields) is not list or any(type(field) is not str for field in fields):
        raise Malformed("no named tuple")
    key = (name, *fields)
    if key not in _named_kinds:
        if len(key) > NAME_CHARACTERS_MAX or any(len(word) > NAME_CHARACTERS_MAX for word in key):
            raise Malformed("no named tuple")
        _named_kinds[key] = collections.namedtuple(name, fields)
    return _named_kinds[key]


# As they are now: a test may put something else in their place.
_Zone: Any = datetime.timezone
_NamedZone: Any = zoneinfo.ZoneInfo
_Moment: Any = datetime.datetime


def _write_moment(value: Any) -> Node:
    zone: Any = value.tzinfo
    if type(zone) is _Zone:
        zone = zone.utcoffset(None) // MICROSECOND
    elif type(zone) is _NamedZone and zone.key:
        zone = zone.key
    elif zone is not None:
        return None
    tag = "dt" if isinstance(value, _Moment) else "tm"
    return [tag, value.replace(tzinfo=None).isoformat(), value.fold, zone]


def _read_moment(kind: Any) -> Callable[..., object]:
    def read(text: str, fold: int, zone: Any) -> object:
        found = _timezone(zone) if type(zone) is int else zone and _NamedZone(zone)
        return kind.fromisoformat(text).replace(fold=fold, tzinfo=found)

    return read


def _timezone(offset: int) -> Any:
    return _Zone(offset * MICROSECOND) if offset else _Zone.utc


def _read_path(name: str, text: str) -> object:
    if name not in PATHS:
        raise Malformed("no path")
    return getattr(pathlib, name)(text)


def _write_slice(value: Any) -> Node:
    parts = (value.start, value.stop, value.step)
    if any(part is not None and type(part) is not int for part in parts):
        return None
    return ["sl", *[part if part is None else integer(part) for part in parts]]


def _integers(kind: Any) -> Callable[..., object]:
    """Reads a value that is made of whole numbers."""

    def read(*parts: Any) -> object:
        whole = [int(part[1], 16) if type(part) is list else part for part in parts]
        if any(part is not None and type(part) is not int for part in whole):
            raise Malformed("no number")
        return kind(*whole)

    return read


CONTAINERS: Final[dict[type, str]] = {
    list: "l",
    dict: "d",
    set: "s",
    bytearray: "B",
    collections.deque: "q",
    collections.OrderedDict: "O",
    collections.defaultdict: "D",
    collections.Counter: "C",
}
"""What can change, and its tag."""
MAPPINGS: Final = "dODC"
EMPTY: Final[dict[str, Callable[[], object]]] = {tag: kind for kind, tag in CONTAINERS.items() if tag != "q"}

WRITERS: Final[dict[type, Callable[[Any], Node]]] = {
    bytes: lambda value: ["b", base64.b64encode(value).decode()],
    complex: lambda value: ["cx", repr(value.real), repr(value.imag)],
    range: lambda value: ["rg", integer(value.start), integer(value.stop), integer(value.step)],
    slice: _write_slice,
    type(...): lambda _: ["..."],
    type(NotImplemented): lambda _: ["NI"],
    decimal.Decimal: lambda value: ["dc", str(value)],
    fractions.Fraction: lambda value: ["fr", integer(value.numerator), integer(value.denominator)],
    datetime.datetime: _write_moment,
    datetime.time: _write_moment,
    datetime.date: lambda value: ["da", value.isoformat()],
    datetime.timedelta: lambda value: ["td", value.days, value.seconds, value.microseconds],
    datetime.timezone: lambda value: ["tz", value.utcoffset(None) // MICROSECOND],
    uuid.UUID: lambda value: ["u", value.hex],
    zoneinfo.ZoneInfo: lambda value: ["zi", value.key] if value.key else None,
    **{getattr(pathlib, name): lambda value: ["p", type(value).__name__, str(value)] for name in PATHS},
}
"""None from one of these: this value is not one that can be told."""

READERS: Final[dict[object, Callable[..., object]]] = {
    "i": lambda text: int(text, 16),
    "x": {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}.__getitem__,
    "b": lambda text: base64.b64decode(text, validate=True),
    "cx": lambda real, imaginary: complex(float(real), float(imaginary)),
    "rg": _integers(range),
    "sl": _integers(slice),
    "...": lambda: ...,
    "NI": lambda: NotImplemented,
    "dc": lambda text: decimal.Decimal(str(text)),
    "fr": _integers(fractions.Fraction),
    "dt": _read_moment(datetime.datetime),
    "tm": _read_moment(datetime.time),
    "da": datetime.date.fromisoformat,
    "td": _integers(datetime.timedelta),
    "tz": _timezone,
    "zi": zoneinfo.ZoneInfo,
    "u": lambda text: uuid.UUID(hex=text),
    "p": _read_path,
    "T": TYPES.__getitem__,
}
