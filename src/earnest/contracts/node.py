"""JSON values that cannot change, and such with their places: what the rules read that say what is wrong, and where."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NoReturn, TypeAlias, cast

from earnest.foundation.canonical import SCALARS, JsonObject, JsonValue

Scalar: TypeAlias = bool | int | float | str | None
_NO_LINES: Final[Mapping[str, int]] = MappingProxyType({})  # one for all scalars: a file has very many


class FrozenObject(dict[str, JsonValue]):
    """A JSON object that refuses to change. Still a `dict`, because every JSON library takes one and nothing else."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this object is frozen")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse


def frozen(value: JsonValue) -> JsonValue:
    """A deep copy whose objects are `FrozenObject` and whose lists are tuples."""
    if type(value) in SCALARS:
        return value
    if isinstance(value, Mapping):
        return frozen_object(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(frozen(item) for item in value)
    return value


def frozen_object(value: JsonObject) -> FrozenObject:
    """As `frozen`, for an object."""
    return FrozenObject((key, frozen(item)) for key, item in value.items())


def plain(value: JsonValue) -> JsonValue:
    """A deep copy out of `dict` and `list`, which every JSON library takes."""
    if type(value) in SCALARS:
        return value
    if isinstance(value, Mapping):
        return plain_object(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    return value


def plain_object(value: JsonObject) -> dict[str, JsonValue]:
    """As `plain`, for an object."""
    return {key: plain(item) for key, item in value.items()}


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
    if type(value) in SCALARS:
        return Node(value=cast("Scalar", value), path=path)
    if isinstance(value, Mapping):
        return Node(value={key: node_of(child, below(path, key)) for key, child in value.items()}, path=path)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return Node(value=tuple(node_of(child, f"{path}[{at}]") for at, child in enumerate(value)), path=path)
    return Node(value=value, path=path)


def below(path: str, key: str) -> str:
    """The path of a key."""
    return f"{path}.{key}" if path else key
