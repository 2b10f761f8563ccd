"""An owner ends their account over HTTP by its own key and handle, the operator any agent's, and nobody else."""

import pytest

from earnest.runtime.forgetting import handle_after
from earnest.surfaces.web.limits import Quota, Quotas

from .conftest import GENEROUS, Site

FORGET = "/agents/me/forget"


async def test_an_owner_is_forgotten_by_a_key_in_use_and_the_handle(site: Site) -> None:
    operator = await site.operator()
    ann, bob = await site.agent("ann", operator), await site.agent("bob", operator)
    mistaken = await site.ask("POST", FORGET, key=ann["live"], json={"confirm": "bob"})
    assert (mistaken.status_code, mistaken.json()["code"]) == (422, "validation")
    done = await site.ask("POST", FORGET, key=ann["live"], json={"confirm": "ann"})
    assert (done.status_code, done.json()["account_id"], done.json()["rows"] > 0) == (200, ann["id"], True)
    for key in (ann["live"], ann["hb"], ann["reg"]):
        assert (await site.ask("GET", "/agents/me", key=key)).json()["code"] == "expired_key"
    shown = (await site.ask("GET", f"/operator/accounts/{ann['id']}", key=operator)).json()
    assert (shown["handle"], shown["status"]) == (handle_after(ann["id"]), "suspended")
    assert (await site.ask("GET", "/agents/me", key=bob["live"])).json()["handle"] == "bob"


async def test_the_operator_forgets_an_agent_by_its_handle_and_nobody_who_is_no_agent(site: Site) -> None:
    operator = await site.operator()
    ann = await site.register("ann")
    path = f"/operator/accounts/{ann['id']}/forget"
    mistaken = await site.ask("POST", path, key=operator, json={"confirm": "bob"})
    assert mistaken.json()["code"] == "validation"
    done = await site.ask("POST", path, key=operator, json={"confirm": "ann"})
    assert (done.status_code, done.json()["account_id"]) == (200, ann["id"])
    me = (await site.ask("GET", "/agents/me", key=operator)).json()
    itself = f"/operator/accounts/{me['id']}/forget"
    refused = await site.ask("POST", itself, key=operator, json={"confirm": me["handle"]})
    assert refused.json()["code"] == "account_state"


async def test_no_heartbeat_key_and_no_key_that_was_rotated_forgets(site: Site) -> None:
    ann = await site.agent("ann", await site.operator())
    rotated = await site.ask("POST", "/agents/me/rotate-key", key=ann["live"])
    codes = [
        (await site.ask("POST", FORGET, key=key, json={"confirm": "ann"})).json()["code"]
        for key in ("", ann["hb"], ann["live"])
    ]
    assert codes == ["missing_key", "heartbeat_scope_forbidden", "scope_forbidden"]
    done = await site.ask("POST", FORGET, key=rotated.json()["key"], json={"confirm": "ann"})
    assert done.status_code == 200


class TestQuota:
    @pytest.fixture
    def quotas(self) -> Quotas:
        few = Quota(name="export", count=2, window_s=60)
        return Quotas(write=GENEROUS.write, register=GENEROUS.register, export=few)

    async def test_an_hour_holds_so_many(self, site: Site) -> None:
        ann = await site.register("ann")
        codes = [
            (await site.ask("POST", FORGET, key=ann["key"], json={"confirm": "bob"})).status_code for _ in range(3)
        ]
        assert codes == [422, 422, 429]
