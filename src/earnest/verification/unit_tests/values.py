"""Which values cross the pipe, and as what? Plain data and values of the standard library; the rest is somebody's.

A node is a JSON value: null, booleans, texts, numbers of at most 64 bits and finite floats stand for themselves, a list
begins with a tag. Containers that can change stand in a table of the message and are referred to as `["r", index]`, so
that sameness and cycles survive; those that the other side handed in are referred to as `["a", index]`. Nothing is
ever evaluated, looked up by a name that is not listed here, or built from anything but its parts.
"""

import base64
import builtins
import collections
import datetime
import decimal
import fractions
import importlib
import math
import pathlib
import uuid
import zoneinfo
from collections.abc import Callable, Mapping, Sequence
from typing import Final

Node = object  # what json makes and takes
DEPTH_MAX: Final = 100
INTEGER_BITS: Final = 63
NAME_CHARACTERS_MAX: Final = 200

EXCEPTION_MODULES: Final = frozenset(
    {
        *("ast", "asyncio.exceptions", "binascii", "concurrent.futures._base", "configparser", "copy", "csv", "_csv"),
        *("dataclasses", "decimal", "graphlib", "json.decoder", "queue", "_queue", "re", "shutil", "statistics"),
        *("string", "struct", "subprocess", "tomllib", "urllib.error", "uuid", "zipfile", "zlib", "zoneinfo"),
        *("xml.etree.ElementTree", "zoneinfo._common"),
    }
)
"""Whose exceptions arrive as themselves."""

TYPES: Final[dict[str, type]] = {name: value for name, value in vars(builtins).items() if isinstance(value, type)} | {
    kind.__name__: kind
    for kind in (
        *(collections.Counter, collections.OrderedDict, collections.defaultdict, collections.deque, decimal.Decimal),
        *(fractions.Fraction, datetime.datetime, datetime.date, datetime.time, datetime.timedelta, uuid.UUID),
        *(pathlib.Path, pathlib.PurePath, pathlib.PosixPath, pathlib.PurePosixPath, pathlib.PureWindowsPath),
    )
}
_TYPE_NAMES: Final = {kind: name for name, kind in TYPES.items()}
_PATHS: Final = ("PosixPath", "PurePosixPath", "PureWindowsPath")


class Malformed(Exception):
    """A node that no writer of ours makes, or a value beyond the bounds."""


Opaque = Callable[["Writer", object, int], object]


