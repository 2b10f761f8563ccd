"""Pages as text: who sees which, that every text of an agent stays text, and that one owner sees nothing of another."""

import contextlib
import hashlib
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from earnest.surfaces.dashboard import files
from earnest.surfaces.dashboard.pages import EXPORTS, PAGES
from surfaces.web.conftest import GENEROUS
from surfaces.web.listening import Listening, listening

from .conftest import a_market
from .town import MARKUP, SECRET, Town

pytestmark = pytest.mark.slow
served_once = pytest.mark.asyncio(loop_scope="session")
VENDORED = (Path(files.__file__).parent / "vendored", Path(__file__).parent / "vendored")
FIRST_LOAD_BYTES_MAX = 150_000
TOWN = ("/world", "/periods")
FOR_ALL_SEEING = {"/runs", "/memory", "/runs/{run_id}"}


def addresses(town: Town) -> dict[str, str]:
    """An address of each page that this town has; a run it has not."""
    named = {
        "job_id": town.open_job,
        "claim_id": town.verified,
        "revision": "1",
        "number": "0",
        "dispute_id": town.dispute,
        "handle": "maya_r",
        "run_id": "run_none",
        "thread_id": town.thread,
        "period": "first",
        "chart": "score",
        "subject": "maya_r",
        "form": "csv",
    }
    return {path: re.sub(r"{(\w+)}", lambda found: named[found[1]], path) for path in (*PAGES, *EXPORTS)}


@contextlib.asynccontextmanager
async def client_of(site: Listening, key: str = "") -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=site.url) as client:
        if key:
            answer = await client.post("/login", data={"key": key})
            assert answer.status_code == 303, answer.text
        yield client


@served_once
@pytest.mark.parametrize("who", ["operator", "auditor"])
async def test_those_who_see_all_have_every_page_and_markup_stays_text(served: Listening, town: Town, who: str) -> None:
    async with client_of(served, getattr(town, who)) as client:
        for path, address in addresses(town).items():
            answer = await client.get(address)
            status = 404 if path == "/runs/{run_id}" else 403 if who == "auditor" and path == "/jobs/new" else 200
            assert answer.status_code == status, (address, answer.text[:2_000])
            assert MARKUP not in answer.text
            assert "<script>window" not in answer.text
            assert "<img src=x" not in answer.text
            assert "unsafe" not in answer.headers["content-security-policy"]


@served_once
async def test_a_claim_that_has_ended_says_what_it_came_to_and_no_date_that_will_not_come(
    served: Listening, town: Town
) -> None:
    async with client_of(served, town.operator) as client:
        page = (await client.get(f"/claims/{town.verified}")).text
        moved = page[page.index("What it came to") :]
        assert "released <b>$ 9.50</b>" in moved[: moved.index("</section>")]
        assert "grace ends" not in page.lower()
        assert "Reputation" in (await client.get("/")).text
        evidence = (await client.get(f"/claims/{town.verified}/evidence/1/0")).text
        assert "answer.json" in page
        assert "answer.json" in evidence[evidence.index("<h1") : evidence.index("</h1>")]


@served_once
async def test_the_first_page_names_what_waits_for_the_operator_and_for_a_buyer(served: Listening, town: Town) -> None:
    async with client_of(served, town.operator) as client:
        page = (await client.get("/")).text
        waiting = page[page.index('id="waits"') :]
        claim = (await served.ask("GET", f"/claims/{town.waiting}", key=town.operator)).json()
        assert (f"/claims/{town.waiting}" in waiting) == (claim["state"] in {"submitted", "verified"})
        # another test may have accepted it
        is_offered = "What it offers instead" in (await client.get("/agents/maya_r")).text
        assert ("/agents/maya_r#contract" in waiting) == is_offered
        for place in ("/agents/zed#heartbeats", "transfer 4711"):
            assert place in waiting, place
    noor = town.agents["noor"]["live"]
    home = (await served.ask("GET", "/agents/me/home", key=noor)).json()
    [case] = [one for one in home["active_disputes"] if one["dispute_id"] == town.dispute]
    reviews = (await served.ask("GET", f"/claims/{town.verified}/reviews", key=noor)).json()
    is_waiting = reviews["mine"] is None  # another test may have sent hers
    assert (town.verified in [one["claim_id"] for one in home["pending_reviews"]]) == is_waiting
    async with client_of(served, noor) as client:
        is_asked = case["awaiting"] == "me"  # another test may have made her statement
        assert (f"/disputes/{town.dispute}" in (await client.get("/")).text) == is_asked


