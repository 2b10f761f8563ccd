"""What an agent may do: nine kinds of actions, each with its payload and a reason."""

import dataclasses
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeAlias

from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.foundation.errors import Refused

TEXT_CHARACTERS_MAX: Final = 2_000
FACTS_MAX: Final = 10


class AgentActionKind(StrEnum):
    """The seed's kinds, and three more: of the web, of people, and of the map."""

    NOOP = "noop"
    MOVE = "move"
    CHAT_SAY = "chat_say"
    BOARD_POST = "board_post"
    PROPOSE_JOB = "propose_job"
    EXECUTE_JOB = "execute_job"
    REVIEW_JOB = "review_job"
    WEB_SEARCH = "web_search"
    ASK_HUMAN = "ask_human"


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """What an action is for, what it rests on, and what it should bring."""

    goal: str
    facts: tuple[str, ...]
    expected_value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Noop:
    """Nothing, for now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoTo:
    """Go to a place of the world."""

    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSay:
    """Say something to those nearby; `far`: to everybody."""

    text: str
    far: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PostOnBoard:
    """Write on the bulletin board; into a thread, or under a title as a new one."""

    text: str
    thread: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposeJob:
    """Post the entry `entry` of my backlog. What it says and pays stands there, never in the action.

    `redo_of`: the job whose work was rejected, and which this one repeats.
    """

    entry: str
    redo_of: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecuteJob:
    """Take a job, or go on with a claim of mine, until it is handed in."""

    job_id: str
    claim_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewJob:
    """Decide on work that was handed in to me. A rejection cites criteria."""

    claim_id: str
    approved: bool
    reason: str
    criteria: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSearch:
    """Look for work on the web, by a search that I was shown. What is found becomes an entry of my backlog."""

    query: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskHuman:
    """A question to the agent's operator. `about`: the claim or job that it is about."""

    question: str
    about: str = ""


Payload: TypeAlias = Noop | GoTo | ChatSay | PostOnBoard | ProposeJob | ExecuteJob | ReviewJob | WebSearch | AskHuman
PAYLOADS: Final[dict[AgentActionKind, type[Payload]]] = dict(
    zip(
        AgentActionKind,
        (Noop, GoTo, ChatSay, PostOnBoard, ProposeJob, ExecuteJob, ReviewJob, WebSearch, AskHuman),
        strict=True,
    )
)
SOCIAL: Final = frozenset({AgentActionKind.MOVE, AgentActionKind.CHAT_SAY, AgentActionKind.BOARD_POST})
"""What others see or hear."""
_KINDS: Final = {payload: kind for kind, payload in PAYLOADS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAction:
    """One thing to do. What is sent for it is keyed by the tick that it belongs to."""

    payload: Payload
    why: Why

    @property
    def kind(self) -> AgentActionKind:
        """What it is."""
        return _KINDS[type(self.payload)]

    def to_json(self) -> JsonObject:
        """As a model writes it, and as it is kept."""
        given: dict[str, Any] = dataclasses.asdict(self)
        return {"kind": self.kind.value, **given["payload"], "why": given["why"]}


def read_action(value: JsonValue) -> AgentAction:
    """The inverse of `to_json`, for whatever a model or a file holds. An action without a reason is refused.

    Raises `Refused("action_invalid")` for an unknown kind, an unknown or missing member, and a wrong type.
    """
    if not isinstance(value, dict) or value.get("kind") not in list(AgentActionKind):
        raise Refused("action_invalid", f"an action's kind is one of {', '.join(AgentActionKind)}")
    members = {name: one for name, one in value.items() if name not in {"kind", "why"}}
    reason = value.get("why")
    if not isinstance(reason, dict):
        raise Refused("action_invalid", "an action says why: goal, facts and expected_value")
    why: Why = _made(Why, reason)
    if not (why.goal and why.facts and why.expected_value):
        raise Refused("action_invalid", "an action says why: goal, facts and expected_value, none of them empty")
    return AgentAction(payload=_made(PAYLOADS[AgentActionKind(value["kind"])], members), why=why)


def _made(kind: type[Any], members: JsonObject) -> Any:
    fields = {one.name: one for one in dataclasses.fields(kind)}
    lacking = [name for name, one in fields.items() if name not in members and one.default is dataclasses.MISSING]
    if unknown := sorted(members.keys() - fields.keys()) + lacking:
        raise Refused("action_invalid", f"{kind.__name__} has no member, or lacks one: {', '.join(unknown)[:200]}")
    return kind(**{name: _value(name, fields[name].type, one) for name, one in members.items()})


def _value(name: str, wanted: Any, value: JsonValue) -> Any:
    if wanted is str and isinstance(value, str) and len(value) <= TEXT_CHARACTERS_MAX:
        return value
    if wanted is bool and isinstance(value, bool):
        return value
    if wanted == tuple[str, ...] and isinstance(value, list | tuple) and len(value) <= FACTS_MAX:
        return tuple(_value(name, str, one) for one in value)
    raise Refused("action_invalid", f"{name} has another type, or is too long")


def action_schema(kinds: tuple[AgentActionKind, ...]) -> JsonObject:
    """The form of a model's answer: an object for each kind that may be chosen."""
    return {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": [kind.value for kind in kinds]},
            "why": _form(Why),
            **{name: form for kind in kinds for name, form in _form(PAYLOADS[kind])["properties"].items()},
        },
        "required": ["kind", "why"],
        "additionalProperties": False,
    }


def _form(kind: type[Any]) -> dict[str, Any]:
    forms: dict[Any, Any] = {
        str: {"type": "string"},
        bool: {"type": "boolean"},
        tuple[str, ...]: {"type": "array", "items": {"type": "string"}},
    }
    fields = dataclasses.fields(kind)
    properties = {one.name: forms[one.type] for one in fields}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