class Writer:
    """Turns the values of one message into nodes. `opaque` is asked for what is not listed in this file.

    `known` are containers that the other side handed in, by id. Texts below `noted_prefix` are put into `noted`.
    """

    def __init__(self, opaque: Opaque, known: dict[int, int] | None = None, prefix: str = "\0") -> None:
        self.table: list[Node] = []
        self.containers: list[object] = []
        self.noted: set[str] = set()
        self._prefix = prefix
        self._opaque = opaque
        self._known = known or {}
        self._seen: dict[int, int] = {}

    def node(self, value: object, depth: int = 0) -> Node:
        """The node of a value. Containers wait in the table until `finish`."""
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str:
            if value.startswith(self._prefix):  # type: ignore[attr-defined]
                self.noted.add(value)  # type: ignore[arg-type]
            return value
        if kind is int:
            return value if value.bit_length() <= INTEGER_BITS else ["i", hex(value)]  # type: ignore[attr-defined, call-overload]
        if kind is float:
            return value if math.isfinite(value) else ["x", repr(value)]  # type: ignore[arg-type]
        if kind in _CONTAINERS:
            return self._reference(value)
        if depth > DEPTH_MAX:
            raise Malformed(f"a value nested deeper than {DEPTH_MAX}")
        if kind is tuple or kind is frozenset:
            return ["t" if kind is tuple else "z", *[self.node(item, depth + 1) for item in value]]  # type: ignore[attr-defined]
        simple = _WRITERS.get(kind)
        if simple is not None:
            node = simple(value)
            if node is not None:
                if isinstance(value, pathlib.PurePath):
                    self.node(str(value))
                return node
        if isinstance(value, type) and value in _TYPE_NAMES:
            return ["T", _TYPE_NAMES[value]]
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            return ["n", kind.__name__, list(kind._fields), *[self.node(item, depth + 1) for item in tuple(value)]]
        return self._opaque(self, value, depth)

    def finish(self) -> list[Node]:
        """The table, filled: containers found on the way are appended and filled in turn."""
        at = 0
        while at < len(self.containers):
            self.table[at] = self.content(self.containers[at])
            at += 1
        return self.table

    def content(self, container: object) -> Node:
        """What a container holds, as an entry of a table."""
        tag = _CONTAINERS[type(container)]
        if tag == "B":
            return [tag, base64.b64encode(container).decode()]  # type: ignore[arg-type]
        if tag in "dODC":
            flat = [self.node(part) for pair in container.items() for part in pair]  # type: ignore[attr-defined]
            return [tag, *flat]
        head = [container.maxlen] if tag == "q" else []  # type: ignore[attr-defined]
        return [tag, *head, *[self.node(item) for item in container]]  # type: ignore[attr-defined]

    def _reference(self, value: object) -> Node:
        known = self._known.get(id(value))
        if known is not None:
            return ["a", known]
        index = self._seen.get(id(value))
        if index is None:
            index = self._seen[id(value)] = len(self.table)
            self.table.append(None)
            self.containers.append(value)
        return ["r", index]


class Reader:
    """Turns the nodes of one message back into values; raises `Malformed` for anything else.

    `known` are the containers that `["a", index]` means; `opaque` is given tags that are not listed in this file.
    """

    def __init__(
        self,
        table: Node,
        opaque: Callable[["Reader", Sequence[Node]], object],
        known: Mapping[int, object] | None = None,
    ) -> None:
        if type(table) is not list:
            raise Malformed("a table that is none")
        self._opaque = opaque
        self._known = known or {}
        self.containers: list[object] = [_empty(entry) for entry in table]
        for container, entry in zip(self.containers, table, strict=True):
            self.fill(container, entry)

    def value(self, node: Node, depth: int = 0) -> object:
        """The value of a node."""
        if type(node) is not list:
            if type(node) is dict:
                raise Malformed("an object")
            return node
        try:
            tag = node[0]
            if tag == "r" or tag == "a":
                return self.containers[_index(node[1])] if tag == "r" else self._known[_index(node[1])]
            if depth > DEPTH_MAX:
                raise Malformed("too deep")
            if tag == "t":
                return tuple([self.value(item, depth + 1) for item in node[1:]])
            if tag == "z":
                return frozenset([self.value(item, depth + 1) for item in node[1:]])
            if tag == "n":
                return _named(node[1], node[2])(*[self.value(item, depth + 1) for item in node[3:]])
            reader = _READERS.get(tag)
            return self._opaque(self, node) if reader is None else reader(*node[1:])
        except (TypeError, ValueError, LookupError, ArithmeticError, RecursionError) as error:
            raise Malformed(f"{type(error).__name__} in a value") from None

    def values(self, nodes: Node) -> list[object]:
        """Of a list of nodes."""
        if type(nodes) is not list:
            raise Malformed("no list")
        return [self.value(node) for node in nodes]

    def fill(self, container: object, entry: Node) -> None:
        """Make a container hold what the entry says, and nothing else."""
        try:
            self._fill(container, entry)
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            raise Malformed(f"{type(error).__name__} in a container") from None

    def _fill(self, container: object, entry: Node) -> None:
        tag, *items = entry  # type: ignore[misc]
        if _CONTAINERS[type(container)] != tag:
            raise Malformed("a container of another kind")
        if tag == "B":
            container[:] = base64.b64decode(items[0], validate=True)  # type: ignore[index]
            return
        values = [self.value(item) for item in (items[1:] if tag == "q" else items)]
        container.clear()  # type: ignore[attr-defined]
        if tag in "dODC":
            for key, value in zip(values[::2], values[1::2], strict=True):
                container[key] = value  # type: ignore[index]
        elif tag == "s":
            container.update(values)  # type: ignore[attr-defined]
        else:
            container.extend(values)  # type: ignore[attr-defined]


