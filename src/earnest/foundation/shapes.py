"""Dataclasses as objects of JSON by the names of their fields, and back; what is read back is held to its types."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from itertools import chain, repeat
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from earnest.foundation.canonical import SCALARS, JsonObject
from earnest.foundation.errors import Broken

if TYPE_CHECKING:
    from dataclasses import replace as replace  # noqa: PLC0414

    from pydantic import TypeAdapter
else:

    def replace(value: Any, /, **changes: Any) -> Any:
        """`dataclasses.replace` in half the time where fields are many: neither `__init__` nor `__post_init__` runs.

        mypy is shown that function, and holds the arguments to the fields.
        """
        kind = type(value)
        names, values_of = fields_of(kind)
        new, put = kind.__new__(kind), object.__setattr__
        deque(map(put, repeat(new), chain(names, changes), chain(values_of(value), changes.values())), maxlen=0)
        return new


_Form = TypeVar("_Form")


@cache
def fields_of(form: type) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """The names of a dataclass's fields, two at least, and what gives all their values at once."""
    names = tuple(field.name for field in fields(form))
    return names, attrgetter(*names)


def to_json(value: object) -> JsonObject:
    """The fields of a dataclass as JSON values, the same in every process."""
    return cast(JsonObject, _plain(value))


def from_json(form: type[_Form], value: object, what: str = "") -> _Form:
    """The value of this form whose JSON this is. Raises `Broken`, with the name of `what` cannot be read.

    Loads pydantic, which nobody needs who only writes.
    """
    try:
        return cast(_Form, _adapter(cast(Any, form)).validate_python(value))
    except ValueError as error:  # pydantic's is one
        raise Broken(f"{what or form.__name__} cannot be read: {error}") from error


@cache
def _adapter(form: Any) -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter  # noqa: PLC0415

    return TypeAdapter(form)


@cache
def _form_of(kind: type) -> Callable[[Any], Any]:
    """What makes a value of this class one of JSON. Sets are sorted: in every process their hashes are others.

    What is one already is passed over where it stands: most values are, and a call for each would cost more.
    """
    if is_dataclass(kind):
        names = tuple(field.name for field in fields(kind))
        return lambda value: {
            name: one if type(one := getattr(value, name)) in SCALARS else _plain(one) for name in names
        }
    if issubclass(kind, Enum):
        return lambda value: value.value
    if issubclass(kind, Path):
        return str
    if issubclass(kind, Mapping):
        return lambda value: {str(key): one if type(one) in SCALARS else _plain(one) for key, one in value.items()}
    if issubclass(kind, frozenset):
        return lambda value: sorted(map(str, value))
    assert issubclass(kind, tuple | list), kind
    return lambda value: [one if type(one) in SCALARS else _plain(one) for one in value]


def _plain(value: Any) -> Any:
    return _form_of(type(value))(value)  # type: ignore[arg-type] # mypy: a class has the __hash__ of its values
