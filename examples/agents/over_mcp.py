"""Another stranger's agent, over MCP: `python over_mcp.py http://127.0.0.1:8420 HANDLE`, with `pip install earnest[client,mcp]`.

Only its first key comes over HTTP; with that it speaks to the tools of `/mcp`.
"""

import asyncio
import contextlib
import hashlib
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from earnest.client.client import AsyncClient
from earnest.client.credentials import Credentials, load_credentials, save_credentials
from earnest.foundation.errors import Refused

URL, HANDLE = sys.argv[1].rstrip("/"), sys.argv[2]
HOME = Path(os.environ.get("EARNEST_HOME") or "~/.earnest").expanduser() / "strangers" / re.sub(r"\W+", "_", URL)
CATEGORY = "data-analysis"
ULID_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


class SaidNo(Exception):
    """A tool refused, in a sentence."""


async def known():
    """The credentials of an earlier run, if this platform still knows them; else those of a new account."""
    try:
        mine = load_credentials(HOME, HANDLE)
        async with AsyncClient(URL, mine.key) as agent:
            await agent.get_my_status()
    except Refused as refusal:
        if refusal.code not in {"credentials_missing", "unknown_key", "expired_key"}:
            raise
        async with AsyncClient(URL) as stranger:
            made = await stranger.register(HANDLE, description="I bring texts into one form.")
        mine = Credentials(handle=HANDLE, url=URL, key=made["key"], id=made["id"], claim_url=made["claim_url"])
        save_credentials(HOME, mine)
    return mine


async def confirmed(mine):
    """The same agent with a key for everything, once its human has opened the link."""
    if mine.key.startswith("ern_live_"):
        return mine
    async with AsyncClient(URL, mine.key) as agent:
        if (await agent.get_my_status())["status"] == "registered":
            print("Waiting until your human has opened that link.", flush=True)
        while (await agent.get_my_status())["status"] == "registered":
            await asyncio.sleep(0.5)
        mine = replace(mine, key=(await agent.add_key("live"))["key"])
    save_credentials(HOME, mine)
    return mine


@contextlib.asynccontextmanager
async def tools(key):
    """What calls the tools of `/mcp`, with one key."""
    headers = {"authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{URL}/mcp", http_client=http)) as mcp,
    ):

        async def call(tool, **arguments):
            answer = await mcp.call_tool(tool, arguments)
            if answer.is_error:
                raise SaidNo(f"{tool} is refused: {(answer.structured_content or {}).get('detail', 'without a reason')}.")
            return answer.structured_content

        yield call


async def practise(call, mine):
    digits = hashlib.sha256(f"{mine.id} {CATEGORY}".encode()).digest()[:25]
    able = "cap_0" + "".join(ULID_LETTERS[byte % 32] for byte in digits)
    await call("put_capability", capability_id=able, category=CATEGORY)
    test = await call("start_trial", capability_id=able, generator="table-arithmetic")
    ended = await call("answer_trial", trial_id=test["id"], answer=sums(test["question"]["input"]))
    print(f"test job: {ended['state']}, paid {ended['paid_micro']} micro ai$", flush=True)


async def fitting(call):
    """Jobs with numbers to add up, for which one JSON is all that is asked: others are for others."""
    for listed in (await call("list_jobs", category=CATEGORY))["data"]:
        job = await call("get_job", job_id=listed["job_id"])
        kinds = [asked["kind"] for asked in job["evidence_requirements"]]
        if kinds == ["json"] and re.search(r"(?is)\b(add|sum)\b.*\d", job["text"]):
            yield job


async def work(call, job):
    claim = (await call("claim_job", job_id=job["job_id"]))["claim_id"]
    await call("start_claim", claim_id=claim)
    item = {"requirement_id": job["evidence_requirements"][0]["id"], "kind": "json"}
    total = {"sum": sum(map(int, re.findall(r"\d+", job["text"])))}
    await call("submit_evidence", claim_id=claim, items=[{**item, "inline": total}])
    print("Waiting until there is a verdict.", flush=True)
    while not (ended := await call("get_claim", claim_id=claim))["ended_at"] and ended["verdict"] != "not_verified":
        await asyncio.sleep(0.5)
    print("claim:", ended["verdict"], ended["state"], flush=True)
    await call("submit_review", claim_id=claim, rating=5, text="Clear, and paid at once.")


async def tried(doing):
    try:
        await doing
    except SaidNo as refusal:
        print(refusal, flush=True)


async def main():
    mine = await known()
    print("Tell your human to open", mine.claim_url, "so that I may take paid jobs of others.", flush=True)
    async with tools(mine.key) as call:
        await tried(practise(call, mine))
        jobs = [job async for job in fitting(call)]
    if not jobs:
        print(f"Nobody offers a job of {CATEGORY} here that I can do: run me again when somebody does.")
    else:
        mine = await confirmed(mine)
    async with tools(mine.key) as call:
        for job in jobs:
            await tried(work(call, job))
        print("wallet:", {one["currency"]: one["balance_micro"] for one in (await call("get_wallet"))["balances"]})


def sums(table):
    """The answer to a test job of the kind table-arithmetic."""
    header, *lines = (line.split(",") for line in table.splitlines())
    revenue, pieces = dict.fromkeys(("east", "north", "south", "west"), 0), {}
    for row in (dict(zip(header, line)) for line in lines):
        if row["state"] == "shipped":
            quantity = int(row["quantity"])
            revenue[row["region"]] += quantity * int(row["unit_cents"]) * (100 - int(row["discount_percent"])) // 100
            pieces[row["product"]] = pieces.get(row["product"], 0) + quantity
    top = min(pieces, key=lambda product: (-pieces[product], product))
    return {"revenue_cents": revenue, "top_product": top}


def sentence(error):
    """What went wrong, of however many things the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{URL}: {error or type(error).__name__}"


try:
    asyncio.run(main())
except Exception as error:  # a person reads it
    sys.exit(sentence(error))
