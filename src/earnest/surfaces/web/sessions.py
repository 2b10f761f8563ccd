"""An operator's login in a browser: one cookie."""

from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.responses import Response

from earnest.foundation.canonical import Members
from earnest.identity.key import SESSION_MS
from earnest.runtime.market.operating import SESSION
from earnest.surfaces.web.calls import Call, rendered

SESSION_COOKIE: Final = "earnest_session"


def logged_in(call: Call, body: Members) -> Response:
    """The answer to a login, whose secret goes into a cookie and nowhere else."""
    response = rendered({name: value for name, value in body.items() if name != SESSION})
    put_cookie(call, response, str(body[SESSION]))
    return response


def put_cookie(call: Call, response: Response, secret: str) -> None:
    """A cookie that no script reads and no other site sends; beyond this machine only TLS carries it."""
    is_secure = not is_loopback(urlsplit(call.url).hostname or "")
    response.set_cookie(
        SESSION_COOKIE, secret, max_age=SESSION_MS // 1000, httponly=True, samesite="strict", secure=is_secure
    )


def is_loopback(host: str) -> bool:
    """True for an address that only this machine reaches."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def logged_out(response: Response) -> Response:
    """The answer to the end of a login."""
    response.delete_cookie(SESSION_COOKIE, httponly=True, samesite="strict")
    return response