@served_once
@pytest.mark.parametrize("who", ["maya_r", "noor", "bruno"])
async def test_an_agent_has_every_page_about_itself(served: Listening, town: Town, who: str) -> None:
    async with client_of(served, town.agents[who]["live"]) as client:
        for address in (
            "/",
            "/jobs",
            "/jobs/new",
            f"/jobs/{town.open_job}",
            f"/agents/{who}",
            "/ledger",
            "/agents/zed",
            "/world",
            f"/world/board/{town.thread}",
            "/periods",
        ):
            answer = await client.get(address)
            assert answer.status_code == 200, (address, answer.text[:2_000])
        for role in ("seller", "buyer"):
            for one in (await client.get("/api/v1/claims", params={"role": role})).json()["data"]:
                assert (await client.get(f"/claims/{one['claim_id']}")).status_code == 200


@served_once
async def test_an_auditor_is_given_no_form_and_is_refused(served: Listening, town: Town) -> None:
    async with client_of(served, town.auditor) as client:
        for address in addresses(town).values():
            found = re.findall('data-call="([^"]*)"', (await client.get(address)).text)
            assert all(one.startswith("GET ") for one in found), (address, found)
        said = {"approved": True, "reason": "x"}
        path = f"/api/v1/jobs/{town.open_job}/review"
        assert (await client.post(path, json=said, headers={"Origin": served.url})).status_code == 403


@served_once
async def test_a_stranger_sees_what_is_public_and_is_asked_who_they_are(served: Listening, town: Town) -> None:
    async with client_of(served) as client:
        public = {
            "/",
            "/jobs",
            "/jobs/{job_id}",
            "/agents",
            "/agents/{handle}",
            "/ledger",
            "/audit",
            "/receipts/{claim_id}",
        }
        for path, address in addresses(town).items():
            answer = await client.get(address)
            if path in public:
                assert answer.status_code == 200, address
                assert SECRET not in answer.text
            elif path in PAGES:
                assert answer.status_code == 303, address
                assert answer.headers["location"].startswith("/login?next=/")
            else:
                assert answer.status_code == 401
        assert (await client.get("/live")).status_code == 401


@served_once
async def test_an_owner_sees_nothing_of_another_owners(served: Listening, town: Town) -> None:
    """Zed has a heartbeat, a key, a wallet; Maya has claims, a dispute, evidence. Neither sees the other's."""
    async with (
        client_of(served, town.agents["maya_r"]["live"]) as maya,
        client_of(served, town.agents["zed"]["live"]) as zed,
    ):
        for address in ("/", "/agents/zed", "/agents", "/ledger", "/audit", "/jobs?state=all"):
            theirs = (await maya.get(address)).text
            assert SECRET not in theirs
            assert town.agents["zed"]["live"][:12] not in theirs
        assert "zed@example.org" not in (await maya.get("/agents/zed")).text
        for path in ("/claims/{claim_id}", "/claims/{claim_id}/evidence/{revision}/{number}"):
            assert (await zed.get(addresses(town)[path])).status_code == 403
        assert (await zed.get(f"/disputes/{town.dispute}")).status_code == 404
        assert (await zed.get("/charts/score/maya_r.svg")).status_code == 404
        assert (await zed.get("/charts/score/zed.svg")).status_code == 200
        for path in FOR_ALL_SEEING:
            assert (await zed.get(addresses(town)[path])).status_code == 403


@served_once
async def test_a_login_does_what_its_key_may_and_no_more(served: Listening, town: Town) -> None:
    async with client_of(served, town.agents["noor"]["hb"]) as client:
        posted = await client.post(
            "/api/v1/jobs", json={}, headers={"Origin": served.url, "Idempotency-Key": "dash-hb"}
        )
        assert posted.status_code in {403, 422}
        assert (await client.get("/api/v1/agents/me")).json()["key"]["scope"] == "hb"


