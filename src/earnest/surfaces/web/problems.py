"""Refusals over HTTP as problems (RFC 9457, market ruling a.10)."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from earnest.foundation.canonical import JsonObject, JsonValue, canonical_bytes


class CodeMeaning(NamedTuple):
    """What a code says. `retryable`: the same request may do later, unchanged."""

    status: int
    title: str
    retryable: bool = False


CODES: Final[Mapping[str, CodeMeaning]] = {
    "malformed_json": CodeMeaning(400, "The body is not strict JSON"),
    "idempotency_key_required": CodeMeaning(400, "An Idempotency-Key is needed"),
    "bad_cursor": CodeMeaning(400, "The cursor is not one of ours"),
    "missing_key": CodeMeaning(401, "A key is needed"),
    "unknown_key": CodeMeaning(401, "Nobody has this key"),
    "expired_key": CodeMeaning(401, "The key has expired or was revoked"),
    "scope_forbidden": CodeMeaning(403, "The key may not do this"),
    "heartbeat_scope_forbidden": CodeMeaning(403, "A heartbeat key may not do this"),
    "not_a_party": CodeMeaning(403, "Only a party may do this"),
    "witness_unknown": CodeMeaning(403, "No witness that is known here signed it"),
    "account_suspended": CodeMeaning(403, "The account is suspended"),
    "onboarding_required": CodeMeaning(403, "The account is not ready for this yet"),
    "cross_site": CodeMeaning(403, "A login is used from our own pages only"),
    "not_found": CodeMeaning(404, "There is no such thing, or you may not know of it"),
    "run_unknown": CodeMeaning(404, "There is no such run"),
    "review_unknown": CodeMeaning(404, "There is no such review"),
    "no_database": CodeMeaning(404, "There is no database"),
    "method_not_allowed": CodeMeaning(405, "This is not done here"),
    "job_already_claimed": CodeMeaning(409, "The job has been claimed"),
    "capacity_exceeded": CodeMeaning(409, "The capacity is used up"),
    "claim_state": CodeMeaning(409, "The claim's state does not allow this"),
    "job_state": CodeMeaning(409, "The job's state does not allow this"),
    "dispute_state": CodeMeaning(409, "The dispute's state does not allow this"),
    "payout_state": CodeMeaning(409, "The payout's state does not allow this"),
    "deposit_state": CodeMeaning(409, "The deposit was decided"),
    "heartbeat_state": CodeMeaning(409, "The task does not wait for a verdict"),
    "account_state": CodeMeaning(409, "The account's state does not allow this"),
    "not_ended": CodeMeaning(409, "It has not ended yet"),
    "not_sealed": CodeMeaning(409, "It is not sealed yet", retryable=True),
    "review_exists": CodeMeaning(409, "There is a review"),
    "review_window_closed": CodeMeaning(409, "The time for reviews is over"),
    "dispute_exists": CodeMeaning(409, "There is a dispute"),
    "below_dispute_floor": CodeMeaning(409, "The amount is too small for a dispute"),
    "idempotency_in_progress": CodeMeaning(409, "The first request with this key is still at work", retryable=True),
    "not_judged": CodeMeaning(409, "There is no verdict yet"),
    "run_unfinished": CodeMeaning(409, "The run has no verdict yet"),
    "no_edits": CodeMeaning(409, "The run was given nothing to edit"),
    "edit_applied": CodeMeaning(409, "The change is applied"),
    "not_applied": CodeMeaning(409, "The change is not applied"),
    "not_accepted": CodeMeaning(409, "No verdict accepted the change"),
    "edit_conflict": CodeMeaning(409, "Files have changed since the run was given them"),
    "edit_link": CodeMeaning(409, "A link cannot be applied"),
    "leave_unasked": CodeMeaning(409, "The run does not wait for leave for this"),
    "effect_unasked": CodeMeaning(409, "Nobody is asked about this effect"),
    "review_decided": CodeMeaning(409, "It was decided otherwise"),
    "insufficient_funds": CodeMeaning(409, "There is not enough money"),
    "etag_mismatch": CodeMeaning(409, "It has changed since"),
    "related_party": CodeMeaning(409, "The parties are related"),
    "limit_reached": CodeMeaning(409, "There are enough of these"),
    "period_exists": CodeMeaning(409, "A period has this name"),
    "handle_taken": CodeMeaning(409, "Somebody has this handle"),
    "claim_expired": CodeMeaning(410, "The claim has expired"),
    "job_withdrawn": CodeMeaning(410, "The job was withdrawn"),
    "files_gone": CodeMeaning(410, "The files were swept"),
    "evidence_gone": CodeMeaning(410, "The evidence is no longer kept"),
    "link_expired": CodeMeaning(410, "The link was used, or its time is over"),
    "precondition_failed": CodeMeaning(412, "It is not what If-Match says"),
    "too_large": CodeMeaning(413, "The body is too large"),
    "unsupported_media": CodeMeaning(415, "The body has another media type than is taken here"),
    "validation": CodeMeaning(422, "The request is not of the documented form"),
    "unknown_field": CodeMeaning(422, "The request has a member that nobody knows"),
    "evidence_incomplete": CodeMeaning(422, "Required evidence is missing"),
    "evidence_hash_mismatch": CodeMeaning(422, "The evidence has another hash"),
    "criterion_required": CodeMeaning(422, "A criterion of the claim must be cited"),
    "review_incomplete": CodeMeaning(422, "Scores, or yes or no, and a reason are needed"),
    "stake_mismatch": CodeMeaning(422, "The stake is another"),
    "idempotency_key_conflict": CodeMeaning(422, "The Idempotency-Key was used for another request"),
    "address_refused": CodeMeaning(422, "The address is not one that anybody can reach"),
    "page_refused": CodeMeaning(422, "What the address gave is not taken"),
    "url_refused": CodeMeaning(422, "This is no address that is fetched from"),
    "lint_failed": CodeMeaning(422, "The check accepts worthless work, or none"),
    "unknown_check": CodeMeaning(422, "There is no such check"),
    "quota_exceeded": CodeMeaning(429, "Too many requests", retryable=True),
    "decline_quota": CodeMeaning(429, "Too much work was declined", retryable=True),
    "attempt_limit": CodeMeaning(429, "The attempts are used up", retryable=True),
    "internal_error": CodeMeaning(500, "A promise of our own was not kept"),
    "maintenance": CodeMeaning(503, "The platform cannot do this now", retryable=True),
    "verifier_unavailable": CodeMeaning(503, "Nothing can be verified now", retryable=True),
}
"""The closed list. Whatever else is refused is a mistake of ours: `internal_error`."""

STATUS: Final[Mapping[str, int]] = {code: meaning.status for code, meaning in CODES.items()}
MEDIA_TYPE: Final = "application/problem+json"
ERRORS_PATH: Final = "/api/v1/meta/errors"
OWN_MEMBERS: Final = frozenset({"type", "title", "status", "detail", "instance", "code", "request_id", "retryable"})


def problem(
    code: str,
    detail: str,
    request_id: str,
    instance: str,
    details: Mapping[str, JsonValue] | None = None,
    *,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The answer that says no.

    `details` are further members, `next_call` and `errors` (a list of `{pointer, code, detail}`) among them; they
    cannot replace a member of the form.
    """
    if code not in CODES:
        code, detail, details = "internal_error", "an answer has a code that is not in the list", None
    meaning = CODES[code]
    body: JsonObject = {
        **{name: value for name, value in (details or {}).items() if name not in OWN_MEMBERS},
        "type": type_of(code),
        "title": meaning.title,
        "status": meaning.status,
        "detail": detail,
        "instance": instance,
        "code": code,
        "request_id": request_id,
        "retryable": meaning.retryable,
    }
    return Response(canonical_bytes(body), meaning.status, dict(headers or {}), MEDIA_TYPE)


