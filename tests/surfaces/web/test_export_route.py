"""An owner is given all that the platform holds of them, by the key that they show, and so many times an hour."""

import json
from pathlib import Path

import pytest

from earnest.app.export import write_export
from earnest.foundation.errors import Refused, Unavailable
from earnest.surfaces.web import identity
from earnest.surfaces.web.limits import Quota, Quotas
from earnest.views.accounts import OWNED, document_of

from .conftest import GENEROUS, Site


async def test_the_route_gives_the_owners_rows_and_nobody_elses(site: Site) -> None:
    ann, bob = await site.register("ann"), await site.register("bob")
    answer = await site.ask("GET", "/agents/me/export", key=ann["key"])
    found = answer.json()
    assert answer.status_code == 200
    assert (found["format"], found["account_id"]) == ("earnest-export-v1", ann["id"])
    assert list(found["tables"]) == sorted(OWNED)
    assert found["tables"]["accounts"][0]["handle"] == "ann"
    assert bob["id"] not in answer.text
    assert [row["account_id"] for row in found["tables"]["keys"]] == [ann["id"]]
    assert "digest" not in found["tables"]["keys"][0]
    desk = site.market.desk
    assert desk.database.read_sync(lambda reader: document_of(reader, ann["id"], desk.now_ms())) == found


async def test_nobody_else_is_given_it_and_not_more_than_memory_holds(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = await site.agent("ann", await site.operator())
    refused = [await site.ask("GET", "/agents/me/export", key=key) for key in ("", agent["hb"])]
    assert [answer.json()["code"] for answer in refused] == ["missing_key", "heartbeat_scope_forbidden"]
    monkeypatch.setattr(identity, "ROWS_MAX", 2)
    many = await site.ask("GET", "/agents/me/export", key=agent["live"])
    assert (many.status_code, many.json()["code"]) == (409, "limit_reached")


class TestQuota:
    @pytest.fixture
    def quotas(self) -> Quotas:
        few = Quota(name="export", count=2, window_s=60)
        return Quotas(write=GENEROUS.write, register=GENEROUS.register, export=few)

    async def test_an_hour_holds_so_many(self, site: Site) -> None:
        agent = await site.register("ann")
        codes = [(await site.ask("GET", "/agents/me/export", key=agent["key"])).status_code for _ in range(3)]
        assert codes == [200, 200, 429]


def test_an_answer_that_is_no_export_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="no export"):
        write_export(lambda: {"tables": 1}, lambda _: None, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_artifacts_are_written_beside_it_and_held_against_their_digests(tmp_path: Path) -> None:
    good, bad = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", f"sha256:{'0' * 64}"
    out = tmp_path / "out"
    rows = [{"sha256": good}, {"sha256": bad}]
    done = write_export(lambda: {"account_id": "act_1", "tables": {"artifacts": rows}}, lambda _: b"test", out)
    assert (done.artifacts, done.missing) == (1, (bad,))
    assert json.loads((out / "account.json").read_bytes())["missing"] == [bad]
    with pytest.raises(Refused):
        write_export(dict, lambda _: None, out)
