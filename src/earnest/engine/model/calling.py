"""The tools that a model is told of, the form of its calls, and the same for models that call tools by themselves."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from earnest.effects.outside.llm.answers import NoAnswer, read_answer
from earnest.effects.outside.llm.api import Function, NativeCall
from earnest.engine.impossibility import Lack
from earnest.engine.messages import SubTaskStatus
from earnest.engine.model.prompting import closed
from earnest.foundation.canonical import JsonObject, JsonValue, canonical_text

DONE: Final = "done"
IMPOSSIBLE: Final = "impossible"
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_REACH: Final[Mapping[str, JsonValue]] = {
    "timeout_s": {"type": "integer", "default": 60},
    "network": {"type": "boolean", "description": "the user is asked: do without where you can"},
    "writes": {
        "type": "string",
        "description": "an absolute path outside to be changed; to remove a folder, the one that holds it; asked, too",
    },
}
"""What stands beside a tool's arguments in the JSON form, and among them here; one path, or a list of them."""
DONE_FORM: Final = closed(
    {
        "status": {"type": "string", "enum": [status.value for status in SubTaskStatus]},
        "output": {"type": "string"},
        "reason": {"type": "string"},
    },
    ["status", "output"],
)

_END_FORM: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "status": {"type": "string", "enum": [*map(str, SubTaskStatus), IMPOSSIBLE]},
        "output": {"type": "string"},
        "reason": {"type": "string"},
        "kind": {"type": "string", "enum": [*map(str, Lack)]},
        "name": {"type": "string"},
        "record": {"type": "string"},
    },
    "required": ["status", "output"],
}
"""Both ends of the JSON form in one function: each is told with every request."""


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
    return closed(
        {
            "tool": {"type": "string", "enum": [offer.name for offer in offers]},
            "args": {"type": "object"},
            "timeout_s": {"type": "integer", "minimum": 1, "maximum": 3_600},
            "network": {"type": "boolean"},
            "writes": {"type": "array", "items": {"type": "string", "maxLength": 1_024}, "maxItems": 16},
        },
        ["tool", "args"],
    )


def args_told(args: JsonObject) -> str:
    """`{path: relative to the workspace, to?: integer}` for plain arguments, their schema for others."""
    properties, required = args.get("properties"), args.get("required", ())
    if not isinstance(properties, Mapping) or not isinstance(required, Sequence):
        return canonical_text(args)
    told = [_argument_told(name, said, is_required=name in required) for name, said in properties.items()]
    return canonical_text(args) if None in told else f"{{{', '.join(filter(None, told))}}}"


def _argument_told(name: str, said: JsonValue, *, is_required: bool) -> str | None:
    match said:
        case {"type": "integer", "minimum": int(least), "maximum": int(most), **rest}:
            kind = f"{least} to {most}"
        case {"type": str(kind), **rest} if kind not in {"object", "array"}:
            pass
        case _:
            return None
    if rest.keys() - {"description"}:
        return None
    what = str(rest.get("description", "")) or kind
    shown = what if kind in {what, "string"} else f"{kind}, {what}"
    return f"{name}{'' if is_required else '?'}: {shown}"


def functions_of(offers: Sequence[ToolOffer]) -> tuple[Function, ...]:
    """The tools, and the end; nothing if a name is none that endpoints take."""
    names = [offer.name for offer in offers]
    if DONE in names or not all(map(_NAME.fullmatch, names)):
        return ()
    tools = [
        Function(name=one.name, purpose=one.purpose, parameters=_parameters(one.args, one.reach)) for one in offers
    ]
    return (*tools, Function(name=DONE, purpose="End.", parameters=_END_FORM))


def answer_of(calls: Sequence[NativeCall], offers: Mapping[str, JsonObject]) -> JsonObject:
    """What was called, in the JSON form. `offers` are the parameters by name. Raises `NoAnswer`."""
    made: list[JsonValue] = []
    answer: dict[str, JsonValue] = {}
    for call in calls:
        args = dict(read_answer(call.arguments or "{}", {"type": "object"}))
        if call.name == DONE:
            answer |= _end_of(args)
        elif call.name in offers:
            reach = {name: args.pop(name) for name in _reach_of(offers[call.name]) if name in args}
            if isinstance(writes := reach.get("writes"), str):
                reach["writes"] = [writes]
            made.append({"tool": call.name, "args": args, **reach})
        else:
            raise NoAnswer(f"{call.name[:64]} is none of {', '.join(offers)}")
    return {**({"calls": made} if made else {}), **answer}


def as_called(answer: JsonObject, first: int) -> tuple[NativeCall, ...]:
    """An answer of the JSON form as the calls that it was, the first of them number `first`."""
    calls = answer.get("calls")
    entries = [one for one in calls if isinstance(one, Mapping)] if isinstance(calls, Sequence) else []
    made = [_called(entry, number) for number, entry in enumerate(entries, start=first)]
    ends = [end for name in (DONE, IMPOSSIBLE) if isinstance(end := answer.get(name), Mapping)]
    made += [NativeCall(id=DONE, name=DONE, arguments=canonical_text(_as_end(end))) for end in ends[:1]]
    return tuple(made)


def _end_of(args: Mapping[str, JsonValue]) -> JsonObject:
    if args.get("status") != IMPOSSIBLE:
        return {DONE: args}
    claim = {name: args.get(name) for name in ("kind", "name", "record")}
    return {IMPOSSIBLE: {**claim, "because": args.get("reason") or args.get("output")}}


def _as_end(end: JsonObject) -> JsonObject:
    if "because" not in end:
        return end
    rest = {name: value for name, value in end.items() if name != "because"}
    return {"status": IMPOSSIBLE, "output": "", "reason": end["because"], **rest}


def _called(entry: JsonObject, number: int) -> NativeCall:
    args = entry.get("args")
    reach = {name: value for name, value in entry.items() if name not in {"tool", "args"}}
    arguments = canonical_text({**(args if isinstance(args, Mapping) else {}), **reach})
    return NativeCall(id=f"c{number}", name=str(entry.get("tool")), arguments=arguments)


def _parameters(form: JsonObject, reach: Sequence[str] = ()) -> JsonObject:
    """A form of arguments with what a call may reach; that there are no others is for the tool to say."""
    properties = form.get("properties")
    if not isinstance(properties, Mapping):
        return form
    more = {name: _REACH[name] for name in reach if name not in properties}
    rest = {name: value for name, value in form.items() if name not in {"properties", "additionalProperties"}}
    return {**rest, "properties": {**properties, **more}}


def _reach_of(parameters: JsonObject) -> list[str]:
    properties = parameters.get("properties")
    own = properties if isinstance(properties, Mapping) else {}
    return [name for name, form in _REACH.items() if own.get(name) == form]
