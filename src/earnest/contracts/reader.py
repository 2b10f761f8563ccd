"""From a tree of nodes to values, with every fault named and none raised."""

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from earnest.contracts.node import Node
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Diagnostic, Faulty
from earnest.foundation.names import is_slug

FAULTS_MAX: Final = 200
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is wrong, and where."""

    line: int
    path: str
    message: str


class NodeReader:
    """Reads nodes and collects faults. A method that finds one answers its default (or None) and goes on."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    @property
    def faults(self) -> Sequence[Fault]:
        """Everything found so far, in order of lines; at most `FAULTS_MAX`."""
        return sorted(self._faults[:FAULTS_MAX], key=lambda fault: fault.line)

    def raise_found(self, source: str) -> None:
        """Raises `Faulty` with the faults as a reader of the file `source` sees them, if there are any."""
        if self._faults:
            raise Faulty([Diagnostic(source=source, line=one.line, message=one.message) for one in self.faults])

    def fault(self, node: Node, message: str, *, line: int | None = None) -> None:
        """Note a fault at `node`."""
        named = f"{node.path}: {message}" if node.path else message
        self._faults.append(Fault(line=node.line if line is None else line, path=node.path, message=named))

    def mapping(self, node: Node | None, *, required: Collection[str], optional: Collection[str]) -> Mapping[str, Node]:
        """The entries of a mapping; a missing or unknown key is a fault. Anything else answers an empty mapping."""
        if node is None:
            return {}
        if not isinstance(node.value, Mapping):
            self.fault(node, f"must be a mapping with the keys {', '.join([*required, *optional])}")
            return {}
        known = [*required, *optional]
        for key in node.value:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
                self.fault(node, f"unknown key {key!r}; {hint}", line=node.key_lines.get(key, node.line))
        for key in required:
            if key not in node.value:
                self.fault(node, f"the key {key!r} is missing")
        return node.value

    def names(self, node: Node | None) -> Mapping[str, Node]:
        """The entries of a mapping whose keys its author chooses."""
        if node is None:
            return {}
        if not isinstance(node.value, Mapping):
            self.fault(node, "must be a mapping")
            return {}
        return node.value

    def object(self, node: Node | None) -> JsonObject:
        """A mapping passed on as data, deeply frozen."""
        if node is None:
            return {}
        value = node.json()
        if isinstance(value, Mapping):
            return value
        self.fault(node, "must be a mapping")
        return {}

    def items(self, node: Node | None, *, at_least: int = 0, at_most: int) -> Sequence[Node]:
        """The items of a list; a wrong number of them is a fault and answers none."""
        if node is None:
            return ()
        if not isinstance(node.value, Sequence) or isinstance(node.value, str):
            self.fault(node, "must be a list")
            return ()
        if not at_least <= len(node.value) <= at_most:
            self.fault(node, f"must have {at_least} to {at_most} items, has {len(node.value)}")
            return ()
        return node.value

    def text(self, node: Node | None, *, at_most: int, default: str = "", empty: bool = False) -> str:
        """Text of 1 to `at_most` characters, without NUL."""
        if node is None:
            return default
        if not isinstance(node.value, str):
            hint = ": put it in quotes" if isinstance(node.value, bool | int | float) else ""
            self.fault(node, f"must be text, not {_kind(node)}{hint}")
        elif not empty and not node.value.strip():
            self.fault(node, "must not be empty")
        elif len(node.value) > at_most:
            self.fault(node, f"must have at most {at_most} characters, has {len(node.value)}")
        elif "\0" in node.value:
            self.fault(node, "must not contain NUL")
        else:
            return node.value
        return default

    def texts(self, node: Node | None, *, at_least: int = 0, at_most: int, characters_max: int) -> tuple[str, ...]:
        """A list of texts; one text stands for a list of one."""
        if node is not None and isinstance(node.value, str):
            return (self.text(node, at_most=characters_max),)
        items = self.items(node, at_least=at_least, at_most=at_most)
        return tuple(self.text(item, at_most=characters_max) for item in items)

    def slug(self, node: Node | None) -> str:
        """1 to 64 of `a-z`, `0-9`, `_`; empty after a fault."""
        text = self.text(node, at_most=4_000)
        if node is not None and text and not is_slug(text):
            self.fault(node, f"{text[:80]!r} must be 1 to 64 of a-z, 0-9 and _")
            return ""
        return text

    def integer(self, node: Node | None, *, low: int, high: int, default: int) -> int:
        """An integer between `low` and `high`, both included."""
        if node is None:
            return default
        if not isinstance(node.value, int) or isinstance(node.value, bool):
            self.fault(node, f"must be an integer, not {_kind(node)}")
        elif not low <= node.value <= high:
            self.fault(node, f"must be {low} to {high}, is {node.value}")
        else:
            return node.value
        return default

    def boolean(self, node: Node | None, *, default: bool) -> bool:
        """True or false, nothing that resembles them."""
        if node is None:
            return default
        if not isinstance(node.value, bool):
            self.fault(node, f"must be true or false, not {_kind(node)}")
            return default
        return node.value

    def choice(self, node: Node | None, words: Iterable[_T], *, default: _T) -> _T:
        """One of a closed list of words."""
        if node is None:
            return default
        listed = list(words)
        for word in listed:
            if word == node.value:
                return word
        self.fault(node, f"must be one of {', '.join(map(str, listed))}")
        return default

    def unique(self, named: Iterable[tuple[Node, str]], what: str) -> None:
        """Note every name that an earlier node has too; empty names (faults already) are passed over."""
        seen: dict[str, Node] = {}
        for node, name in named:
            if name and name in seen:
                where = f" (line {seen[name].line})" if seen[name].line else ""
                self.fault(node, f"the {what} {name!r} is taken{where}")
            seen.setdefault(name, node)


def _kind(node: Node) -> str:
    match node.value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case Mapping():
            return "a mapping"
        case _:
            return "a list"
