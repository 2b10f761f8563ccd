"""Capabilities over HTTP."""

import json
from typing import Annotated, Final

from fastapi import APIRouter, Header, Path, Response

from earnest.runtime.market.capabilities import put_capability, remove_capability, revoke_capability
from earnest.surfaces.web.calls import MyCall
from earnest.surfaces.web.models_capabilities import (
    Capabilities,
    CapabilityRemoved,
    CapabilityShown,
    PutCapability,
    Revoke,
)
from earnest.surfaces.web.problems import problems
from earnest.views.capabilities import list_capabilities

router = APIRouter(tags=["capabilities"])
CapabilityId = Annotated[str, Path(pattern=r"^cap_[0-7][0-9A-HJKMNP-TV-Z]{25}$", description="`cap_` and a ULID.")]
IfMatch = Annotated[str, Header(max_length=200, description='The revision that is meant, as `"3"`.')]
_EDIT_CODES: Final = ("not_found", "precondition_failed", "scope_forbidden", "heartbeat_scope_forbidden")


@router.get("/agents/me/capabilities", response_model=Capabilities)
async def get_capabilities(call: MyCall) -> Response:
    """What I have declared."""
    return call.read(lambda reader: list_capabilities(reader, call.me.id))


@router.put(
    "/agents/me/capabilities/{capability_id}",
    response_model=CapabilityShown,
    responses=problems(*_EDIT_CODES, "validation", "limit_reached"),
)
async def put_my_capability(
    capability_id: CapabilityId, sent: PutCapability, call: MyCall, if_match: IfMatch = ""
) -> Response:
    """Declare a capability under an id of one's own making, or say something else of it."""
    terms = call.market.terms
    form = sent.value(terms)
    answer = await call.perform(lambda entry: put_capability(entry, terms, capability_id, form, if_match))
    if answer.status_code == 200:
        answer.headers["ETag"] = f'"{json.loads(bytes(answer.body))["revision"]}"'
    return answer


@router.delete(
    "/agents/me/capabilities/{capability_id}", response_model=CapabilityRemoved, responses=problems(*_EDIT_CODES)
)
async def delete_my_capability(capability_id: CapabilityId, call: MyCall, if_match: IfMatch = "") -> Response:
    """Take a capability back. Its id is not used again."""
    return await call.perform(lambda entry: remove_capability(entry, capability_id, if_match))


@router.post(
    "/operator/capabilities/{capability_id}/revoke",
    response_model=CapabilityShown,
    responses=problems("not_found", "scope_forbidden", "heartbeat_scope_forbidden"),
)
async def post_revoke(capability_id: CapabilityId, sent: Revoke, call: MyCall) -> Response:
    """The operator takes a badge away, for good."""
    return await call.perform(lambda entry: revoke_capability(entry, capability_id, sent.reason))
