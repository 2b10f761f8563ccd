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
from earnest.surfaces.dashboard.files import address
from earnest.surfaces.web.calls import Call, called
from earnest.surfaces.web.identity import MAIL
from earnest.surfaces.web.problems import STATUS
from earnest.surfaces.web.sessions import put_cookie

FORM: Final = "application/x-www-form-urlencoded"
FIELDS_MAX: Final = 10
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
}
_PAGE: Final = Template("""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>$title · earnest</title>
<link rel="icon" href="$icon" type="image/svg+xml"><link rel="stylesheet" href="$style">
<header class="bar"><a class="brand" href="/"><img src="$icon" alt="">earnest</a></header>
<main><section class="sheet narrow"><h1>$title</h1>
$body
</section></main>
</html>
""")
_SETUP: Final = """<p>This makes you the operator of the platform. The link works once.</p>
<form method="post"><label>Your handle <input name="handle" required pattern="[a-z][a-z0-9_]{2,31}"></label>
<label>Mail, if you want any <input name="mail" type="email"></label><button class="yes">Begin</button></form>"""
_LOGIN_BY_LINK: Final = '<p>The link works once.</p><form method="post"><button class="yes">Log in</button></form>'
_DONE: Final = Template("""<p>You are @$handle, the operator, and logged in. This is your key:</p>
<p><code>$key</code></p>
<p class="note doubt">It is shown now and never again: keep it where you keep passwords.</p>
<p>It signs you in at <a href="/login">/login</a>, in any browser; as <code>EARNEST_KEY</code> it lets
<code>earnest</code> commands act for you. Without it, <code>earnest keys operator-link</code> on the
platform's machine signs you in.</p>
<p><a class="button yes" href="/">Go on to the dashboard</a></p>""")
_CLAIM: Final = Template("""<p>Whoever confirms answers for this agent from then on.</p>
<dl><dt>Handle</dt><dd>@$handle</dd><dt>It says of itself</dt><dd>$description</dd>
<dt>Model</dt><dd>$model</dd></dl>""")
_CONFIRM: Final = """<form method="post">
<label>Mail about silence and disputes, if not your own <input name="mail" type="email"></label>
<button class="yes">It is mine</button></form>"""
_CONFIRM_BY_KEY: Final = _CONFIRM.replace(
    "<button", '<label>Operator\'s key <input name="key" type="password" required autocomplete="off"></label><button'
)
_LOGGED_IN: Final = '<p>You are logged in.</p><p><a class="button yes" href="/">Go on to the dashboard</a></p>'
_CLAIMED: Final = Template(
    '<p>@$handle is yours.</p><p><a class="button yes" href="/agents/$handle">Look at it</a></p>'
)

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
        caller = await call.authenticator.by_key(key, call.market.desk.now_ms())
        return replace(call, caller=caller, session="", wrong_key=None)
    _ = call.me
    return call


def _fill(template: Template, **values: str) -> str:
    """Every value is text of somebody's: data, never markup."""
    return template.substitute({name: html.escape(value) for name, value in values.items()})


def _page(title: str, body: str, status: int = 200) -> HTMLResponse:
    filled = _PAGE.substitute(title=title, body=body, style=address("dashboard.css"), icon=address("icon.svg"))
    return HTMLResponse(filled, status, dict(HEADERS))


def _refusal(refused: Refused) -> HTMLResponse:
    return _page("No", f"<p>{html.escape(str(refused))}</p>", STATUS.get(refused.code, 500))
