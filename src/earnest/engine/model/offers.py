"""Which tools is a model told of, and how does it call them?"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from earnest.foundation.canonical import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A tool as a model sees it. `args` is the JSON Schema of its arguments."""

    name: str
    purpose: str
    args: JsonObject


def _texts(**arguments: str) -> JsonObject:
    return {
        "type": "object",
        "properties": {name: {"type": "string", "description": what} for name, what in arguments.items()},
        "required": list(arguments),
        "additionalProperties": False,
    }


BUILT_IN: Final = (
    Offer(
        name="glob",
        purpose="Find files of the workspace by name; `*`, `?`, `[…]` within a name, `**` over folders.",
        args=_texts(pattern="such as src/**/*.py"),
    ),
    Offer(
        name="read_file",
        purpose="Read one text file.",
        args=_texts(path="relative to the workspace"),
    ),
    Offer(
        name="write_file",
        purpose="Write one text file over what was there; folders are made.",
        args=_texts(path="relative to the workspace", content="the whole content"),
    ),
    Offer(
        name="shell",
        purpose="Run a command line of bash, with pipefail, in the workspace: whatever the other tools cannot do.",
        args=_texts(command="the command line"),
    ),
)
"""The tools of every toolbox, the one to be preferred first (seed R3, tool priority chain)."""


def call_schema(offers: Iterable[Offer]) -> JsonObject:
    """The JSON Schema of one call of one of these tools."""
    return {"anyOf": [_call_of(offer) for offer in offers]}


def _call_of(offer: Offer) -> JsonObject:
    return {
        "type": "object",
        "properties": {
            "tool": {"type": "string", "enum": [offer.name]},
            "args": offer.args,
            "timeout_s": {"type": "integer", "minimum": 1, "maximum": 3_600},
            "network": {"type": "boolean"},
            "writes": {"type": "array", "items": {"type": "string", "maxLength": 1_024}, "maxItems": 16},
        },
        "required": ["tool", "args"],
        "additionalProperties": False,
    }
