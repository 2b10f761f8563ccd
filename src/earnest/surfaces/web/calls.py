"""A call: what a route knows of a request, and how it answers.

A route takes `call: AnyCall` (a key is not needed), `call: MyCall` (one is) or `call: RawCall` (one is, and the body is
read by the route itself, whatever its media type). Who asks, the request's id and its share of the limits were settled
before, in `door.py`; the headers that every answer has are added there.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import Depends
from fastapi.dependencies.utils import get_flat_params
from fastapi.openapi.models import HTTPBearer as BearerModel
from fastapi.params import Query
from fastapi.routing import APIRoute
from fastapi.security.base import SecurityBase
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from earnest.effects.ground.storage.known_rows import Sought
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import JsonObject, JsonValue, Members, canonical_bytes
from earnest.foundation.errors import Refused
from earnest.identity.key import Caller, KeyedHash
from earnest.journal.notary import Notary
from earnest.runtime.authentication import Authenticator
from earnest.runtime.desk import Act, Keyed, Prepared, StoryResponse, keyed_by
from earnest.runtime.market.market import LOOKUPS, Market
from earnest.surfaces.web.problems import problem
from earnest.verification.strict_json import NotStrictJson, check_members, strict_json

KEY_HEADER: Final = "idempotency-key"
API: Final = "/api/v1"
KEY_OPTIONAL: Final = frozenset(
    {
        "/agents/register",
        "/api/score/feedback",
        "/artifacts",
        "/claims/{claim_id}/replay",
        "/jobs/{job_id}/review",
        "/log/cosignatures",
        "/operator/login",
        "/operator/logout",
        "/score/feedback",
    }
)
"""POSTs that are documented to need no Idempotency-Key: as in the seeds, or because nothing is done twice by them."""
MEMBERS_MAX: Final = 60_000
"""Members and elements of a body in all; the longest inline evidence, a list of digits, has fewer."""
CALL: Final = "earnest.call"
"""Under which a request's scope holds its call."""
_KEY: Final = re.compile(r"[\x21-\x7e]{1,255}")
_NO_BODY: Final = object()
_WITHOUT_BODY: Final = frozenset({"GET", "HEAD"})


@dataclass(slots=True, kw_only=True)
class Call:
    """One request. `caller` is what the key proved; None: no key was shown. `url` is the platform's own address."""

    market: Market
    authenticator: Authenticator
    url: str
    caller: Caller | None
    request_id: str
    method: str
    path: str
    headers: Headers
    address: str = ""
    """Where it came from."""
    query: str = ""
    notary: Notary | None = None
    """What signs checkpoints and receipts; None: the platform has no key."""
    session: str = ""
    """The cookie that proved it, where one did."""
    wrong_key: Refused | None = None
    """Why what was shown proves nothing. An address that is not there, or takes another method, says so first."""
    named: Mapping[str, str] = field(default_factory=dict)
    """What the path names, by the words of its template."""
    route: str = ""
    """The path's template; empty where no route takes it."""
    body: object = _NO_BODY
    """The JSON value that was sent."""

    @property
    def hashing(self) -> KeyedHash:
        """What new keys are kept by."""
        return self.authenticator.hashing

    @property
    def me(self) -> Caller:
        """Who asks. Raises `Refused`: `missing_key`, and why what was shown is no key."""
        if self.wrong_key is not None:
            raise self.wrong_key
        if self.caller is None:
            raise Refused("missing_key", "this needs a key: send it as `Authorization: Bearer …`")
        return self.caller

    async def perform(
        self,
        act: Act | None = None,
        *,
        status: int = 200,
        prepare: Callable[[], Awaitable[Prepared]] | None = None,
        optional: bool = False,
    ) -> Response:
        """Have the desk do it once, and answer with its body.

        A POST needs an Idempotency-Key unless it is `optional`, here or in `KEY_OPTIONAL`; others may have one.
        Raises `Refused`, as the desk does, and `idempotency_key_required`.
        """
        ahead = [Sought(LOOKUPS[word], (key,)) for word, key in self.named.items() if word in LOOKUPS]
        is_optional = optional or self.method != "POST" or self.route.removeprefix(API) in KEY_OPTIONAL
        keyed = self._keyed(needed=not is_optional)
        answer = await self.market.desk.perform(
            self.caller, act, keyed=keyed, prepare=prepare, status=status, ahead=ahead
        )
        response = self._refusal(answer) if answer.refusal else rendered(answer.text or answer.body, answer.status)
        if answer.replayed:
            response.headers["Idempotency-Replayed"] = "true"
        return response

    def check_key(self, *, needed: bool = False) -> str:
        """The Idempotency-Key; empty where there is none. Raises `Refused("idempotency_key_required")`."""
        given = self.headers.getlist(KEY_HEADER)
        if not given and not needed:
            return ""
        if not given:
            raise Refused("idempotency_key_required", "send a header Idempotency-Key, the same on every retry")
        if len(given) > 1 or not _KEY.fullmatch(given[0]):
            raise Refused("idempotency_key_required", "an Idempotency-Key is 1 to 255 visible ASCII characters, once")
        return given[0]

    async def read(self, fn: Callable[[BooksReader], Members], *, etag: str = "") -> Response:
        """Answer with what `fn` reads by index, at one moment.

        `etag` is the tag of what it will read, in its quotation marks; where the caller has that already, `fn` is not
        asked.
        """
        if etag and is_known(self.headers.get("if-none-match"), etag):
            return Response(status_code=304, headers={"ETag": etag})
        body = await self.market.desk.database.ask(fn)
        return rendered(body, headers={"ETag": etag} if etag else None)

    def refused(self, refused: Refused) -> Response:
        """The problem that a refusal is."""
        return self.problem(refused.code, str(refused), refused.details)

    def problem(self, code: str, detail: str, details: JsonObject | None = None) -> Response:
        """An answer that says no."""
        given = dict(details or {})
        return problem(code, detail, self.request_id, quote(self.path), given, headers=headers_of(code, given))

    def _refusal(self, answer: StoryResponse) -> Response:
        details: dict[str, Any] = {name: value for name, value in answer.body.items() if name not in {"code", "detail"}}
        return self.problem(answer.refusal, str(answer.body.get("detail", "")), details)

    def _keyed(self, *, needed: bool) -> Keyed | None:
        if not (given := self.check_key(needed=needed)):
            return None
        actor = f"{self.caller.account.id} {self.caller.scope}" if self.caller else self.address
        fingerprint = hashlib.sha256(f"{self.method} {self.path}?{self.query}\n".encode())
        if self.body is not _NO_BODY:
            fingerprint.update(canonical(self.body))
        return keyed_by(actor, f"{self.method} {self.route}", given, fingerprint.hexdigest())


