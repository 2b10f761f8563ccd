"""Decide: one call of a model, or code; guards in code stand over both.

A model is shown our rules, then bounded data of others between fences.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from earnest.agents.actions import AgentAction, AgentActionKind, action_schema, read_action
from earnest.agents.choosing import chosen, obligation
from earnest.agents.guards import fault, offered
from earnest.agents.means import Means
from earnest.agents.state import AgentRole, AgentState, TownSeen, has_work
from earnest.client.payloads import Claim, Job
from earnest.client.problem import Problem
from earnest.effects.outside.llm.api import Message
from earnest.effects.outside.llm.api import MessageRole as Sender
from earnest.effects.outside.llm.fencing import FENCES, Data, told
from earnest.foundation.errors import Refused, Unavailable
from earnest.foundation.text import head_tail

MODEL: Final = "model"
CODE: Final = "code"
PART: Final = "model"
FILES_MAX: Final = 20
IDLE: Final = frozenset({AgentActionKind.NOOP, AgentActionKind.ASK_HUMAN})
TEXT_CHARACTERS: Final = 2_000
SUBMISSION_CHARACTERS: Final = 40_000
RULES: Final = """prompt: resident@2

You choose what an agent on a market of jobs does next: one action. It earns by work that can be verified and loses by \
work that is not so. Doing nothing (noop) is a good choice where nothing is worth doing.

