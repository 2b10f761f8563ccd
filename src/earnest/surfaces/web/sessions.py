"""How does a browser hold an operator's login?"""

from typing import Final

from starlette.responses import Response

from earnest.foundation.canonical import JsonObject
from earnest.identity.key import SESSION_MS
from earnest.runtime.market.operating import SESSION
from earnest.surfaces.web.calls import Call, rendered

SESSION_COOKIE: Final = "earnest_session"


def logged_in(call: Call, body: JsonObject) -> Response:
    """The answer to a login, whose secret goes into a cookie and nowhere else."""
    response = rendered({name: value for name, value in body.items() if name != SESSION})
    put_cookie(response, str(body[SESSION]), is_secure=call.url.startswith("https://"))
    return response


def put_cookie(response: Response, secret: str, *, is_secure: bool) -> None:
    """A cookie that no script reads and no other site sends."""
    response.set_cookie(
        SESSION_COOKIE, secret, max_age=SESSION_MS // 1000, httponly=True, samesite="strict", secure=is_secure
    )


def logged_out(response: Response) -> Response:
    """The answer to the end of a login."""
    response.delete_cookie(SESSION_COOKIE, httponly=True, samesite="strict")
    return response