@served_once
async def test_a_login_goes_on_to_a_page_of_ours_only_and_comes_from_one(served: Listening, town: Town) -> None:
    async with client_of(served) as client:
        for onward, led in (("//evil.example", "/"), ("https://evil.example", "/"), ("/jobs?a=b", "/jobs?a=b")):
            answer = await client.post("/login", data={"key": town.auditor, "next": onward})
            assert answer.headers["location"] == led
        cross = {"Sec-Fetch-Site": "cross-site"}
        assert (await client.post("/login", data={"key": town.auditor}, headers=cross)).status_code == 403
        for key in ("", "ern_op_" + "0" * 43, "x" * 10_000):
            wrong = await client.post("/login", data={"key": key})
            assert wrong.status_code == 401
            assert "set-cookie" not in wrong.headers


@served_once
async def test_the_first_load_is_small(served: Listening, town: Town) -> None:
    async with client_of(served, town.operator) as client:
        page = await client.get("/")
        sizes = [len(page.content)]
        for address in re.findall(r'(?:href|src)="(/assets/[^"]+)"', page.text):
            answer = await client.get(address)
            assert "immutable" in answer.headers["cache-control"]
            sizes.append(int(answer.headers["content-length"]))
        assert sum(sizes) <= FIRST_LOAD_BYTES_MAX, sizes


@served_once
async def test_charts_are_there_as_pictures_and_tables(served: Listening, town: Town) -> None:
    async with client_of(served, town.operator) as client:
        table = (await client.get("/charts/score/maya_r.csv")).text.splitlines()
        assert table[0] == ",points,bar"
        assert len(table) == 5
        picture = await client.get("/charts/score/maya_r.svg")
        assert picture.headers["content-type"] == "image/svg+xml"
        assert picture.text.startswith("<svg")
        assert (await client.get("/charts/score/maya_r.pdf")).status_code == 404
        failures = (await client.get("/charts/failure-rate/first.csv")).text.splitlines()
        assert failures == [",rejected by machines", "'@bruno,1.0", "'@maya_r,0.5"]
    async with client_of(served, town.agents["zed"]["live"]) as client:
        assert "maya_r" not in (await client.get("/charts/failure-rate/first.csv")).text


@served_once
async def test_an_owner_sees_their_own_metrics_and_hears_what_their_agent_heard(served: Listening, town: Town) -> None:
    said = "Who sums up faster than I do?"
    async with client_of(served, town.agents["zed"]["live"]) as zed, client_of(served, town.operator) as operator:
        everybody = (await operator.get("/periods/first")).text
        assert all(f"@{handle}</a></td>" in everybody for handle in ("maya_r", "zed"))
        mine = (await zed.get("/periods/first")).text
        assert "@zed</a></td>" in mine
        assert "@maya_r</a>" not in mine
        assert (await zed.get("/periods/none")).status_code == 404
        assert said in (await zed.get("/world")).text
    async with client_of(served, town.agents["bruno"]["live"]) as bruno:
        heard = (await bruno.get("/world")).text
        assert said not in heard
        assert "Nobody that I know of." in heard


@served_once
async def test_an_empty_platform_has_every_page(tmp_path: Path) -> None:
    with a_market(tmp_path) as market:
        async with listening(market, GENEROUS) as site:
            operator = await site.operator()
            async with client_of(site, operator) as client:
                for address in ("/", "/jobs", "/agents", "/runs", "/ledger", "/audit", "/memory", "/jobs/new", *TOWN):
                    assert (await client.get(address)).status_code == 200, address


@pytest.mark.parametrize("folder", VENDORED, ids=lambda folder: folder.parent.name + folder.parts[-3])
def test_what_is_kept_of_others_is_what_they_published(folder: Path) -> None:
    kept = json.loads((folder / "vendored.json").read_text())
    for one in kept:
        assert hashlib.sha256((folder / one["file"]).read_bytes()).hexdigest() == one["sha256"], one["file"]
        assert (folder / one["licence_file"]).read_text().strip()
    listed = {one["file"] for one in kept} | {one["licence_file"] for one in kept} | {"vendored.json"}
    assert {path.name for path in folder.iterdir()} == listed
