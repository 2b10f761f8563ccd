"""Arguments of a tool: which are allowed."""

import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Final

from earnest.effects.hands.sandbox.api import WORK_DIR
from earnest.foundation.canonical import JsonObject

PATH_BYTES_MAX: Final = 1_024
TEXT: Final[JsonObject] = {"type": "string"}
_OWN_HOME: Final = re.compile(r"(~|\$HOME|\$\{HOME\})(?=/|\Z)")
_HOME: Final = re.compile(r"~[\w.-]*(/|$)|(.*/)?(\$HOME\b|\$\{HOME\})", re.ASCII)
"""What a shell would put somebody's home in the place of; `./~` is a file of that name."""
_INSTEAD: Final = (
    "inputs and edits stand in the workspace under their names; read anything else with the shell, and let a shell "
    'call that must change it name it in "writes"'
)


def text_faults(args: JsonObject, required: Mapping[str, int]) -> list[str]:
    """Faults of arguments that must be exactly these texts, each at most so many bytes of UTF-8."""
    unknown = [f"unknown argument {name!r}" for name in sorted(args.keys() - required.keys())]
    return unknown + [
        fault for name, bytes_max in required.items() if (fault := _text_fault(name, args.get(name), bytes_max))
    ]


def _text_fault(name: str, value: object, bytes_max: int) -> str:
    if not isinstance(value, str):
        return f"{name} must be a text"
    try:
        size_bytes = len(value.encode())
    except UnicodeEncodeError:
        return f"{name} holds characters that are none"
    return f"{name} is over {bytes_max} bytes" if size_bytes > bytes_max else ""


def text(args: JsonObject, name: str) -> str:
    """A text argument that has no fault."""
    value = args[name]
    assert isinstance(value, str)
    return value


def texts_schema(*optional: str, **required: str) -> JsonObject:
    """The JSON Schema of arguments that are these texts, each required one with what it is, unless its name says it."""
    told = {**required, **dict.fromkeys(optional, "")}
    return object_schema(
        {name: {**TEXT, "description": what} if what else TEXT for name, what in told.items()}, tuple(required)
    )


def object_schema(properties: JsonObject, required: Sequence[str]) -> JsonObject:
    """The JSON Schema of arguments of these properties, and of no others."""
    needed: JsonObject = {"required": list(required)} if required else {}
    return {"type": "object", "properties": properties, **needed, "additionalProperties": False}


def path_faults(path: str) -> list[str]:
    """Faults of a path that must lead to something below /work."""
    if not path.strip() or "\0" in path:
        return ["path is empty or holds a NUL"]
    if _HOME.match(path):
        return [f"path {path!r} means the home, which is outside the workspace: {_INSTEAD}"]
    place = normal_path(path)
    if place == ".." or place.startswith(("../", "/")):
        return [f"path {path!r} leads out of {WORK_DIR}: {_INSTEAD}"]
    return ["path is the workspace itself"] if place == "." else []


def with_home(path: str, home: str) -> str:
    """The path with the home in place of `~`, `$HOME` or `${HOME}` at its beginning, as a shell reads it."""
    found = _OWN_HOME.match(path)
    return f"{home}{path[found.end() :]}" if found else path


def absolute_path_fault(path: str) -> str:
    """Why this cannot be a path of the host; empty if it can."""
    if not with_home(path, "/").startswith("/") or "\0" in path:
        return f"{path!r} is no absolute path"
    return _text_fault("a path", path, PATH_BYTES_MAX)


def normal_path(path: str) -> str:
    """The path relative to /work in its shortest spelling; `..` is resolved by the text alone."""
    place = posixpath.normpath(path)
    return posixpath.relpath(place, WORK_DIR) if place.startswith(WORK_DIR + "/") or place == WORK_DIR else place
