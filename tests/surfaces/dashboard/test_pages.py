"""Pages as text: who sees which, and that every text of an agent stays text."""

import pytest

from surfaces.web.conftest import Site, clock, market, quotas, site  # noqa: F401 - fixtures

from .town import MARKUP, Town, fill

PAGES = ("/", "/jobs", "/jobs?state=all", "/agents", "/runs", "/ledger", "/audit", "/memory", "/jobs/new", "/login")


@pytest.fixture
async def town(site: Site) -> Town:  # noqa: F811
    return await fill(site)


async def test_every_page_is_there_for_the_operator(site: Site, town: Town) -> None:  # noqa: F811
    await site.client.post("/login", data={"key": town.operator})
    more = (
        f"/jobs/{town.open_job}",
        f"/claims/{town.verified}",
        f"/claims/{town.waiting}",
        f"/claims/{town.verified}/evidence/1/0",
        f"/disputes/{town.dispute}",
        "/agents/maya_r",
        "/charts/score/maya_r.svg",
        "/charts/verdicts/all.csv",
    )
    for path in (*PAGES, *more):
        answer = await site.client.get(path)
        assert answer.status_code == 200, (path, answer.text[:2_000])
        assert MARKUP not in answer.text
        assert "<script>window" not in answer.text
