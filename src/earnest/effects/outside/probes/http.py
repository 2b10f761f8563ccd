"""A probe of a web address: its status, or one value of its JSON."""

import http.client
import json
import re
from typing import Final
from urllib.parse import urlsplit

from earnest.effects.outside.probes.api import ProbeQuestion, Unknown
from earnest.foundation.canonical import JsonValue

BODY_BYTES_MAX: Final = 4 * 1024 * 1024
_NOT_NOW: Final = frozenset({408, 425, 429})
_STEP: Final = re.compile(r"(?:^|\.)([^.\[\]]+)|\[(\d{1,6})\]")


def measured(question: ProbeQuestion) -> bool | int | float | str | None:
    """The status; with `json` as in `items[0].name` the value there. Redirections are not followed.

    Raises `Unknown` if nobody answers, the server fails (5xx) or asks to wait, or there is no such value.
    """
    parts, path = urlsplit(question.text("url")), question.text("json")
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    if not parts.hostname:
        raise Unknown("the address has no host")
    connection = kind(parts.hostname, parts.port, timeout=question.wall_s)
    try:
        headers = {"Accept": "application/json", "User-Agent": "earnest"}
        if question.secret:
            headers["Authorization"] = f"Bearer {question.secret}"
        connection.request("GET", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), headers=headers)
        answer = connection.getresponse()
        if answer.status >= 500 or answer.status in _NOT_NOW:
            raise Unknown(f"the server answered {answer.status}")
        if not path:
            return answer.status
        if answer.status != 200:
            raise Unknown(f"the server answered {answer.status}")
        body = answer.read(BODY_BYTES_MAX + 1)
    finally:
        connection.close()
    if len(body) > BODY_BYTES_MAX:
        raise Unknown(f"the answer has more than {BODY_BYTES_MAX} bytes")
    return value_at(json.loads(body), path)


def value_at(value: JsonValue, path: str) -> bool | int | float | str | None:
    """What stands at a path of keys and positions. Raises `Unknown` if there is nothing, or no single value."""
    steps = list(_STEP.finditer(path))
    if "".join(step[0] for step in steps) != path or not steps:
        raise Unknown(f"{path!r} is no path as in items[0].name")
    for step in steps:
        if step[1] is not None and isinstance(value, dict) and step[1] in value:
            value = value[step[1]]
        elif step[2] is not None and isinstance(value, list) and int(step[2]) < len(value):
            value = value[int(step[2])]
        else:
            raise Unknown(f"the answer has nothing at {path!r}")
    if not isinstance(value, bool | int | float | str):
        raise Unknown(f"there is no single value at {path!r}")
    return value