def known_exception(kind: type) -> list[str] | None:
    """How an exception class is named that both sides have, or None."""
    if not issubclass(kind, BaseException):
        return None
    if kind.__module__ == "builtins" and getattr(builtins, kind.__name__, None) is kind:
        return ["builtins", kind.__name__]
    if kind.__module__ in EXCEPTION_MODULES:
        return [kind.__module__, kind.__name__]
    return None


def exception_named(module: Node, name: Node) -> type[BaseException]:
    """The class that `known_exception` named."""
    if type(module) is not str or type(name) is not str or module not in {"builtins", *EXCEPTION_MODULES}:
        raise Malformed("an exception of an unknown module")
    found = getattr(importlib.import_module(module), name, None)
    if not isinstance(found, type) or not issubclass(found, BaseException):
        raise Malformed("no exception")
    return found


def plain_base(value: object) -> type | None:
    """The plain type whose subclass the value's class is, or None."""
    for base in (str, int, float, bytes, tuple, list, dict, set, frozenset, collections.deque):
        if isinstance(value, base):
            return base
    return None


def plain_view(value: object, base: type) -> object:
    """The plain content, read past everything that its class says of itself."""
    if base is dict:
        return {key: dict.__getitem__(value, key) for key in dict.__iter__(value)}  # type: ignore[call-overload]
    if base in (int, float):
        return base.__pos__(value)  # type: ignore[attr-defined]
    if base in (str, bytes):
        return base.__add__(value, base())  # type: ignore[attr-defined]
    return base(base.__iter__(value))  # type: ignore[attr-defined]


def _index(node: Node) -> int:
    if type(node) is not int or node < 0:
        raise Malformed("no index")
    return node


def _empty(entry: Node) -> object:
    tag = entry[0] if type(entry) is list and entry else None
    if tag == "q":
        length = entry[1]  # type: ignore[index]
        if length is not None and (type(length) is not int or length < 0):
            raise Malformed("no length")
        return collections.deque(maxlen=length)
    kind = _KINDS.get(tag) if type(tag) is str else None
    if kind is None:
        raise Malformed("an unknown container")
    return kind()


_named_kinds: dict[tuple[str, ...], type] = {}


def _named(name: Node, fields: Node) -> type:
    if type(name) is not str or type(fields) is not list or any(type(field) is not str for field in fields):
        raise Malformed("no named tuple")
    key = (name, *fields)
    if key not in _named_kinds:
        if len(fields) > NAME_CHARACTERS_MAX or any(len(word) > NAME_CHARACTERS_MAX for word in key):
            raise Malformed("no named tuple")
        _named_kinds[key] = collections.namedtuple(name, fields)  # type: ignore[misc]
    return _named_kinds[key]


def _zone(value: datetime.datetime | datetime.time) -> Node:
    zone = value.tzinfo
    if type(zone) is datetime.timezone:
        return zone.utcoffset(None) // datetime.timedelta(microseconds=1)
    if type(zone) is zoneinfo.ZoneInfo and zone.key:
        return zone.key
    return None


def _write_moment(value: datetime.datetime | datetime.time) -> Node:
    zone = _zone(value)
    if zone is None and value.tzinfo is not None:
        return None
    return [
        "dt" if isinstance(value, datetime.datetime) else "tm",
        value.replace(tzinfo=None).isoformat(),
        value.fold,
        zone,
    ]


