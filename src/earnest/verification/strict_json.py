"""JSON that every reader reads alike. (RFC 8259 and RFC 7493, strictly.)"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Final, NoReturn, TypeVar

from earnest.foundation.canonical import INTEGER_MAX, JsonValue

JSON_BYTES_MAX: Final = 8 * 1024 * 1024
JSON_DEPTH_MAX: Final = 64
_STRING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)

_Number = TypeVar("_Number", int, float)


class NotStrictJson(ValueError):
    """Why it is not."""


def strict_json(data: bytes, *, is_exact: bool = False) -> JsonValue:
    """The value of one JSON text.

    Raises `NotStrictJson` for more than `JSON_BYTES_MAX` bytes, a byte order mark, bytes that are not UTF-8, lone
    surrogates, duplicate keys, NaN and infinities (`1e999` too), nesting over `JSON_DEPTH_MAX`, data after the value.
    Exact: also for whole numbers beyond ±(2^53 - 1), however they are written, which not every reader takes for the
    same (RFC 7493 §2.2); without them the value has a canonical form that reads as itself.
    """
    if len(data) > JSON_BYTES_MAX:
        raise NotStrictJson(f"more than {JSON_BYTES_MAX} bytes")
    if data.startswith(b"\xef\xbb\xbf"):
        raise NotStrictJson("a byte order mark")
    try:
        text = data.decode()
        value: JsonValue = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_no_constant,
            parse_float=_exactly(float) if is_exact else _finite,
            parse_int=_exactly(int) if is_exact else None,
        )
    except UnicodeDecodeError:
        raise NotStrictJson("not UTF-8") from None
    except RecursionError:
        raise NotStrictJson(f"nested deeper than {JSON_DEPTH_MAX}") from None
    except NotStrictJson:
        raise
    except json.JSONDecodeError as error:
        raise NotStrictJson(f"{error.msg} (line {error.lineno}, column {error.colno})") from None
    except ValueError:  # Python's own limit on the digits of an integer
        raise NotStrictJson("a number with too many digits") from None
    check_depth(value)
    _check_text(text, value)
    return value


def check_members(data: bytes, members_max: int) -> None:
    """Raises `NotStrictJson` for more members and elements than that, before any of them is made.

    Each but the first of an array or object follows a comma, and each array or object begins with a bracket.
    """
    if _marks(data) > members_max and _marks(_STRING.sub(b"", data)) > members_max:
        raise NotStrictJson(f"more than {members_max} members and elements")


def _marks(data: bytes) -> int:
    return data.count(b",") + data.count(b"[") + data.count(b"{")


def _object(pairs: list[tuple[str, JsonValue]]) -> JsonValue:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise NotStrictJson(f"the key {twice[:80]!r} is there twice")
    return entries


def _no_constant(name: str) -> NoReturn:
    raise NotStrictJson(f"{name} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise NotStrictJson(f"{text[:40]} is too large a number")
    return number


def _exactly(kind: Callable[[str], _Number]) -> Callable[[str], _Number]:
    def read(text: str) -> _Number:
        number = kind(text)
        if abs(number) > INTEGER_MAX:
            raise NotStrictJson(f"{text[:40]} is a whole number beyond {INTEGER_MAX}: say it as text")
        return number

    return read


def check_depth(value: JsonValue, depth_max: int = JSON_DEPTH_MAX) -> None:
    """Raises `NotStrictJson` for arrays and objects nested deeper than `depth_max`."""
    level: list[JsonValue] = [value]
    for _ in range(depth_max + 1):
        inner: list[JsonValue] = []
        for item in level:
            if isinstance(item, dict):
                inner.extend(item.values())
            elif isinstance(item, list):
                inner.extend(item)
        if not inner:
            return
        level = inner
    raise NotStrictJson(f"nested deeper than {depth_max}")


def _check_text(text: str, value: JsonValue) -> None:
    """A lone surrogate can only be written as an escape; without one there is nothing to look for."""
    if "\\ud" not in text.lower():
        return
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise NotStrictJson("half of a surrogate pair") from None
