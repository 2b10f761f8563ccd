"""Decide: one call of a model, or code; guards in code stand over both."""

from typing import Any, Final

from earnest.agents.actions import AgentAction, AgentActionKind, action_schema, read_action
from earnest.agents.choosing import chosen, obligation
from earnest.agents.guards import fault, offered
from earnest.agents.means import Means
from earnest.agents.state import AgentState
from earnest.agents.summary import SUBMISSION_CHARACTERS, question
from earnest.client.payloads import Claim
from earnest.client.problem import Problem
from earnest.foundation.errors import Refused, Unavailable
from earnest.foundation.text import head_tail

MODEL: Final = "model"
CODE: Final = "code"
PART: Final = "model"
FILES_MAX: Final = 20
IDLE: Final = frozenset({AgentActionKind.NOOP, AgentActionKind.ASK_HUMAN})


async def decide(state: AgentState, means: Means) -> AgentState:
    """The action of this tick, which every guard lets pass."""
    action = obligation(state)
    if action is not None:
        return _decided(state, action, CODE)
    kinds = offered(state)
    if means.mind is None or IDLE.issuperset(kinds):  # nothing to choose: nobody is asked
        return _decided(state, chosen(state), CODE)
    try:
        action = await _asked(state, means, kinds)
    except (Refused, Unavailable) as error:
        means.say(PART, str(error) if isinstance(error, Unavailable) else "")
        action = chosen({**state, "jobs": {**state["jobs"], "searches": []}})  # a model has to read what is found
        return _decided(state, action, CODE, f"the model's choice was not taken: {error}")
    means.say(PART, "")
    return _decided(state, action, MODEL)


async def _asked(state: AgentState, means: Means, kinds: tuple[AgentActionKind, ...]) -> AgentAction:
    assert means.mind is not None
    submissions = {one["claim_id"]: await _submission(one, means) for one in state["jobs"]["as_buyer"]["to_review"]}
    told = await means.mind.choose(question(state, kinds, submissions), action_schema(kinds))
    action = read_action(_without_foreign(told))
    if action.kind not in kinds:
        raise Refused("action_invalid", f"{action.kind} cannot be chosen now")
    if wrong := fault(action, state, submissions):
        raise Refused("action_invalid", f"{action.kind}: {wrong}")
    return action


def _decided(state: AgentState, action: AgentAction, by: str, note: str = "") -> AgentState:
    notes = [*state["notes"], note] if note else state["notes"]
    return {**state, "action": dict(action.to_json()), "decided_by": by, "notes": notes}


def _without_foreign(told: Any) -> Any:
    """Strict endpoints fill in members of other kinds with nothing: these are left out."""
    if not isinstance(told, dict):
        return told
    return {name: value for name, value in told.items() if name in {"kind", "claim_id"} or value not in ("", [], None)}


async def _submission(claim: Claim, means: Means) -> str:
    """The newest revision in full, as text: notes, what came inline, and files, as far as they are text."""
    parts: list[str] = []
    for item in claim["submissions"][0]["items"][:FILES_MAX] if claim["submissions"] else ():
        parts.append(f"== {item.get('requirement_id')} ({item.get('kind')}) {item.get('note') or ''}")
        if item.get("inline") is not None:
            parts.append(str(item["inline"]))
        elif item.get("sha256"):
            parts.append(await _text(str(item["sha256"]), means))
    return head_tail("\n".join(parts), SUBMISSION_CHARACTERS)


async def _text(sha256: str, means: Means) -> str:
    try:
        content = await means.client.download(sha256)
    except Problem as problem:
        return f"(cannot be read: {problem.code})"
    if b"\0" in content:
        return f"({len(content)} bytes that are no text)"
    return content[: 4 * SUBMISSION_CHARACTERS].decode(errors="replace")
