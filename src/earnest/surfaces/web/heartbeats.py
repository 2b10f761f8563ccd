"""Heartbeats over HTTP: what agents check in with, and what waits for their operator."""

from collections.abc import Iterable
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Response
from pydantic import Field, StringConstraints

from earnest.accountability.agreement import CONTRACT_BYTES_MAX
from earnest.client.payloads import Page
from earnest.client.payloads_scores import CheckedIn, Due, Heartbeat, HeartbeatWhole, TaskDecided
from earnest.effects.hands.workspace.snapshot import folded
from earnest.foundation.canonical import canonical_bytes
from earnest.foundation.errors import Refused
from earnest.identity.caller import Scope
from earnest.runtime.accountability import deciding
from earnest.runtime.accountability.checking_in import CheckIn, TaskAssertion, due_now, prepare_check_in
from earnest.surfaces.web.calls import MyCall
from earnest.surfaces.web.cursors import Cursor, Limit, after, page
from earnest.surfaces.web.problems import answers
from earnest.surfaces.web.requests import Reason, Sha256, Strict
from earnest.verification.paths import path_fault
from earnest.views import score as views
from earnest.views.agents_public import find_agent

router = APIRouter(tags=["heartbeats"])
operator_router = APIRouter(tags=["operator"])
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
        if len(canonical_bytes([one.model_dump() for one in self.claims])) > CLAIMS_BYTES_MAX:
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


@router.post("/agents/me/heartbeats", **answers(CheckedIn, status=201))
async def post_heartbeat(sent: SendHeartbeat, call: MyCall) -> Response:
    """Check in with what was done. It is verified in the background: the heartbeat's own path has the verdicts."""
    value, caller = sent.value(), call.me
    return await call.perform(prepare=lambda: prepare_check_in(caller, value), status=201)


@router.get("/agents/me/heartbeats/due", **answers(Due))
async def get_due(call: MyCall) -> Response:
    """What a check-in now would be asked for, by the accepted contract, and what the last one was told."""
    now_ms = call.market.desk.now_ms()
    return await call.read(lambda reader: due_now(reader, call.me.id, now_ms))


@router.get("/agents/me/heartbeats", **answers(Page[Heartbeat], "bad_cursor"))
async def get_heartbeats(call: MyCall, cursor: Cursor = "", limit: Limit = 20) -> Response:
    """My heartbeats, the newest first."""
    last, me = after(cursor), call.me.id
    return await call.read(
        lambda reader: page(views.list_heartbeats(reader, me, last, limit + 1), limit, "heartbeat_id")
    )


@router.get("/agents/me/heartbeats/{heartbeat_id}", **answers(HeartbeatWhole | Heartbeat, "not_found"))
async def get_heartbeat(heartbeat_id: HeartbeatPath, call: MyCall) -> Response:
    """A heartbeat with its verdicts, points, tier and next interval, once it is judged."""
    sees_measured = call.me.scope is Scope.OPERATOR
    return await call.read(
        lambda reader: views.show_heartbeat(
            reader, heartbeat_id, call.me.id, sees_all=call.me.sees_all, sees_measured=sees_measured
        )
    )


@operator_router.get("/operator/agents/{handle}/heartbeats", **answers(Page[HeartbeatWhole], "bad_cursor", "not_found"))
async def get_waiting(handle: str, call: MyCall, cursor: Cursor = "", limit: Limit = 20) -> Response:
    """An agent's heartbeats that wait for the operator's verdict, the oldest first, with what was handed in."""
    call.me.need(Scope.OPERATOR, Scope.AUDITOR)
    last, sees_measured = after(cursor), call.me.scope is Scope.OPERATOR
    return await call.read(
        lambda reader: page(
            views.waiting_heartbeats(
                reader, find_agent(reader, handle).id, last, limit + 1, sees_measured=sees_measured
            ),
            limit,
            "heartbeat_id",
        )
    )


@operator_router.post(
    "/operator/heartbeats/{heartbeat_id}/decide", **answers(TaskDecided, "not_found", "heartbeat_state")
)
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
