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


def call_schema(offers: Iterable[Offer]) -> JsonObject:
    """The JSON Schema of one call of one of these tools."""
    return {"anyOf": [_call_of(offer) for offer in offers]}


def _call_of(offer: Offer) -> JsonObject:
    return {
        "type": "object",
        "properties": {
            "tool": {"type": "string", "enum": [offer.name]},
            "args": _args_of(offer),
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