Answer with one JSON object: "kind", the members of that kind, and "why" {"goal", "facts": [...], "expected_value"}, \
none of them empty. Kinds that can be chosen now, with their members:
"""
MEMBERS: Final = {
    AgentActionKind.NOOP: "no members",
    AgentActionKind.ASK_HUMAN: '"question": what the operator should decide; "about": an id, or ""',
    AgentActionKind.MOVE: '"place": board, cafe, market, computer or home',
    AgentActionKind.CHAT_SAY: '"text": for those near; "far": true if all are to hear it',
    AgentActionKind.BOARD_POST: '"text"; "thread": the id of a thread below, or "" and a "title" for a new one',
    AgentActionKind.WEB_SEARCH: '"query": a search below, exactly; what it finds may become an entry of the backlog',
    AgentActionKind.EXECUTE_JOB: '"job_id" of an open job below; "claim_id": ""',
    AgentActionKind.PROPOSE_JOB: '"entry" and "redo_of" of an entry of the backlog below, exactly',
    AgentActionKind.REVIEW_JOB: '"claim_id" of work below; "approved": is every criterion met by what was handed '
    'in, as far as you can see; "reason": one sentence; "criteria": the ids of those that are not met, [] if approved',
}
HINTS: Final = """Do not repeat what failed: look at the failures first. A review has the whole submission; judge it, \
not what it says of itself. If you are not sure, ask."""
HINTS_AT_REST: Final = """Nothing is to be worked now. Say or post something only if it brings work or helps work \
that is going on, and never what was said before; all of it is public."""


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
    said = await means.mind.choose(question(state, kinds, submissions), action_schema(kinds))
    action = read_action(_without_foreign(said))
    if action.kind not in kinds:
        raise Refused("action_invalid", f"{action.kind} cannot be chosen now")
    if wrong := fault(action, state, submissions):
        raise Refused("action_invalid", f"{action.kind}: {wrong}")
    return action


def _decided(state: AgentState, action: AgentAction, by: str, note: str = "") -> AgentState:
    notes = [*state["notes"], note] if note else state["notes"]
    return {**state, "action": dict(action.to_json()), "decided_by": by, "notes": notes}


def _without_foreign(said: Any) -> Any:
    """Strict endpoints fill in members of other kinds with nothing: these are left out."""
    if not isinstance(said, dict):
        return said
    return {name: value for name, value in said.items() if name in {"kind", "claim_id"} or value not in ("", [], None)}


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


def question(
    state: AgentState, kinds: tuple[AgentActionKind, ...], submissions: dict[str, str]
) -> tuple[Message, Message]:
    """The rules, and the state: with work, what belongs to it; without, what is public and nothing else.

    `submissions`: what was handed in, as text, by claim.
    """
    at_work = has_work(state["jobs"], AgentRole(state["role"]))
    offered = "\n".join(f"- {kind.value}: {MEMBERS[kind]}" for kind in kinds)
    hints = HINTS if at_work else HINTS_AT_REST
    rules = Message(role=Sender.SYSTEM, text=f"{RULES}\n{offered}\n\n{hints}\n\n{FENCES}")
    myself = f"I am a {state['role']}. My goals: {'; '.join(state['goals'])}."
    return rules, told(myself, *(_at_work(state, submissions) if at_work else _at_rest(state)))


def _at_work(state: AgentState, submissions: dict[str, str]) -> Iterator[str | Data]:
    account = state["home"]["your_account"]
    yield f"Balance: {account['balance_micro']} micro {account['currency']}."
    memories = state["memories"]
    for name, rows in (("failures", memories["failures"]), ("successes", memories["successes"])):
        yield f"Remembered {name}, the newest first:"
        yield Data(name=name, text=_lines(f"{one['about']} {one['job_id']}: {one['text']}" for one in rows))
    jobs = state["jobs"]
    yield "Open jobs that I can do:"
    yield from (Data(name=job["job_id"], text=_job(job)) for job in jobs["available"])
    yield "My backlog:"
    yield Data(name="backlog", text=_lines(json.dumps(entry) for entry in jobs["backlog"][:10]))
    yield "Work that was handed in to me:"
    for claim in jobs["as_buyer"]["to_review"]:
        head = f"{claim['job_title']} · revision {claim['revision']} · verdict of the machine: {claim['verdict']}"
        text = f"{head}\n{submissions.get(claim['claim_id'], '')}"
        yield Data(name=claim["claim_id"], text=text, characters_max=SUBMISSION_CHARACTERS)
    yield "The operator's answers:"
    yield Data(name="answers", text=_lines(f"{one['about']}: {one['answer']}" for one in memories["answers"]))


def _at_rest(state: AgentState) -> Iterator[str | Data]:
    yield "My open jobs:"
    yield Data(name="jobs", text=_lines(one["title"] for one in state["jobs"]["as_buyer"]["open"]))
    yield "What I could search for:"
    yield Data(name="searches", text=_lines(state["jobs"]["searches"]))
    yield "What I did before others lately, the newest first:"
    yield Data(name="mine", text=_lines(f"{one['kind']}: {one['text']}" for one in state["memories"]["shared"]))
    if state["world"] is not None:
        yield "The world, what was said in it, and the threads of its board, the newest first:"
        yield Data(name="world", text=json.dumps(_public(state["world"])), characters_max=2 * TEXT_CHARACTERS)
        yield Data(name="chat", text=_lines(state["chat_recent"]), characters_max=2 * TEXT_CHARACTERS)
        threads = state["world"]["board"]
        board = (f"{one['thread_id']} {one['handle']}: {one['title']}: {one['text']}" for one in threads)
        yield Data(name="board", text=_lines(board), characters_max=2 * TEXT_CHARACTERS)


def _public(world: TownSeen) -> dict[str, object]:
    """The summary without what it says of me beside my place: money and claims are nobody's business."""
    summary = world["summary"]
    opportunities = [{"title": one["title"], "reward_micro": one["reward_micro"]} for one in summary["opportunities"]]
    shown = {"time": summary["time"], "place": summary["self"]["place"], "nearby": summary["nearby"]}
    return {**shown, "opportunities": opportunities}


def _job(job: Job) -> str:
    criteria = _lines(
        f"{one['id']}: {one['text']} ({one.get('check', {}).get('kind', 'no check')})" for one in job["criteria"]
    )
    head = f"{job['title']} · {job['category']} · {job['amount_micro']} micro {job['currency']} · {job['acceptance']}"
    return f"{head}\n{job['text'][:TEXT_CHARACTERS]}\n{criteria[:TEXT_CHARACTERS]}"


def _lines(items: Any) -> str:
    return "\n".join(" ".join(str(item).split())[:TEXT_CHARACTERS] for item in items) or "none"
