"""One byte form for every JSON value, so that a digest means the same everywhere (RFC 8785, SHA-256)."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import rfc8785

JsonValue: TypeAlias = "None | bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue]"
JsonObject: TypeAlias = Mapping[str, JsonValue]


def canonical_bytes(value: JsonValue) -> bytes:
    """The RFC 8785 form of a JSON value. Raises `ValueError` for NaN, infinities and integers over 2**53."""
    return rfc8785.dumps(value)


def digest_bytes(data: bytes) -> str:
    """`sha256:` and 64 hexadecimal digits."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def digest_of(value: JsonValue) -> str:
    """The digest of a value's canonical form."""
    return digest_bytes(canonical_bytes(value))
