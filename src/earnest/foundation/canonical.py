"""One byte form for every JSON value, so that a digest means the same everywhere (RFC 8785, SHA-256)."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import rfc8785

if TYPE_CHECKING:
    JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
else:
    JsonValue = Any  # what reads annotations at run time cannot follow a recursive alias
JsonObject: TypeAlias = Mapping[str, JsonValue]
Members: TypeAlias = Mapping[str, object]
"""A typed dictionary that has a JSON form, to those who do not look into it."""

SCALARS: Final = frozenset({bool, int, float, str, type(None)})
"""The classes of values that hold no others. Most values are of one: to ask that first is several times as quick."""
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
            holders: list[Iterable[Any]] = [(value,)]
            for holder in holders:
                for item in holder:
                    kind = type(item)
                    if kind in _SAME or (kind is int and -INTEGER_MAX <= item <= INTEGER_MAX):
                        continue
                    if kind is dict and "".join(item).isascii():  # a TypeError where a key is no text
                        holders.append(item.values())
                    elif kind is list or kind is tuple:
                        holders.append(item)
                    else:  # floats are written, and keys that are not ASCII sorted, in another way
                        return rfc8785.dumps(cast("JsonValue", value))
            return text.encode()
        except TypeError:
            return rfc8785.dumps(cast("JsonValue", value))
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


def leaf_hash(seq: int, at_ms: int, kind: str, subject: str, body_json: bytes) -> bytes:
    """A fact's leaf: SHA-256(0x00 || RFC 8785 form of {at_ms, body, kind, seq, subject}), 32 bytes (RFC 9162 §2.1.1).

    `body_json` is put in as it is: the form around it can be read in one way only, so no other content has this hash.
    """
    before = b'\x00{"at_ms":%d,"body":' % at_ms
    after = b',"kind":%b,"seq":%d,"subject":%b}' % (_quoted(kind), seq, _quoted(subject))
    return hashlib.sha256(before + body_json + after).digest()


@lru_cache(maxsize=1_024)
def _quoted(text: str) -> bytes:
    """A text in canonical form. Kinds are few, and facts about one subject come together."""
    return encode_basestring(text).encode()
