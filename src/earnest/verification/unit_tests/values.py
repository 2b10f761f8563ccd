"""Values that cross the pipe: plain data and values of the standard library; the rest is somebody's.

A node is a JSON value: null, booleans, texts, numbers of at most 64 bits and finite floats stand for themselves, a list
begins with a tag. Containers that can change stand in a table of the message and are referred to as `["r", index]`, so
that sameness and cycles survive; those that both sides hold are referred to as `["a", number]`. Nothing is ever
evaluated, looked up by a name that is not listed, or built from anything but its parts.
"""

import base64
import collections
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final

from earnest.verification.unit_tests.library import (
    CONTAINERS,
    EMPTY,
    INTEGER_BITS,
    MAPPINGS,
    READERS,
    TYPE_NAMES,
    WRITERS,
    Malformed,
    Node,
    integer,
    named_tuple,
)

DEPTH_MAX: Final = 100  # of tuples in tuples; lists and dicts may nest as deep as they like

Opaque = Callable[["MessageWriter", object, int], Node]


SCALARS: Final = frozenset({type(None), bool, int, float, str})
"""What stands for itself in a message, if it is in bounds."""


def is_scalar(value: Any, prefix: str = "\0") -> bool:
    """True for a value that is its own node, and names no path to be noted."""
    kind = type(value)
    if kind is str:
        return not value.startswith(prefix)
    if kind is int:
        return bool(value.bit_length() <= INTEGER_BITS)
    return kind in SCALARS and (kind is not float or math.isfinite(value))


class MessageWriter:
    """Turns the values of one message into nodes. `opaque` is asked for what is not listed in the library.

    `known` are containers that both sides hold, by id. Texts that begin with `prefix` are put into `noted`.
    """

    def __init__(self, opaque: Opaque, known: Mapping[int, int] | None = None, prefix: str = "\0") -> None:
        self.table: list[Node] = []
        self.containers: list[object] = []
        self.noted: set[str] = set()
        self._prefix = prefix
        self._opaque = opaque
        self._known = known or {}
        self._seen: dict[int, int] = {}

    def node(self, value: Any, depth: int = 0) -> Node:
        """The node of a value. Containers wait in the table until `finish`."""
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str:
            if value.startswith(self._prefix):
                self.noted.add(value)
            return value
        if kind is int:
            return integer(value)
        if kind is float:
            return value if math.isfinite(value) else ["x", repr(value)]
        if kind in CONTAINERS:
            return self._reference(value)
        if depth > DEPTH_MAX:
            raise Malformed(f"a value nested deeper than {DEPTH_MAX}")
        return self._composed(kind, value, depth)

    def finish(self) -> list[Node]:
        """The table, filled: containers found on the way are appended and filled in turn."""
        at = 0
        while at < len(self.containers):
            self.table[at] = self.content(self.containers[at])
            at += 1
        return self.table

    def content(self, container: Any) -> Node:
        """What a container holds, as an entry of a table."""
        tag = CONTAINERS[type(container)]
        if tag == "B":
            return [tag, base64.b64encode(container).decode()]
        if tag in MAPPINGS:
            return [tag, *[self.node(part) for pair in container.items() for part in pair]]
        head = [container.maxlen] if tag == "q" else []
        return [tag, *head, *[self.node(item) for item in container]]

    def _composed(self, kind: type, value: Any, depth: int) -> Node:
        if kind is tuple or kind is frozenset:
            return ["t" if kind is tuple else "z", *[self.node(item, depth + 1) for item in value]]
        node = WRITERS[kind](value) if kind in WRITERS else None
        if node is not None:
            if issubclass(kind, PurePath):
                self.node(str(value))  # noted, as it would be as text
            return node
        if issubclass(kind, type) and value in TYPE_NAMES:
            return ["T", TYPE_NAMES[value]]
        if issubclass(kind, tuple) and hasattr(kind, "_fields"):
            items = [self.node(item, depth + 1) for item in tuple.__iter__(value)]
            return ["n", kind.__name__, list(kind._fields), *items]
        return self._opaque(self, value, depth)

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


class MessageReader:
    """Turns the nodes of one message back into values; raises `Malformed` for anything else.

    `known` are the containers that `["a", number]` means; `opaque` is given tags that are not listed in the library.
    """

    def __init__(
        self,
        table: Node,
        opaque: Callable[["MessageReader", Sequence[Any]], object],
        known: Mapping[int, object] | None = None,
    ) -> None:
        if type(table) is not list:
            raise Malformed("a table that is none")
        self._opaque = opaque
        self._known = known or {}
        self.containers: list[object] = [_empty(entry) for entry in table]
        for container, entry in zip(self.containers, table, strict=True):
            self.fill(container, entry)

    def value(self, node: Any, depth: int = 0) -> Any:
        """The value of a node."""
        if type(node) is not list:
            if type(node) is dict:
                raise Malformed("an object")
            return node
        if depth > DEPTH_MAX:
            raise Malformed("too deep")
        try:
            return self._composed(node, depth + 1)
        except (TypeError, ValueError, LookupError, ArithmeticError, RecursionError) as error:
            raise Malformed(f"{type(error).__name__} in a value") from None

    def values(self, nodes: Node) -> list[Any]:
        """Of a list of nodes."""
        if type(nodes) is not list:
            raise Malformed("no list")
        return [self.value(node) for node in nodes]

    def fill(self, container: object, entry: Any) -> None:
        """Make a container hold what the entry says, and nothing else."""
        try:
            self._fill(container, entry)
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            raise Malformed(f"{type(error).__name__} in a container") from None

    def _composed(self, node: list[Any], depth: int) -> object:
        match node[0]:
            case "r":
                return self.containers[_index(node[1])]
            case "a":
                return self._known[_index(node[1])]
            case "t":
                return tuple([self.value(item, depth) for item in node[1:]])
            case "z":
                return frozenset([self.value(item, depth) for item in node[1:]])
            case "n":
                return named_tuple(node[1], node[2])(*[self.value(item, depth) for item in node[3:]])
        reader = READERS.get(node[0])
        return self._opaque(self, node) if reader is None else reader(*node[1:])

    def _fill(self, container: Any, entry: list[Any]) -> None:
        tag = entry[0]
        if CONTAINERS[type(container)] != tag:
            raise Malformed("a container of another kind")
        if tag == "B":
            container[:] = base64.b64decode(entry[1], validate=True)
            return
        values = [self.value(item) for item in entry[2 if tag == "q" else 1 :]]
        container.clear()
        if tag in MAPPINGS:
            for key, value in zip(values[::2], values[1::2], strict=True):
                container[key] = value
        elif tag == "s":
            container.update(values)
        else:
            container.extend(values)


def _index(node: Node) -> int:
    if type(node) is not int or node < 0:
        raise Malformed("no index")
    return node


def _empty(entry: Any) -> object:
    tag = entry[0] if type(entry) is list and entry else None
    if tag == "q":
        length = entry[1] if len(entry) > 1 else -1
        if length is not None and (type(length) is not int or length < 0):
            raise Malformed("no length")
        return collections.deque(maxlen=length)
    if type(tag) is not str or tag not in EMPTY:
        raise Malformed("an unknown container")
    return EMPTY[tag]()
