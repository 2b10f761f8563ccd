"""One request to a platform as a value: sent by a client, now or again."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar
from urllib.parse import quote

from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Refused, Unavailable

if TYPE_CHECKING:
    from httpx2 import Response

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Query: TypeAlias = Mapping[str, str | int | bool | None]

API: Final = "/api/v1"
JSON: Final = "application/json"
NO_SEGMENTS: Final = frozenset({"", ".", ".."})
"""They lead to another path, which may be another request."""


def as_json(answer: "Response") -> Any:
    """The body, an object of whatever members the platform has documented. Raises `Unavailable` where it is none."""
    try:
        found = answer.json()
    except (ValueError, RecursionError):
        raise Unavailable("what answered is no platform: its answer is not JSON") from None
    if not isinstance(found, dict):
        raise Unavailable("what answered is no platform: its answer is no JSON object")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask(Generic[T_co]):
    """One request. `path` begins after `/api/v1`; `read` makes of the answer what the caller gets."""

    method: str
    path: str
    query: Query = field(default_factory=dict)
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    read: "Callable[[Response], T_co]" = as_json

    def after(self, cursor: str) -> "Ask[T_co]":
        """The same list, from this cursor on."""
        return replace(self, query={**self.query, "cursor": cursor})

    def with_headers(self, **headers: str) -> "Ask[T_co]":
        """The same, with these headers too; `_` in a name stands for `-`."""
        more = {name.replace("_", "-"): text for name, text in headers.items() if text}
        return replace(self, headers={**self.headers, **more})


def get(template: str, *ids: str, query: Query | None = None) -> Ask[Any]:
    """Look at something. `{}` in the template stand for `ids`."""
    return Ask(method="GET", path=path_of(template, *ids), query=query or {})


def post(template: str, *ids: str, body: JsonObject | None = None) -> Ask[Any]:
    """Have something done."""
    return _sent("POST", path_of(template, *ids), body)


def put(template: str, *ids: str, body: JsonObject) -> Ask[Any]:
    """Put something in its place."""
    return _sent("PUT", path_of(template, *ids), body)


def delete(template: str, *ids: str) -> Ask[Any]:
    """Take something away."""
    return _sent("DELETE", path_of(template, *ids), None)


def given(**members: Any) -> JsonObject:
    """The members that are not None."""
    return {name: value for name, value in members.items() if value is not None}


def path_of(template: str, *ids: str) -> str:
    """A path; whatever an id holds, it is one segment. Raises `Refused("validation")` for what cannot be one."""
    for one in ids:
        if one in NO_SEGMENTS or not is_unicode(one):
            raise Refused("validation", f"{one[:80]!r} is no id")
    return template.format(*(quote(one, safe="") for one in ids))


def is_unicode(text: str) -> bool:
    """Can it be sent? Bytes of a command line that are no text come as halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _sent(method: str, path: str, body: JsonObject | None) -> Ask[Any]:
    if body is None:
        return Ask(method=method, path=path)
    text = json.dumps(body, ensure_ascii=False, allow_nan=False)
    if not is_unicode(text):
        raise Refused("validation", "a text of the request is no Unicode")
    return Ask(method=method, path=path, content=text.encode(), headers={"content-type": JSON})
