"""A platform on which much has happened: two owners, hostile texts, a lie, a dispute, work that waits for people."""

from dataclasses import dataclass, replace
from typing import Any

import httpx2

from earnest.foundation.canonical import JsonObject
from earnest.identity.service import ACCOUNTS
from earnest.runtime.accountability.judging import HeartbeatJudging
from earnest.runtime.desk import StoryContext
from earnest.runtime.market.judging import Judging
from earnest.runtime.market.money import open_treasury
from earnest.runtime.market.periods import open_first_period
from surfaces.web.conftest import Site
from surfaces.web.jobs import fund, job_body

MARKUP = "<script>window.pwned=1</script><img src=x onerror=window.pwned=1>\"'&{{7*7}}"
WORLD = "汇总报告 ✅ تقرير العقد 🤝 Überprüfung"
SECRET = "a reply that is zed's alone"
DAY_MS = 86_400_000
CONTRACT = f"""# Heartbeat

## Tasks

- [ ] call | Call grandmother {MARKUP.replace("|", "")} | required | verify: human
- [ ] tidy | {WORLD} | required | verify: human
"""
PLAIN_CONTRACT = """# Heartbeat

## Tasks

- [ ] call | Call the supplier about late deliveries | required | verify: human
- [ ] tidy | File the reports of the week | required | verify: human
"""
EASIER = """# Heartbeat

## Tasks

- [ ] call | Call the supplier | optional | verify: human
"""


@dataclass(frozen=True, kw_only=True)
class Town:
    """Keys by handle, and ids of what there is."""

    operator: str
    auditor: str
    agents: dict[str, dict[str, Any]]
    verified: str
    waiting: str
    disputed: str
    rejected: str
    dispute: str
    open_job: str
    thread: str


async def ok(answer: httpx2.Response) -> Any:
    assert answer.status_code in {200, 201}, answer.text
    return answer.json()


async def fill(site: Site) -> Town:
    """All of it, through the API."""
    await site.market.desk.tick(lambda entry: open_treasury(entry, site.market.terms))
    await site.market.desk.tick(open_first_period)
    operator = await site.operator()
    aud = await ok(await site.ask("POST", "/operator/keys", key=operator, json={"scope": "aud", "handle": "arthur"}))
    agents = {handle: await _agent(site, handle, operator) for handle in ("maya_r", "noor", "zed", "bruno")}
    await fund(site, operator, agents["noor"]["live"], 500_000_000)
    texts = {"title": f"Add up {WORLD}", "text": f"Write answer.json with the sum. {MARKUP}"}
    verified = await worked(site, agents, 42, title=f"Sum {MARKUP}"[:100])
    disputed = await worked(site, agents, 41, **texts, acceptance="buyer")
    waiting = await worked(
        site, agents, 42, "bruno", title=f"Judge me {MARKUP}", acceptance="human", criteria=_by_a_person()
    )
    rejected = await worked(
        site, agents, 41, "bruno", title=f"Add up once more {MARKUP}"[:100], currency="AID", max_revisions=0
    )
    await ok(await site.ask("POST", f"/claims/{rejected}/concede", key=agents["bruno"]["live"]))
    plea = {"reason": f"It is 42 where I come from. {WORLD} {MARKUP}", "criteria": ["C1"]}
    await fund(site, operator, agents["maya_r"]["live"], 20_000_000)
    case = await ok(await site.ask("POST", f"/claims/{disputed}/disputes", key=agents["maya_r"]["live"], json=plea))
    asked = {"currency": "USD", "amount_micro": 7_000_000, "reference": f"transfer 4711 {MARKUP}"}
    await ok(await site.ask("POST", "/deposits", key=agents["noor"]["live"], json=asked))
    opened = await ok(await site.ask("POST", "/jobs", key=agents["noor"]["live"], json=job_body(**texts)))
    path = "/operator/agents/maya_r/contract"
    assert (await site.ask("PUT", path, key=operator, json={"contract": CONTRACT})).status_code == 200
    for verdict in ("verified", "verified", "not_verified"):
        await _beat(site, agents["maya_r"], CONTRACT, f"I called her. {MARKUP} {WORLD}")
        await _decide(site, operator, verdict)
        await site.clock.advance_ms(DAY_MS)
    await _beat(site, agents["zed"], CONTRACT, SECRET)
    await _beat(site, agents["maya_r"], EASIER, f"I called her. {MARKUP} {WORLD}")
    thread = await _lived(site, agents)
    return Town(
        operator=operator,
        auditor=aud["key"],
        agents=agents,
        verified=verified,
        waiting=waiting,
        disputed=disputed,
        rejected=rejected,
        dispute=case["dispute_id"],
        open_job=opened["job_id"],
        thread=thread,
    )


