"""MCP servers as the operator names them, and calls of their tools."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

PREFIX: Final = "mcp:"
NAME_CHARACTERS_MAX: Final = 64
"""Of a whole tool name, as a playbook may give it."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """A program to start (`command`), or an address (`url`). `env` and `headers` may hold secrets.

    `trusted`: what it says of its own tools, that they only read, is believed.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    trusted: bool = False


def tool_name(server: str, tool: str) -> str:
    """`mcp:<server>/<tool>`, as calls name it; empty if the tool's own name is none that can be used."""
    name = f"{PREFIX}{server}/{tool}"
    return name if is_name(tool) and len(name) <= NAME_CHARACTERS_MAX else ""


def is_name(text: str) -> bool:
    """True for letters, digits, `_`, `-` and `.`, beginning with a letter or digit."""
    return _NAME.fullmatch(text) is not None and len(text) <= NAME_CHARACTERS_MAX
