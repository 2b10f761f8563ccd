"""Which tools is a model told of, and how does it call them?"""

from collections.abc import Iterable
from dataclasses import dataclass

from earnest.foundation.canonical import JsonObject, canonical_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A tool as a model sees it. `args` is the JSON Schema of its arguments."""

    name: str
    purpose: str
    args: JsonObject


def call_form(offers: Iterable[Offer]) -> JsonObject:
    """What a call of one of these tools is held to. Its arguments are checked by the tool, which knows them best."""
    return _call([offer.name for offer in offers], {"type": "object"})


def call_schema(offers: Iterable[Offer]) -> JsonObject:
    """The same as an endpoint is told, which may then give each tool only the arguments that it takes."""
    return {"anyOf": [_call([offer.name], _args_of(offer)) for offer in offers]}


def _call(tools: list[str], args: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": {
            "tool": {"type": "string", "enum": tools},
            "args": args,
            "timeout_s": {"type": "integer", "minimum": 1, "maximum": 3_600},
            "network": {"type": "boolean"},
            "writes": {"type": "array", "items": {"type": "string", "maxLength": 1_024}, "maxItems": 16},
        },
        "required": ["tool", "args"],
        "additionalProperties": False,
    }


def _args_of(offer: Offer) -> JsonObject:
    """A schema that refers to its own parts only holds where it stands alone: then the tool alone checks."""
    return {"type": "object"} if b'"$' in canonical_bytes(offer.args) else offer.args
