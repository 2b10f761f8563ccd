"""A value of a file or of kept data, with its place: what the rules read that say what is wrong, and where."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, TypeAlias

from earnest.contracts.json_values import FrozenObject
from earnest.foundation.canonical import JsonValue

Scalar: TypeAlias = bool | int | float | str | None
_NO_LINES: Final[Mapping[str, int]] = MappingProxyType({})  # one for all scalars: a file has very many


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A value with its place: `path` as in `subtasks[0].id`, empty at the top; `line` from 1, 0 if it has none."""

    value: "Scalar | Sequence[Node] | Mapping[str, Node]"
    line: int = 0
    path: str = ""
    key_lines: Mapping[str, int] = field(default_factory=lambda: _NO_LINES)
    """The line of each key, for a mapping."""

    def json(self) -> JsonValue:
        """The value without its places, deeply frozen."""
        if isinstance(self.value, Mapping):
            return FrozenObject((key, child.json()) for key, child in self.value.items())
        if isinstance(self.value, Sequence) and not isinstance(self.value, str):
            return tuple(child.json() for child in self.value)
        return self.value

    def lines(self) -> dict[str, int]:
        """The line of every value below and of this one, by path relative to this node."""
        found = {self.path: self.line}
        if isinstance(self.value, Mapping):
            children: Sequence[Node] = tuple(self.value.values())
        elif isinstance(self.value, Sequence) and not isinstance(self.value, str):
            children = self.value
        else:
            children = ()
        for child in children:
            found |= child.lines()
        return found


def node_of(value: JsonValue, path: str = "") -> Node:
    """A JSON value as a node without lines, so that kept data is read by the rules that read text."""
    if isinstance(value, Mapping):
        return Node(value={key: node_of(child, below(path, key)) for key, child in value.items()}, path=path)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return Node(value=tuple(node_of(child, f"{path}[{at}]") for at, child in enumerate(value)), path=path)
    return Node(value=value, path=path)


def below(path: str, key: str) -> str:
    """The path of a key."""
    return f"{path}.{key}" if path else key