def rendered(body: Members | str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer in canonical form, which a text has already."""
    content = body if isinstance(body, str) else canonical_bytes(body)
    return Response(content, status, dict(headers or {}), "application/json")


def canonical(value: Any) -> bytes:
    """The canonical form of a body. Raises `Refused("malformed_json")` where it has none: an integer beyond 2^53."""
    try:
        return canonical_bytes(value)
    except ValueError as error:
        raise Refused("malformed_json", f"the body has no canonical form: {error}") from None


def headers_of(code: str, details: Mapping[str, JsonValue]) -> dict[str, str]:
    """The headers that a problem of this code has beside it."""
    if code in {"missing_key", "unknown_key", "expired_key"}:
        return {"WWW-Authenticate": "Bearer"}
    if code == "idempotency_in_progress":
        return {"Retry-After": "1"}
    wait_s = details.get("retry_after_s")
    return {"Retry-After": str(wait_s)} if wait_s is not None else {}


def is_known(if_none_match: str | None, etag: str) -> bool:
    """True where If-None-Match names `etag`, by weak comparison (RFC 9110 §8.8.3.2)."""
    if not if_none_match:
        return False
    wanted = etag.removeprefix("W/")
    return any(tag.strip().removeprefix("W/") in {wanted, "*"} for tag in if_none_match.split(","))


def called(scope: Scope) -> Call:
    """The call of a request, for an ASGI endpoint that is no route of FastAPI."""
    found: Call = scope[CALL]
    return found


async def any_call(request: Request) -> Call:
    """A call by anybody, but with no wrong key.

    Raises `Refused`: why a key is none, `malformed_json`, `unsupported_media`, `unknown_field`.
    """
    return await _taken(request, needs_key=False)


class _WithKey(SecurityBase):
    """A call that needs a key; documented as such."""

    def __init__(self, *, is_raw: bool) -> None:
        self.model = BearerModel(description="`Authorization: Bearer ern_<scope>_…`")
        self.scheme_name = "key"
        self._is_raw = is_raw

    async def __call__(self, request: Request) -> Call:
        return await _taken(request, needs_key=True, is_raw=self._is_raw)


async def _taken(request: Request, *, needs_key: bool, is_raw: bool = False) -> Call:
    call: Call = request.scope[CALL]
    route = request.scope["route"]
    call.route, call.named = route.path, request.path_params
    if call.wrong_key is not None or (needs_key and call.caller is None):
        _ = call.me
    if call.query:
        _check_query(request, route)
    if not is_raw and call.method not in _WITHOUT_BODY and (raw := await request.body()):
        call.body = _json(call, raw)
        if route.body_field is None and call.body != {}:
            raise Refused("unknown_field", "nothing is said in a body here", errors=[_fault("", "unknown_field")])
    return call


AnyCall = Annotated[Call, Depends(any_call)]
MyCall = Annotated[Call, Depends(_WithKey(is_raw=False))]
RawCall = Annotated[Call, Depends(_WithKey(is_raw=True))]


def _json(call: Call, raw: bytes) -> JsonValue:
    media_type = call.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise Refused("unsupported_media", "a body is sent as application/json")
    try:
        check_members(raw, MEMBERS_MAX)
        return strict_json(raw, is_exact=True)
    except NotStrictJson as error:
        raise Refused("malformed_json", f"the body is not strict JSON: {error}") from None


def _check_query(request: Request, route: APIRoute) -> None:
    names = [name for name, _ in request.query_params.multi_items()]
    known = {field.alias for field in get_flat_params(route.dependant) if isinstance(field.field_info, Query)}
    strange = sorted(set(names) - known)
    if strange:
        errors = [_fault(f"#/query/{name[:80]}", "unknown_field") for name in strange[:20]]
        raise Refused("unknown_field", f"{json.dumps(strange[0][:80])} is no parameter of this", errors=errors)
    if len(set(names)) < len(names):
        [(twice, _)] = Counter(names).most_common(1)
        errors = [{"pointer": f"#/query/{twice}", "code": "validation", "detail": "given twice"}]
        raise Refused("validation", f"{twice} is given twice", errors=errors)


def _fault(pointer: str, code: str) -> dict[str, JsonValue]:
    return {"pointer": pointer, "code": code, "detail": "unknown"}
