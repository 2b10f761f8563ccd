"""Bare tags: do they post a job whose check is built from what the job says anyway?"""

from typing import Any

import pytest

from .conftest import Site
from .jobs import job_body

MICRO = 1_000_000


def bare(tag: str, text: str = "answer.json holds `name` and `sum`", **changes: Any) -> dict[str, Any]:
    body = {"title": f"Do it {tag}", "currency": "AID", "amount_micro": MICRO, **changes}
    return job_body(criteria=[{"id": "C1", "text": text}], **body)


async def posted(site: Site, body: dict[str, Any]) -> dict[str, Any]:
    """The job as its creator sees it, or the problem."""
    olga = await site.operator()
    ann = (await site.agent("ann", olga))["live"]
    answer = await site.ask("POST", "/jobs", key=ann, json=body)
    if not answer.is_success:
        return dict(answer.json())
    return dict((await site.ask("GET", f"/jobs/{answer.json()['job_id']}", key=ann)).json())


@pytest.mark.parametrize("tag", ["llm_judge", "judgment", "judge", " LLM Judge ", "Judgment", "llm-judge"])
async def test_a_judges_tag_posts_a_job_that_a_model_judges(site: Site, tag: str) -> None:
    job = await posted(site, bare(f"[verifier:{tag}]"))
    assert job["criteria"][0]["check"] == {"kind": "llm_judge", "files": ["answer.json"]}
    assert job["acceptance"] == "machine"


@pytest.mark.parametrize("tag", ["[verifier:json_list]", "[Verifier: JSON list ]", "[ verifier :json_list]"])
async def test_a_list_tag_asks_for_a_list_in_the_artifact(site: Site, tag: str) -> None:
    job = await posted(site, bare(tag))
    assert job["criteria"][0]["check"] == {"kind": "json_list", "path": "answer.json"}


async def test_words_in_backticks_are_the_keys_and_columns(site: Site) -> None:
    job = await posted(site, bare("[verifier:json_schema]"))
    schema = {"type": "object", "minProperties": 1, "required": ["name", "sum"]}
    assert job["criteria"][0]["check"] == {"kind": "json_schema", "path": "answer.json", "schema": schema}


async def test_a_table_tag_takes_its_columns_from_the_criterion(site: Site) -> None:
    report = [{"id": "r", "kind": "text", "path": "r.md"}]
    job = await posted(site, bare("[verifier:md_table]", "a table `who` `when`", evidence_requirements=report))
    assert job["criteria"][0]["check"] == {"kind": "md_table", "path": "r.md", "columns": ["who", "when"]}


@pytest.mark.parametrize("tag", ["primes", "verified", "llm judge please"])
async def test_a_verifier_that_nobody_knows_is_refused(site: Site, tag: str) -> None:
    assert (await posted(site, bare(f"[verifier:{tag}]")))["code"] == "unknown_check"


@pytest.mark.parametrize("tag", ["command", "stdout", "unit_tests", "md_table"])
async def test_a_kind_that_needs_more_than_the_job_says_is_refused_with_what_it_needs(site: Site, tag: str) -> None:
    refused = await posted(site, bare(f"[verifier:{tag}]", "it is good"))
    assert refused["code"] == "validation"
    assert refused["errors"]


async def test_what_no_machine_can_check_takes_a_person_with_a_rubric(site: Site) -> None:
    job = await posted(site, bare("", "it reads well"))
    assert job["acceptance"] == "human"
    (item,) = job["criteria"][0]["check"]["rubric"]
    assert item == {"criterion": "it reads well", "points": 10, "threshold": 6}


@pytest.mark.parametrize("tag", ["[verifier:proposer_review]", "[reviewer:creator]", "[Verifier: Proposer Review]"])
async def test_unless_its_creator_says_that_they_review(site: Site, tag: str) -> None:
    assert (await posted(site, bare(tag, "it reads well")))["acceptance"] == "proposer"


async def test_jobs_are_found_by_creator_and_by_the_words_of_the_seed(site: Site) -> None:
    olga = await site.operator()
    ann, bob = [(await site.agent(handle, olga))["live"] for handle in ("ann", "bob")]
    text = "it reads well"
    items = {"items": [{"requirement_id": "answer", "kind": "json", "inline": {"sum": 42}}]}
    jobs, claims = {}, {}
    for status in ("submitted", "claimed", "open"):
        body = bare("[reviewer:creator]", text)
        jobs[status] = (await site.ask("POST", "/jobs", key=ann, json=body)).json()["job_id"]
        if status != "open":
            claim = await site.ask("POST", f"/jobs/{jobs[status]}/claim", key=bob)
            claims[status] = claim.json()["claim_id"]
        if status == "submitted":
            await site.ask("POST", f"/claims/{claims[status]}/evidence", key=bob, json=items)

    async def found(query: str) -> list[str]:
        return [one["job_id"] for one in (await site.ask("GET", f"/jobs?{query}", key=bob)).json()["data"]]

    for status, job_id in jobs.items():
        assert await found(f"created_by=ann&status={status}") == [job_id]
        assert await found(f"created_by=bob&status={status}") == []
    decision = {"approved": False, "reason": "no"}
    await site.ask("POST", f"/jobs/{jobs['submitted']}/review", key=ann, json=decision)
    assert await found("created_by=@ann&status=rejected") == [jobs["submitted"]]
    assert await found("status=submitted") == []
    await site.ask("POST", f"/claims/{claims['claimed']}/evidence", key=bob, json=items)
    await site.ask("POST", f"/jobs/{jobs['claimed']}/review", key=ann, json={**decision, "approved": True})
    assert await found("created_by=ann&status=approved") == [jobs["claimed"]]
    assert (await site.ask("GET", "/jobs?status=done", key=bob)).json()["code"] == "validation"
