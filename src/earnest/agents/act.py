"""Act: the action of this tick is done, so that doing it again after a kill changes nothing more."""

from typing import Final

from earnest.agents.actions import (
    AgentAction,
    AskHuman,
    ChatSay,
    ExecuteJob,
    GoTo,
    PostOnBoard,
    ProposeJob,
    ReviewJob,
    WebSearch,
    read_action,
)
from earnest.agents.backlog import FAULTS
from earnest.agents.executing import execute, is_final
from earnest.agents.job_files import PLAIN, read_file
from earnest.agents.means import Means
from earnest.agents.recall import ACTION, QUESTION
from earnest.agents.state import ActionResult, AgentState, came_to
from earnest.client.problem import Problem
from earnest.foundation.errors import Faulty, Refused, Unavailable
from earnest.world.talk import WHY_CHARACTERS_MAX, Reach

SEARCH: Final = "search"


async def act(state: AgentState, means: Means) -> AgentState:
    """Note the action with its why, then do it. A no of the platform is a result; other failures are raised."""
    action = read_action(state["action"])
    told = {"at_ms": state["at_ms"], "action": state["action"], "by": state["decided_by"], "notes": state["notes"]}
    if not state["decided_by"] or action.kind != "noop":
        means.book.add(ACTION, state["tick"], **told)
    try:
        result = await _done(action, state, means)
    except Problem as problem:
        if not is_final(problem):
            raise
        result = came_to(f"refused: {problem}", ok=False)
    except (Refused, Faulty, OSError) as error:
        result = came_to(str(error), ok=False)
    return {**state, "result": result}


async def _done(action: AgentAction, state: AgentState, means: Means) -> ActionResult:
    match action.payload:
        case ExecuteJob():
            return await execute(action.payload, state["tick"], means)
        case ProposeJob():
            return await _propose(action.payload, state["tick"], means)
        case ReviewJob():
            return await _review(action.payload, state, means)
        case AskHuman():
            said = _ask(action.payload, state, means)
        case GoTo() | ChatSay() | PostOnBoard():
            said = await _share(action, state["tick"], means)
        case WebSearch(query=query):
            said = await _search(query, means)
        case _:
            said = ""
    return came_to(said)


def _ask(payload: AskHuman, state: AgentState, means: Means) -> str:
    key = f"q{state['tick']}" if not payload.about else f"q/{payload.about}"
    members = {"about": payload.about or key, "text": payload.question, "at_ms": state["at_ms"]}
    return "asked the operator" if means.book.add(QUESTION, key, **members) else "the operator was asked already"


async def _search(query: str, means: Means) -> str:
    assert means.scout is not None, "no search was offered"
    try:
        said = await means.scout.look(query)
    except Unavailable as error:
        means.say(SEARCH, str(error))
        return f"could not search: {error}"
    means.say(SEARCH, "")
    return said


async def _share(action: AgentAction, tick: str, means: Means) -> str:
    """Go, say or post; in words for the trace."""
    keyed = means.client.keyed(f"{tick}-share")
    match action.payload:
        case GoTo(place=place):
            set_out = await keyed.world_move(place, why=action.why.goal[:WHY_CHARACTERS_MAX])
            return f"on the way to the {place}, there at {set_out['arrives_at']}"
        case ChatSay(text=text, far=far):
            said = await keyed.chat_say(text, reach=(Reach.FAR if far else Reach.NEAR).value)
            return "said to all" if far else f"said to {said['heard_by']} who were near"
        case PostOnBoard(text=text, thread=thread, title=title):
            return f"posted {(await keyed.board_post(text, title=title, thread_id=thread))['post_id']}"
        case other:
            raise TypeError(f"{type(other).__name__} is not shared with anybody")


async def _propose(payload: ProposeJob, tick: str, means: Means) -> ActionResult:
    """Post an entry; one that can never be posted as it stands is set aside, so that others have their turn."""
    try:
        return await _posted(payload, tick, means)
    except (Problem, Faulty, Refused, OSError) as error:
        if not isinstance(error, Problem) or error.code in FAULTS:
            means.backlog.set_aside(payload.entry, str(error))
            return came_to(f"set aside {payload.entry}, which cannot be posted: {error}")
        raise


async def _posted(payload: ProposeJob, tick: str, means: Means) -> ActionResult:
    entry = means.backlog.entry(payload.entry)
    offer = entry.offer()
    files = [
        {"path": path, "sha256": (await means.client.upload(read_file(file), PLAIN))["sha256"]}
        for path, file in offer.files.items()
    ]
    posted = await means.client.keyed(f"{tick}-post").post_job(
        **offer.body,
        files=files,
        category=entry.category,
        currency=entry.currency,
        amount_micro=entry.amount_micro,
        work_s=entry.work_s,
        redo_of=payload.redo_of or None,
    )
    means.backlog.note(entry.name, posted["job_id"], payload.redo_of)
    return came_to(f"posted {posted['job_id']}")


async def _review(payload: ReviewJob, state: AgentState, means: Means) -> ActionResult:
    """Approve, send back while revisions are left, or reject."""
    claim = next(one for one in state["jobs"]["as_buyer"]["to_review"] if one["claim_id"] == payload.claim_id)
    keyed = means.client.keyed(f"{state['tick']}-review")
    if payload.approved:
        moved = await keyed.decide_job(claim["job_id"], approved=True, reason=payload.reason)
        return came_to(f"approved: {moved['state']}", payload.claim_id)
    job = await means.client.get_job(claim["job_id"])
    known = [str(one["id"]) for one in job["criteria"]]
    cited = [one for one in payload.criteria if one in known] or known
    if claim["revisions_left"] > 0:
        moved = await keyed.request_changes(payload.claim_id, reason=payload.reason, criteria=cited)
    else:
        moved = await keyed.decide_job(claim["job_id"], approved=False, reason=payload.reason, criteria=cited)
    return came_to(f"not approved: {moved['state']}", payload.claim_id)
