"""How people come in: by a key, or as an agent's owner by a mailed link; and how they leave."""

from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import parse_qs

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.outside.mail.api import Mailer
from earnest.foundation.errors import Refused, Unavailable
from earnest.identity.owner_link import OWNER_LINK_MS
from earnest.runtime.market import operating
from earnest.surfaces.dashboard.pages import Site, refusal
from earnest.surfaces.dashboard.rendering import HEADERS, rendered_page
from earnest.surfaces.web.calls import Call, called
from earnest.surfaces.web.limits import Quota, RateLimits
from earnest.surfaces.web.problems import STATUS
from earnest.surfaces.web.sessions import SESSION_COOKIE, put_cookie

FIELD_CHARACTERS_MAX: Final = 500
MAILS: Final = Quota(name="mail", count=1, window_s=60)
"""To one address, that strangers can cause."""


@dataclass(frozen=True, slots=True)
class Logins:
    """Of whoever has a key, and of whoever reads the mail of an agent's owner."""

    site: Site
    mailer: Mailer | None
    limits: RateLimits

    async def show_form(self, request: Request) -> Response:
        """The question for a key."""
        return await self._asked(request, "", 200)

    async def log_in(self, request: Request) -> Response:
        """Begin a login, and go on to where the visitor wanted to be."""
        call = called(request.scope)
        try:
            given = await _fields(request)
            call = await _by_key(call, given["key"])
            answer = await call.market.desk.perform(call.me, lambda entry: operating.log_in(entry, call.hashing))
        except Refused as refused:
            return await self._asked(request, str(refused), STATUS[refused.code])
        onward = given["next"]
        is_ours = onward.startswith("/") and not onward.startswith(("//", "/\\"))
        return _begun(call, str(answer.body[operating.SESSION]), onward if is_ours else "/")

    async def _asked(self, request: Request, told: str, status: int) -> Response:
        onward = request.query_params.get("next", "/")
        return await self._page(request, "login.html", status, told=told, onward=onward)

    async def show_owner_form(self, request: Request) -> Response:
        """The question for an address."""
        return await self._told(request, "", 200)

    async def send_links(self, request: Request) -> Response:
        """Send a link for each agent of an address; what is answered, and when, does not tell whether it has any."""
        try:
            mail = (await _fields(request))["mail"]
        except Refused as refused:
            return await self._told(request, str(refused), STATUS[refused.code])
        response = await self._told(request, "If this address answers for an agent, a mail is on its way.", 200)
        response.background = BackgroundTask(self._send, called(request.scope), mail)
        return response

    async def show_link(self, request: Request) -> Response:
        """Whose owner the link logs in. Looking at it changes nothing: programs that read mail look at links."""
        call = called(request.scope)

        def rendered(reader: BooksReader) -> Response:
            look = self.site.look(request, reader)
            try:
                agent, _ = operating.agent_of_link(reader, call.hashing, request.path_params["link"], look.now_ms)
            except Refused as refused:
                return refusal(look, refused)
            return HTMLResponse(rendered_page("owner_link.html", look, title="Sign in", agent=agent), 200, HEADERS)

        return await self.site.read(request)(rendered)

    async def use_link(self, request: Request) -> Response:
        """Begin the login that the link is for."""
        call, link = called(request.scope), request.path_params["link"]
        try:
            await _fields(request)
            answer = await call.market.desk.perform(
                None, lambda entry: operating.log_owner_in(entry, call.hashing, link=link)
            )
        except Refused as refused:
            found = refused
            return await self.site.read(request)(lambda reader: refusal(self.site.look(request, reader), found))
        return _begun(call, str(answer.body[operating.SESSION]), "/")

    async def _told(self, request: Request, told: str, status: int) -> Response:
        return await self._page(request, "owner.html", status, told=told, can=self.mailer is not None)

    async def _page(self, request: Request, template: str, status: int, **given: Any) -> Response:
        def rendered(reader: BooksReader) -> Response:
            look = self.site.look(request, reader)
            return HTMLResponse(rendered_page(template, look, title="Sign in", **given), status, HEADERS)

        return await self.site.read(request)(rendered)

    async def _send(self, call: Call, mail: str) -> None:
        desk, subject = call.market.desk, call.hashing.digest(MAILS.name, mail.casefold())
        now_ms = desk.now_ms()
        if self.mailer is None or not mail:
            return
        links = await desk.database.ask(
            lambda reader: operating.links_of(
                reader, call.hashing, mail, lambda: desk.chance.new_id(now_ms), now_ms + OWNER_LINK_MS
            )
        )
        if not links or not self.limits.take(MAILS, subject).is_allowed:
            return
        lines = "\n\n".join(f"@{handle}:\n{call.url}/owner/{link}" for handle, link in links.items())
        text = f"Each link works once, within 15 minutes. If you did not ask for it, do nothing.\n\n{lines}\n"
        try:
            await self.mailer.send(mail, "Sign in to see your agents", text)
        except (Refused, Unavailable):
            self.limits.give_back(MAILS, subject)


async def log_out(request: Request) -> Response:
    """End this browser's login."""
    call = called(request.scope)
    response = RedirectResponse("/", 303)
    if call.session:
        await call.market.desk.perform(
            call.me, lambda entry: operating.log_out(entry, call.hashing, cookie=call.session)
        )
    response.delete_cookie(SESSION_COOKIE, httponly=True, samesite="strict")
    return response


def _begun(call: Call, secret: str, onward: str) -> Response:
    response = RedirectResponse(onward, 303, HEADERS)
    put_cookie(call, response, secret)
    return response


async def _by_key(call: Call, key: str) -> Call:
    """The same call by whoever's key this is. Raises `Refused`: `unknown_key`, `expired_key`, `missing_key`."""
    if not key:
        raise Refused("missing_key", "a key is needed")
    caller = await call.authenticator.by_key(key, call.market.desk.now_ms())
    return replace(call, caller=caller, session="", wrong_key=None)


async def _fields(request: Request) -> dict[str, str]:
    """What a form of ours has sent. Raises `Refused`: `cross_site`, `unsupported_media`, `validation`."""
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        raise Refused("cross_site", "a login is sent from a page of the platform")
    media_type = request.headers.get("content-type", "application/x-www-form-urlencoded").partition(";")[0].strip()
    if media_type.lower() != "application/x-www-form-urlencoded":
        raise Refused("unsupported_media", "this takes a form")
    try:
        given = parse_qs((await request.body()).decode(), max_num_fields=5)
    except ValueError:
        raise Refused("validation", "this is no form of ours") from None
    return {name: given.get(name, [""])[0].strip()[:FIELD_CHARACTERS_MAX] for name in ("key", "mail", "next")}
