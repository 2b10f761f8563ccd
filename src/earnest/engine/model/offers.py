"""The tools that a model is told of, and the form of its calls."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from earnest.foundation.canonical import JsonObject, JsonValue, canonical_text


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOffer:
    """A tool as a model sees it. `args` is the JSON Schema of its arguments.

    `reach` are those of `timeout_s`, `network` and `writes` that a call of it may bring along.
    """

    name: str
    purpose: str
    args: JsonObject
    reach: tuple[str, ...] = ("timeout_s", "network", "writes")


def call_form(offers: Iterable[ToolOffer]) -> JsonObject:
    """What a call of one of these tools is held to. Its arguments are checked by the tool, which knows them best."""
    return _call([offer.name for offer in offers], {"type": "object"})


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


def args_told(args: JsonObject) -> str:
    """`{path: relative to the workspace, to?: integer}` for plain arguments, their schema for others."""
    properties, required = args.get("properties"), args.get("required", ())
    if not isinstance(properties, Mapping) or not isinstance(required, Sequence):
        return canonical_text(args)
    told = [_argument_told(name, said, is_required=name in required) for name, said in properties.items()]
    return canonical_text(args) if None in told else f"{{{', '.join(filter(None, told))}}}"


def _argument_told(name: str, said: JsonValue, *, is_required: bool) -> str | None:
    match said:
        case {"type": "integer", "minimum": int(least), "maximum": int(most), **rest} if rest.keys() <= {"description"}:
            told = {"type": f"{least} to {most}", "description": str(rest.get("description", ""))}
            return _argument_told(name, told, is_required=is_required)
        case {"type": str(kind), **rest} if rest.keys() <= {"description"} and kind not in {"object", "array"}:
            what = str(rest.get("description", "")) or kind
            shown = what if kind in {what, "string"} else f"{kind}, {what}"
            return f"{name}{'' if is_required else '?'}: {shown}"
    return None
