"""Ann, who has work done, Bob, who does it, and Eve, who is no part of it; Olga operates."""

from dataclasses import dataclass, field
from typing import Any

import httpx2

from earnest.runtime.market.clocks import TIMETABLE
from earnest.runtime.market.judging import Judging
from earnest.runtime.timers import Timers
from surfaces.web.conftest import URL, Site
from surfaces.web.jobs import RIGHT, fund, job_body

from .operations import NOBODYS, ULID

CAPABILITY = f"cap_{ULID}"
NOT_BOOKS = ("replies", "touches", "facts", "log_", "sqlite_", "schema_version")


@dataclass
class People:
    """Who is there, by handle: each with keys `reg`, `live` and `hb`. `ids`: what is theirs, by its name in paths."""

    site: Site
    olga: str
    keys: dict[str, dict[str, Any]] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)

    async def ask(self, who: str, method: str, path: str, body: Any = None, **given: Any) -> httpx2.Response:
        """One request; `who` is a handle, with another key than the live one as `bob.hb`; `olga`; or nobody."""
        handle, _, scope = who.partition(".")
        key = self.olga if who == "olga" else self.keys[handle][scope or "live"] if who else ""
        if body is not None:
            given["json"] = body
        return await self.site.ask(method, path, key=key, **given)

    async def ok(self, who: str, method: str, path: str, body: Any = None, **given: Any) -> Any:
        """The same, and what it answers."""
        answer = await self.ask(who, method, path, body, **given)
        assert answer.is_success, f"{method} {path}: {answer.text}"
        return answer.json()

    async def code(self, who: str, method: str, path: str, body: Any = None, **given: Any) -> str:
        """The code by which it is refused."""
        answer = await self.ask(who, method, path, body, **given)
        assert answer.is_client_error, f"{method} {path}: {answer.status_code} {answer.text}"
        return str(answer.json()["code"])

    async def claimed(self, **changes: Any) -> tuple[str, str]:
        """A job of Ann's that Bob has claimed."""
        job = await self.ok("ann", "POST", "/jobs", job_body(**{"acceptance": "buyer", **changes}))
        claim = await self.ok("bob", "POST", f"/jobs/{job['job_id']}/claim")
        return job["job_id"], claim["claim_id"]

    async def submitted(self, **changes: Any) -> tuple[str, str]:
        """The same, and Bob has handed in what is right."""
        job_id, claim_id = await self.claimed(**changes)
        await self.ok("bob", "POST", f"/claims/{claim_id}/evidence", RIGHT)
        return job_id, claim_id

    async def judged(self) -> None:
        """All that waits for a verdict has it."""
        await Judging(self.site.market).drain()

    async def ticked(self, milliseconds: int = 0) -> None:
        """So much time has gone by, and the clock has looked at everything."""
        await self.site.clock.advance_ms(milliseconds)
        failures: list[str] = []
        market = self.site.market
        await Timers(market.desk, market.terms, TIMETABLE, failures.append).look()
        assert failures == []

    def books(self) -> dict[str, list[tuple[object, ...]]]:
        """Every row of every table, the answers that are kept left out."""

        def read(reader: Any) -> dict[str, list[tuple[object, ...]]]:
            names = [str(name) for (name,) in reader.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return {
                name: sorted(map(tuple, reader.execute(f"SELECT * FROM {name}").fetchall()), key=repr)
                for name in names
                if not name.startswith(NOT_BOOKS)
            }

        found: dict[str, list[tuple[object, ...]]] = self.site.market.desk.database.read_sync(read)
        return found


async def gathered(site: Site) -> People:
    """Everybody, with money; nothing has happened yet."""
    people = People(site=site, olga=await site.operator())
    for handle in ("ann", "bob", "eve"):
        people.keys[handle] = await site.agent(handle, people.olga)
        await fund(site, people.olga, people.keys[handle]["live"])
    return people


async def with_belongings(people: People) -> People:
    """One of everything that Ann and Bob have, and Eve has no part in."""
    ids, bob = people.ids, people.keys["bob"]["id"]
    ids |= {"account_id": bob, "handle": "bob", "capability_id": CAPABILITY}
    ids |= {name: NOBODYS[name] for name in ("date", "question_id", "run_id")}
    form = {"category": "data-analysis", "availability": {"max_concurrent": 10}}
    await people.ok("bob", "PUT", f"/agents/me/capabilities/{CAPABILITY}", form)
    ids["trial_id"] = (await people.ok("bob", "POST", "/agents/me/trials", {"capability_id": CAPABILITY}))["id"]
    ids["key_id"] = (await people.ok("bob", "GET", "/agents/me/keys"))["data"][0]["key_id"]
    ids["session_id"] = (await people.ok("olga", "GET", "/operator/sessions"))["data"][0]["session_id"]
    _, done = await people.submitted()
    await people.ok("ann", "POST", f"/claims/{done}/accept")
    reviews = [
        await people.ok(who, "POST", f"/claims/{done}/reviews", {"rating": 4, "text": "fine"}) for who in ("ann", "bob")
    ]
    ids["review_id"] = reviews[0]["review_id"]
    ids["job_id"], ids["claim_id"] = await people.claimed()
    ids["sha256"] = (await people.ok("bob", "POST", "/artifacts", content=b'{"sum": 42}'))["sha256"]
    item = {"requirement_id": "answer", "kind": "json", "sha256": ids["sha256"]}
    await people.ok("bob", "POST", f"/claims/{ids['claim_id']}/evidence", {"items": [item]})
    await people.judged()
    raised = await people.ok("bob", "POST", f"/claims/{ids['claim_id']}/disputes", {"reason": "she is silent"})
    ids["dispute_id"] = raised["dispute_id"]
    contract = {"contract": "## Tasks\n- [ ] call | Call grandmother | required | verify: human"}
    ids["heartbeat_id"] = (await people.ok("bob", "POST", "/agents/me/heartbeats", contract))["heartbeat_id"]
    account = f"/operator/accounts/{bob}"
    await people.ok("olga", "POST", f"{account}/destination", {"rail": "manual", "address": "IBAN 12"})
    await people.ok("olga", "POST", f"{account}/enable-payouts", {"reason": "known"})
    money = {"currency": "USD", "amount_micro": 2_000_000}
    ids["payout_id"] = (await people.ok("bob", "POST", "/payouts", money))["payout_id"]
    asked = await people.ok("bob", "POST", "/deposits", {**money, "reference": "transfer 17"})
    ids["deposit_id"] = asked["deposit_id"]
    return people


def whole(path: str) -> str:
    """An address of the platform, for a path that stands at its root."""
    return URL + path