async def _lived(site: Site, agents: dict[str, dict[str, Any]]) -> str:
    """Agents who went somewhere, talked, and posted; the thread."""

    async def did(handle: str, path: str, **what: Any) -> Any:
        return await ok(await site.ask("POST", f"/world/{path}", key=agents[handle]["live"], json=what))

    for handle in ("maya_r", "noor", "zed"):
        await did(handle, "move", place="cafe", why=MARKUP)
    await site.clock.advance_ms(60_000)
    await did("bruno", "move", place="market")
    await did("maya_r", "chat", text=f"Who sums up faster than I do? {WORLD} {MARKUP}")
    await did("noor", "chat", text="Nobody that I know of.", reach="far")
    thread = await did("noor", "board", title=f"Wanted: sums {WORLD} {MARKUP}"[:120], text=f"Good pay. {MARKUP}")
    await did("maya_r", "board", thread_id=thread["thread_id"], text=f"I can. {WORLD}")
    return str(thread["thread_id"])


def _by_a_person() -> list[dict[str, Any]]:
    return [{"id": "C1", "text": f"it reads well {MARKUP}", "check": {"kind": "human"}}]


async def _agent(site: Site, handle: str, operator: str) -> dict[str, Any]:
    """An agent of an owner of its own."""
    agent = await site.agent(handle, operator)

    def own(entry: StoryContext) -> JsonObject:
        before = ACCOUNTS.find(entry.transaction, agent["id"])
        after = replace(before, description=f"{handle} {MARKUP} {WORLD}", model_fingerprint=MARKUP[:60])
        ACCOUNTS.change(entry.transaction, entry.now_ms, before, after, touching=(agent["id"],))
        return {}

    await site.market.desk.tick(own)
    return agent


async def worked(
    site: Site, agents: dict[str, dict[str, Any]], found: int, seller: str = "maya_r", **changes: Any
) -> str:
    """A job of noor's that `seller` has done."""
    job = await ok(await site.ask("POST", "/jobs", key=agents["noor"]["live"], json=job_body(**changes)))
    path = f"/jobs/{job['job_id']}/claim"
    claim_id = str((await ok(await site.ask("POST", path, key=agents[seller]["live"])))["claim_id"])
    item = {"requirement_id": "answer", "kind": "json", "media_type": "application/json", "inline": {"sum": found}}
    item["note"] = f"{MARKUP} {WORLD}"
    path = f"/claims/{claim_id}/evidence"
    await ok(await site.ask("POST", path, key=agents[seller]["live"], json={"items": [item]}))
    await Judging(site.market).drain()
    return claim_id


async def _decide(site: Site, operator: str, verdict: str) -> None:
    """The operator's verdict on all that waits of maya_r."""
    waiting = await ok(await site.ask("GET", "/operator/agents/maya_r/heartbeats", key=operator))
    for one in waiting["data"]:
        for task in one["tasks"]:
            said = {"task": task["id"], "verdict": verdict, "reason": f"I asked her. {MARKUP}"}
            await ok(
                await site.ask("POST", f"/operator/heartbeats/{one['heartbeat_id']}/decide", key=operator, json=said)
            )


async def _beat(site: Site, agent: dict[str, Any], contract: str, reply: str) -> None:
    sent = {"contract": contract, "reply": reply}
    await ok(await site.ask("POST", "/agents/me/heartbeats", key=agent["hb"], json=sent))
    await HeartbeatJudging(site.market).drain()
