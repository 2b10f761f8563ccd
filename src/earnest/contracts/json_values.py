"""JSON values that cannot change."""

from collections.abc import Mapping, Sequence
from typing import NoReturn

from earnest.foundation.canonical import JsonObject, JsonValue


class FrozenObject(dict[str, JsonValue]):
    """A JSON object that refuses to change. Still a `dict`, because every JSON library takes one and nothing else."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this object is frozen")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse


def frozen(value: JsonValue) -> JsonValue:
    """A deep copy whose objects are `FrozenObject` and whose lists are tuples."""
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
    if isinstance(value, Mapping):
        return plain_object(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    return value


def plain_object(value: JsonObject) -> dict[str, JsonValue]:
    """As `plain`, for an object."""
    return {key: plain(item) for key, item in value.items()}
