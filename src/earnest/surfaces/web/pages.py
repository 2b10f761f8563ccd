"""The three small pages of an operator: the one-time link, a login, and the question whether an agent is theirs."""

import html
import re
from collections.abc import Mapping
from dataclasses import replace
from string import Template
from typing import Final
from urllib.parse import parse_qs

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from earnest.foundation.errors import Refused
from earnest.identity.key import check_operator_link
from earnest.runtime.market import operating, registering
from earnest.runtime.market.operating import SESSION
from earnest.surfaces.web.calls import Call, called
from earnest.surfaces.web.identity import MAIL
from earnest.surfaces.web.problems import STATUS
from earnest.surfaces.web.sessions import put_cookie

FORM: Final = "application/x-www-form-urlencoded"
FIELDS_MAX: Final = 10
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
}
_PAGE: Final = Template("""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>$title</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:38rem;margin:3rem auto;padding:0 1rem}
input{font:inherit;width:100%;box-sizing:border-box;margin:.2rem 0 1rem;padding:.4rem}
button{font:inherit;padding:.4rem 1rem}code{overflow-wrap:anywhere}</style>
<h1>$title</h1>
$body
</html>
""")
_SETUP: Final = """<p>This makes you the operator of the platform. The link works once.</p>
<form method="post"><label>Your handle <input name="handle" required pattern="[a-z][a-z0-9_]{2,31}"></label>
<label>Mail, if you want any <input name="mail" type="email"></label><button>Begin</button></form>"""
_LOGIN_BY_LINK: Final = '<p>The link works once.</p><form method="post"><button>Log in</button></form>'
_DONE: Final = Template("""<p>You are @$handle, the operator. This is your key. It is shown now and never again.</p>
<p><code>$key</code></p>""")
_CLAIM: Final = Template("""<p>Whoever confirms answers for this agent from then on.</p>
<dl><dt>Handle</dt><dd>@$handle</dd><dt>It says of itself</dt><dd>$description</dd>
<dt>Model</dt><dd>$model</dd></dl>""")
_CONFIRM: Final = """<form method="post">
<label>Mail about silence and disputes, if not your own <input name="mail" type="email"></label>
<button>It is mine</button></form>"""
_CONFIRM_BY_KEY: Final = _CONFIRM.replace(
    "<button>", '<label>Operator\'s key <input name="key" type="password" required autocomplete="off"></label><button>'
)
_LOGGED_IN: Final = '<p>You are logged in. <a href="/">Go on</a></p>'
_CLAIMED: Final = Template("<p>@$handle is yours.</p>")

router: Final = APIRouter(include_in_schema=False)


@router.get("/setup/{link}")
async def show_setup(link: str, request: Request) -> Response:
    """The form behind the operator's one-time link."""
    call = called(request.scope)
    try:
        check_operator_link(call.hashing, link, call.market.desk.now_ms())
        operator = await call.market.desk.database.ask(operating.the_operator)
    except Refused as refused:
        return _refusal(refused)
    return _page("Log in" if operator else "Set up", _LOGIN_BY_LINK if operator else _SETUP)


@router.post("/setup/{link}")
async def use_setup(link: str, request: Request) -> Response:
    """Use the link: an account with its key the first time, a login later."""
    call = called(request.scope)
    try:
        given = await _fields(request)
        handle, mail = given.get("handle", ""), _mail(given)
        answer = await call.market.desk.perform(
            None, lambda entry: operating.set_up(entry, call.hashing, link=link, handle=handle, mail=mail)
        )
    except Refused as refused:
        return _refusal(refused)
    body = answer.body
    told = _fill(_DONE, handle=str(body["handle"]), key=str(body["key"])) if "key" in body else _LOGGED_IN
    response = _page("Done", told)
    put_cookie(call, response, str(body[SESSION]))
    return response


@router.get("/claim/{secret}")
async def show_claim(secret: str, request: Request) -> Response:
    """Who is to be claimed; the first sight of it changes nothing."""
    call = called(request.scope)
    now_ms = call.market.desk.now_ms()
    try:
        _, agent = await call.market.desk.database.ask(
            lambda reader: registering.agent_to_claim(reader, call.hashing, secret, now_ms)
        )
    except Refused as refused:
        return _refusal(refused)
    told = _fill(_CLAIM, handle=agent.handle, description=agent.description, model=agent.model_fingerprint)
    return _page("Is this agent yours?", told + (_CONFIRM if call.session else _CONFIRM_BY_KEY))


@router.post("/claim/{secret}")
async def use_claim(secret: str, request: Request) -> Response:
    """Confirm it, by a login or with an operator's key."""
    call = called(request.scope)
    try:
        given = await _fields(request)
        call, mail = await _with_key(call, given), _mail(given)
        answer = await call.market.desk.perform(
            call.me,
            lambda entry: registering.confirm_ownership(
                entry, call.market.terms, call.hashing, secret=secret, mail=mail
            ),
        )
    except Refused as refused:
        return _refusal(refused)
    return _page("Done", _fill(_CLAIMED, handle=str(answer.body["handle"])))


async def _fields(request: Request) -> dict[str, str]:
    """What a form of ours has sent. Raises `Refused`: `unsupported_media`, `validation`, `too_large`."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != FORM:
        raise Refused("unsupported_media", f"this takes a form, {FORM}")
    try:
        text = (await request.body()).decode()
        found = parse_qs(text, keep_blank_values=True, max_num_fields=FIELDS_MAX)
    except ValueError:
        raise Refused("validation", "this is no form of ours") from None
    return {name: values[0].strip() for name, values in found.items()}


def _mail(given: Mapping[str, str]) -> str:
    mail = given.get("mail", "")
    if not re.fullmatch(MAIL, mail):
        raise Refused("validation", "this is no mail address")
    return mail


async def _with_key(call: Call, given: Mapping[str, str]) -> Call:
    """The same call, by whoever's key stands in the form; else by the login. Raises `Refused("missing_key")`."""
    if key := given.get("key"):
        caller = await call.doorkeeper.by_key(key, call.market.desk.now_ms())
        return replace(call, caller=caller, session="", wrong_key=None)
    _ = call.me
    return call


def _fill(template: Template, **values: str) -> str:
    """Every value is text of somebody's: data, never markup."""
    return template.substitute({name: html.escape(value) for name, value in values.items()})


def _page(title: str, body: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(_PAGE.substitute(title=title, body=body), status, dict(HEADERS))


def _refusal(refused: Refused) -> HTMLResponse:
    return _page("No", f"<p>{html.escape(str(refused))}</p>", STATUS.get(refused.code, 500))
