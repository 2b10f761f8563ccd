"""One byte form for every JSON value, so that a digest means the same everywhere (RFC 8785, SHA-256)."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import rfc8785

if TYPE_CHECKING:
    JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
else:
    JsonValue = Any  # what reads annotations at run time cannot follow a recursive alias
JsonObject: TypeAlias = Mapping[str, JsonValue]
Members: TypeAlias = Mapping[str, object]
"""A typed dictionary that has a JSON form, to those who do not look into it."""

INTEGER_MAX: Final = 2**53 - 1
_PLAIN: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False, sort_keys=True, separators=(",", ":"))
_SAME: Final = frozenset({str, bool, type(None)})


def canonical_bytes(value: JsonValue | Members) -> bytes:
    """The RFC 8785 form of a JSON value, whose objects are `dict` and whose arrays are `list` or `tuple`.

    Raises `ValueError` for NaN, infinities, integers over 2**53 - 1, lone surrogates, types that JSON does not have and
    values nested deeper than the interpreter's stack.
    """
    try:
        try:
            text = _PLAIN.encode(value)  # it comes to an end, so the value has one
        except TypeError:
            return rfc8785.dumps(cast("JsonValue", value))
        holders: list[Iterable[Any]] = [(value,)]
        for holder in holders:
            for item in holder:
                kind = type(item)
                if kind in _SAME or (kind is int and -INTEGER_MAX <= item <= INTEGER_MAX):
                    continue
                if kind is dict and all(type(key) is str and key.isascii() for key in item):
                    holders.append(item.values())
                elif kind is list or kind is tuple:
                    holders.append(item)
                else:  # floats are written, and keys that are not ASCII sorted, in another way
                    return rfc8785.dumps(cast("JsonValue", value))
        return text.encode()
    except RecursionError:
        raise ValueError("the value is nested too deeply or contains itself") from None


def canonical_text(value: JsonValue | Members) -> str:
    """The same as text, for a column or a member that holds JSON. Raises as `canonical_bytes` does."""
    return canonical_bytes(value).decode()


def digest_bytes(data: bytes) -> str:
    """`sha256:` and 64 hexadecimal digits."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def digest_of(value: JsonValue) -> str:
    """The digest of a value's canonical form."""
    return "sha256:" + hashlib.sha256(canonical_bytes(value)).hexdigest()