def type_of(code: str) -> str:
    """The address, relative to the platform's own, at which a code is explained."""
    return f"{ERRORS_PATH}#{code.replace('_', '-')}"


def problems(*codes: str) -> dict[int | str, dict[str, Any]]:
    """What a route declares as its `responses`: for each status, which of these codes it can have."""
    by_status: dict[int, list[str]] = {}
    for code in codes:
        by_status.setdefault(STATUS[code], []).append(code)
    return {status: _response(sorted(names)) for status, names in sorted(by_status.items())}


def answers(shape: Any, *codes: str, status: int | None = None) -> dict[str, Any]:
    """What a route declares: the shape of its answer, its status unless it is 200, and the codes of its problems."""
    return {"response_model": shape, "status_code": status, "responses": problems(*codes)}


def _response(codes: list[str]) -> dict[str, Any]:
    form = {
        "allOf": [
            {"$ref": "#/components/schemas/Problem"},
            {"type": "object", "properties": {"code": {"enum": codes}}},
        ]
    }
    return {
        "description": "; ".join(CODES[code].title for code in codes),
        "content": {MEDIA_TYPE: {"schema": form}},
    }


def codes_of(response: Mapping[str, Any]) -> list[str]:
    """The codes of a response that `problems` has made; none for another."""
    try:
        found = response["content"][MEDIA_TYPE]["schema"]["allOf"][1]["properties"]["code"]["enum"]
    except (KeyError, IndexError, TypeError):
        return []
    return list(found)


def _text(description: str, **more: JsonValue) -> dict[str, JsonValue]:
    return {"type": "string", "description": description, **more}


PROBLEM_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "description": "RFC 9457. The rules said no, or something failed.",
    "required": sorted(OWN_MEMBERS),
    "properties": {
        "type": _text("Where the code is explained.", format="uri-reference"),
        "title": _text("What the code means."),
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": _text("What happened here, for people."),
        "instance": _text("The path that was asked.", format="uri-reference"),
        "code": _text("For programs.", enum=sorted(CODES)),
        "request_id": _text("As in the header Request-Id."),
        "retryable": {"type": "boolean", "description": "The same request may do later, unchanged."},
        "next_call": {"type": "object", "description": "What could be asked instead."},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["pointer", "code", "detail"],
                "properties": {
                    "pointer": _text("Where, as a JSON Pointer; `#/query/…` and the like outside the body."),
                    "code": _text("What is wrong there."),
                    "detail": _text("The same for people."),
                },
            },
        },
    },
}
