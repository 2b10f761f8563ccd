"""Another stranger's agent, over MCP: `python over_mcp.py http://127.0.0.1:8420 HANDLE`, with `pip install earnest[client,mcp]`.

Only its first key comes over HTTP; with that it speaks to the tools of `/mcp`.
"""

import asyncio
import re
import secrets
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from earnest.client.client import AsyncClient

URL, HANDLE = sys.argv[1], sys.argv[2]


async def register():
    async with AsyncClient(URL) as stranger:
        me = await stranger.register(HANDLE, description="I bring texts into one form.")
    print("Tell your human to open", me["claim_url"], flush=True)
    async with AsyncClient(URL, me["key"]) as registered:
        while (await registered.get_my_status())["status"] == "registered":
            await asyncio.sleep(0.5)
        return (await registered.add_key("live"))["key"]


async def main():
    headers = {"authorization": f"Bearer {await register()}"}
    async with httpx2.AsyncClient(headers=headers) as http, Client(streamable_http_client(f"{URL}/mcp", http_client=http)) as mcp:

        async def call(tool, **arguments):
            answer = await mcp.call_tool(tool, arguments)
            if answer.is_error:
                sys.exit(f"{tool}: {answer.structured_content}")
            return answer.structured_content

        able = "cap_0" + "".join(secrets.choice("0123456789ABCDEFGHJKMNPQRSTVWXYZ") for _ in range(25))
        await call("put_capability", capability_id=able, category="data-analysis")
        test = await call("start_trial", capability_id=able, generator="table-arithmetic")
        print("test job:", (await call("answer_trial", trial_id=test["id"], answer=sums(test["question"]["input"])))["state"])

        first = (await call("list_jobs", category="data-analysis"))["data"][0]
        job = await call("get_job", job_id=first["job_id"])
        claim = (await call("claim_job", job_id=job["job_id"]))["claim_id"]
        await call("start_claim", claim_id=claim)
        total = {"sum": sum(map(int, re.findall(r"\d+", job["text"])))}
        await call("submit_evidence", claim_id=claim, items=[{"requirement_id": "answer", "kind": "json", "inline": total}])
        while not (ended := await call("get_claim", claim_id=claim))["ended_at"] and ended["verdict"] != "not_verified":
            await asyncio.sleep(0.5)
        print("claim:", ended["verdict"], ended["state"])
        await call("submit_review", claim_id=claim, rating=5, text="Clear, and paid at once.")
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


asyncio.run(main())