def _read_moment(kind: type) -> Callable[..., object]:
    def read(text: str, fold: int, zone: Node) -> object:
        found: datetime.tzinfo | None = None
        if type(zone) is int:
            found = datetime.timezone(datetime.timedelta(microseconds=zone))
            found = datetime.UTC if found == datetime.UTC else found
        elif zone is not None:
            found = zoneinfo.ZoneInfo(zone)  # type: ignore[arg-type]
        return kind.fromisoformat(text).replace(fold=fold, tzinfo=found)  # type: ignore[attr-defined]

    return read


def _read_path(name: str, text: str) -> object:
    if name not in _PATHS:
        raise Malformed("no path")
    return getattr(pathlib, name)(text)


def _read_integer(text: str) -> int:
    return int(text, 16)


def _read_float(text: str) -> float:
    return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[text]


def _read_ints(kind: type) -> Callable[..., object]:
    def read(*parts: Node) -> object:
        whole = [_read_integer(part[1]) if type(part) is list else part for part in parts]
        if any(part is not None and type(part) is not int for part in whole):
            raise Malformed("no number")
        return kind(*whole)

    return read


def _ints(*values: object) -> list[Node]:
    return [value if value is None or value.bit_length() <= INTEGER_BITS else ["i", hex(value)] for value in values]  # type: ignore[attr-defined, call-overload]


def _write_slice(value: slice) -> Node:
    parts = (value.start, value.stop, value.step)
    return ["sl", *_ints(*parts)] if all(part is None or type(part) is int for part in parts) else None


_CONTAINERS: Final = {
    list: "l",
    dict: "d",
    set: "s",
    bytearray: "B",
    collections.deque: "q",
    collections.OrderedDict: "O",
    collections.defaultdict: "D",
    collections.Counter: "C",
}
_KINDS: Final[dict[str, Callable[[], object]]] = {tag: kind for kind, tag in _CONTAINERS.items() if tag != "q"}

_WRITERS: Final[dict[type, Callable[..., Node]]] = {
    bytes: lambda value: ["b", base64.b64encode(value).decode()],
    complex: lambda value: ["cx", repr(value.real), repr(value.imag)],
    range: lambda value: ["rg", *_ints(value.start, value.stop, value.step)],
    slice: _write_slice,
    type(...): lambda _: ["..."],
    type(NotImplemented): lambda _: ["NI"],
    type(None): lambda _: None,
    decimal.Decimal: lambda value: ["dc", str(value)],
    fractions.Fraction: lambda value: ["fr", *_ints(value.numerator, value.denominator)],
    datetime.datetime: _write_moment,
    datetime.time: _write_moment,
    datetime.date: lambda value: ["da", value.isoformat()],
    datetime.timedelta: lambda value: ["td", value.days, value.seconds, value.microseconds],
    datetime.timezone: lambda value: ["tz", value.utcoffset(None) // datetime.timedelta(microseconds=1)],
    uuid.UUID: lambda value: ["u", value.hex],
} | {getattr(pathlib, name): (lambda value, name=name: ["p", name, str(value)]) for name in _PATHS}

_READERS: Final[dict[object, Callable[..., object]]] = {
    "i": _read_integer,
    "x": _read_float,
    "b": lambda text: base64.b64decode(text, validate=True),
    "cx": lambda real, imaginary: complex(float(real), float(imaginary)),
    "rg": _read_ints(range),
    "sl": _read_ints(slice),
    "...": lambda: ...,
    "NI": lambda: NotImplemented,
    "dc": lambda text: decimal.Decimal(str(text)),
    "fr": _read_ints(fractions.Fraction),
    "dt": _read_moment(datetime.datetime),
    "tm": _read_moment(datetime.time),
    "da": datetime.date.fromisoformat,
    "td": _read_ints(datetime.timedelta),
    "tz": lambda offset: datetime.timezone(datetime.timedelta(microseconds=offset)),
    "u": lambda text: uuid.UUID(hex=text),
    "p": _read_path,
    "T": lambda name: TYPES[name],
}
