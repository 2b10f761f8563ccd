"""Scores, contracts and heartbeats over HTTP: how agents stand, what they are held to, what they check in with."""

from collections.abc import Iterable
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field, StringConstraints

from earnest.accountability.agreement import CONTRACT_BYTES_MAX
from earnest.accountability.tiers import INTERVAL_MAX_S, INTERVAL_MIN_S
from earnest.client import payloads_scores as shown
from earnest.client.payloads import Page
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.hands.workspace.snapshot import folded
from earnest.foundation.canonical import canonical_bytes
from earnest.foundation.errors import Refused
from earnest.identity.account import AccountKind
from earnest.identity.key import Scope
from earnest.runtime.accountability import deciding
from earnest.runtime.accountability.checking_in import CheckIn, TaskAssertion, due_now, prepare_check_in
from earnest.surfaces.web.calls import MyCall
from earnest.surfaces.web.problems import answers
from earnest.surfaces.web.requests import Cursor, Limit, Reason, Sha256, Strict, after, listed, page
from earnest.verification.paths import path_fault
from earnest.views import score as views
from earnest.views.agents_public import find_agent

router = APIRouter(tags=["score"])
heartbeat_router = APIRouter(tags=["heartbeats"])
operator_router = APIRouter(prefix="/operator", tags=["operator"])
HeartbeatPath = Annotated[str, Path(pattern=r"^hbt_[0-9A-Z]{26}$", description="`hbt_` and a ULID.")]
REPLY_CHARACTERS_MAX = 100_000
RECORDS_MAX = 200
OUTPUT_CHARACTERS_MAX = 4_000
ARTIFACTS_MAX = 20
PATH_PARTS_MAX = 8
CLAIMS_MAX = 500
CLAIMS_BYTES_MAX = 48 * 1024
"""As canonical JSON: more than the verifier reads would hide what was claimed."""
VALUES_MAX = 20
TaskId = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Word = Annotated[str, StringConstraints(max_length=1_000)]
Contract = Annotated[str, StringConstraints(max_length=CONTRACT_BYTES_MAX)]
OfAgent = Annotated[str, Query(max_length=40, description="Whose, by handle: for the operator.")]
Clock = Annotated[str, StringConstraints(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$|^24:00$")]
HeartbeatId = Annotated[str, StringConstraints(pattern=r"^hbt_[0-9A-Z]{26}$")]


class Feedback(Strict):
    """A thumb for a message: the id of a heartbeat."""

    type: Literal["up", "down"]
    message_id: HeartbeatId


class SetAgreement(Strict):
    """What an agent is held to. `contract`: the text to accept, or `accept`: the digest of what the agent offers.

    What is left out stays. `interval_s` null: the ladder of tiers.
    """

    contract: Contract | None = None
    accept: Sha256 | None = None
    zone: Annotated[str, StringConstraints(max_length=100)] = ""
    interval_s: Annotated[int, Field(ge=INTERVAL_MIN_S, le=INTERVAL_MAX_S)] | None = None
    active_from: Clock = ""
    active_to: Clock = ""
    is_enabled: bool = True
    is_paused: bool = False


class ResetTask(Strict):
    """A task that is to begin anew."""

    task: TaskId


@router.get("/score", **answers(shown.Score, "not_found"))
async def get_score(call: MyCall, agent: OfAgent = "") -> Response:
    """Score, target and tier of an agent: mine, or `agent`'s for its operator."""
    now_ms, terms = call.market.desk.now_ms(), call.market.terms
    return await call.read(lambda reader: views.show_score(reader, _whose(reader, call, agent), now_ms, terms))


@router.get("/score/history", **answers(shown.History, "not_found"))
async def get_history(call: MyCall, agent: OfAgent = "") -> Response:
    """Today and the last 7 recorded days, each with its own target."""
    now_ms = call.market.desk.now_ms()
    return await call.read(lambda reader: views.show_history(reader, _whose(reader, call, agent), now_ms))


@router.get("/score/leaderboard", **answers(Page[shown.History], "bad_cursor"))
async def get_leaderboard(call: MyCall, cursor: Cursor = "", limit: Limit = 20) -> Response:
    """The histories of all agents with a contract. A page is in order of today's share of the target."""
    call.me.need(Scope.OPERATOR, Scope.AUDITOR)
    now_ms, last = call.market.desk.now_ms(), after(cursor)

    def ranked(reader: BooksReader) -> Page[shown.History]:
        found = page(views.list_histories(reader, now_ms, last, limit + 1), limit, "account_id")
        found["data"].sort(key=views.leading)
        return found

    return await call.read(ranked)


@router.get("/score/events", **answers(Page[shown.ScoreFact], "bad_cursor", "not_found"))
async def get_events(call: MyCall, agent: OfAgent = "", cursor: Cursor = "", limit: Limit = 20) -> Response:
    """Where every number comes from: fact, rule and points, the newest first."""
    before = after(cursor)
    if before and not before.isdecimal():
        raise Refused("bad_cursor", "the cursor is not one that this list has given")

    def find(reader: BooksReader, last: str, most: int) -> list[shown.ScoreFact]:
        return views.list_events(reader, _whose(reader, call, agent), last, most)

    return await listed(call, cursor, limit, "fact", find)


@router.post("/score/feedback", **answers(shown.Voted, "not_found"))
async def post_feedback(sent: Feedback, call: MyCall) -> Response:
    """A thumb up or down for a message, in the place of the one before."""
    return await call.perform(lambda entry: deciding.vote(entry, sent.type, sent.message_id), optional=True)


@operator_router.get("/agents/{handle}/contract", **answers(shown.Agreement, "not_found"))
async def get_agreement(handle: str, call: MyCall) -> Response:
    """What an agent is held to, and how its newest contract differs."""
    call.me.need(Scope.OPERATOR, Scope.AUDITOR)
    return await call.read(lambda reader: views.show_agreement(reader, find_agent(reader, handle).id))


@operator_router.put("/agents/{handle}/contract", **answers(shown.Agreed, "not_found", "etag_mismatch"))
async def put_agreement(handle: str, sent: SetAgreement, call: MyCall) -> Response:
    """Accept a contract, and say when and how often it holds."""
    call.me.need(Scope.OPERATOR)
    settings = sent.model_dump(exclude_unset=True, exclude={"contract", "accept"})
    return await call.perform(
        lambda entry: deciding.agree(
            entry, find_agent(entry.transaction, handle).id, sent.contract, sent.accept, settings
        )
    )


@operator_router.post("/agents/{handle}/contract/reset", **answers(shown.TaskReset, "not_found"))
async def post_reset(handle: str, sent: ResetTask, call: MyCall) -> Response:
    """Give a task all its attempts back."""
    call.me.need(Scope.OPERATOR)
    return await call.perform(
        lambda entry: deciding.begin_anew(entry, find_agent(entry.transaction, handle).id, sent.task)
    )


def _whose(reader: BooksReader, call: MyCall, agent: str) -> str:
    """Oneself, unless an operator names an agent. Raises `Refused`: `not_found`, `scope_forbidden`."""
    if not agent:
        return call.me.id
    found = find_agent(reader, agent)
    if found.id != call.me.id:
        call.me.need(Scope.OPERATOR, Scope.AUDITOR)
    if found.kind is not AccountKind.AGENT:
        raise Refused("not_found", f"no agent is called {agent!r}")
    return found.id


class Recorded(Strict):
    """What one tool did, by the agent's own account: it is shown to the judge, and proves nothing alone."""

    tool: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    target: Word = ""
    ok: bool
    exit_code: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] | None = None
    output: Annotated[str, StringConstraints(max_length=OUTPUT_CHARACTERS_MAX)] = ""


class ArtifactNamed(Strict):
    """A file that was uploaded before. `path`: where the judge finds it, below `artifacts/`."""

    path: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    sha256: Sha256


class Claimed(Strict):
    """What the agent asserts of a task; a ticked box says `done` too. `values`: what it measured, by name.

    A value that was measured to be otherwise is a contradiction.
    """

    task: TaskId
    done: bool = True
    values: dict[Annotated[str, StringConstraints(max_length=64)], bool | int | float | Word] = Field(
        default_factory=dict, max_length=VALUES_MAX
    )


class SendHeartbeat(Strict):
    """A check-in. Without `contract` it is the one that was accepted."""

    contract: Contract | None = None
    reply: Annotated[str, StringConstraints(max_length=REPLY_CHARACTERS_MAX)] = ""
    records: list[Recorded] = Field(default_factory=list, max_length=RECORDS_MAX)
    artifacts: list[ArtifactNamed] = Field(default_factory=list, max_length=ARTIFACTS_MAX)
    claims: list[Claimed] = Field(default_factory=list, max_length=CLAIMS_MAX)

    def value(self) -> CheckIn:
        """What was sent. Raises `Refused`: `validation` for names that cannot stand side by side, `too_large`."""
        if fault := paths_fault(one.path for one in self.artifacts):
            raise Refused("validation", f"artifacts: {fault}")
        if len({one.task for one in self.claims}) < len(self.claims):
            raise Refused("validation", "claims: a task stands twice")
        if len(canonical_bytes(self.model_dump(include={"claims"})["claims"])) > CLAIMS_BYTES_MAX:
            raise Refused("too_large", f"claims have at most {CLAIMS_BYTES_MAX} bytes")
        return CheckIn(
            contract=self.contract,
            reply=self.reply,
            records=tuple(one.model_dump() for one in self.records),
            artifacts={one.path: one.sha256 for one in self.artifacts},
            assertions=tuple(TaskAssertion(one.task, one.done, one.values) for one in self.claims),
        )


class DecideTask(Strict):
    """The operator's verdict on a task that waits for one."""

    task: TaskId
    verdict: Literal["verified", "not_verified"]
    reason: Reason


@heartbeat_router.post("/agents/me/heartbeats", **answers(shown.CheckedIn, status=201))
async def post_heartbeat(sent: SendHeartbeat, call: MyCall) -> Response:
    """Check in with what was done. It is verified in the background: the heartbeat's own path has the verdicts."""
    value, caller = sent.value(), call.me
    return await call.perform(prepare=lambda: prepare_check_in(caller, value), status=201)


@heartbeat_router.get("/agents/me/heartbeats/due", **answers(shown.Due))
async def get_due(call: MyCall) -> Response:
    """What a check-in now would be asked for, by the accepted contract, and what the last one was told."""
    now_ms = call.market.desk.now_ms()
    return await call.read(lambda reader: due_now(reader, call.me.id, now_ms))


@heartbeat_router.get("/agents/me/heartbeats", **answers(Page[shown.Heartbeat], "bad_cursor"))
async def get_heartbeats(call: MyCall, cursor: Cursor = "", limit: Limit = 20) -> Response:
    """My heartbeats, the newest first."""
    me = call.me.id
    return await listed(
        call, cursor, limit, "heartbeat_id", lambda reader, last, most: views.list_heartbeats(reader, me, last, most)
    )


@heartbeat_router.get(
    "/agents/me/heartbeats/{heartbeat_id}", **answers(shown.HeartbeatWhole | shown.Heartbeat, "not_found")
)
async def get_heartbeat(heartbeat_id: HeartbeatPath, call: MyCall) -> Response:
    """A heartbeat with its verdicts, points, tier and next interval, once it is judged."""
    sees_measured = call.me.scope is Scope.OPERATOR
    return await call.read(
        lambda reader: views.show_heartbeat(
            reader, heartbeat_id, call.me.id, sees_all=call.me.sees_all, sees_measured=sees_measured
        )
    )


@operator_router.get("/agents/{handle}/heartbeats", **answers(Page[shown.HeartbeatWhole], "bad_cursor", "not_found"))
async def get_waiting(handle: str, call: MyCall, cursor: Cursor = "", limit: Limit = 20) -> Response:
    """An agent's heartbeats that wait for the operator's verdict, the oldest first, with what was handed in."""
    call.me.need(Scope.OPERATOR, Scope.AUDITOR)

    def find(reader: BooksReader, last: str, most: int) -> list[shown.HeartbeatWhole]:
        agent, sees_measured = find_agent(reader, handle).id, call.me.scope is Scope.OPERATOR
        return views.waiting_heartbeats(reader, agent, last, most, sees_measured=sees_measured)

    return await listed(call, cursor, limit, "heartbeat_id", find)


@operator_router.post("/heartbeats/{heartbeat_id}/decide", **answers(shown.TaskDecided, "not_found", "heartbeat_state"))
async def post_decision(heartbeat_id: HeartbeatPath, sent: DecideTask, call: MyCall) -> Response:
    """The operator's verdict on a task that waits for one; its points belong to the heartbeat's day."""
    verified = sent.verdict == "verified"
    return await call.perform(
        lambda entry: deciding.decide(entry, heartbeat_id, sent.task, verified=verified, reason=sent.reason)
    )


def paths_fault(paths: Iterable[str]) -> str | None:
    """Why files of these paths cannot lie side by side and be told apart, or None. A folder is known by its `/`."""
    taken: dict[str, str] = {}
    for path in paths:
        parts = path.split("/")
        if fault := path_fault(path):
            return fault
        if len(parts) > PATH_PARTS_MAX:
            return f"{path[:80]!r} has more than {PATH_PARTS_MAX} parts"
        folders = ["/".join(parts[:end]) for end in range(1, len(parts))]
        if folded(path) in taken or any(taken.setdefault(folded(one), f"{one}/") != f"{one}/" for one in folders):
            return f"{path[:80]!r} cannot lie beside the others: a name is taken, or reads like another"
        taken[folded(path)] = path
    return None
