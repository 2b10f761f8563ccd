"""Artifacts over HTTP: are bytes taken within their bounds, and given back as nothing that a browser runs?"""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from earnest.effects.outside.artifacts.shelf import FolderShelf
from earnest.effects.outside.artifacts.store import ArtifactLimits

from .conftest import Site

PAGE = b"<script>fetch('/api/v1/agents/me')</script>"
DIGEST = "sha256:" + hashlib.sha256(PAGE).hexdigest()


@pytest.fixture
async def crow(site: Site) -> dict[str, str]:
    site.market.artifacts.limits = ArtifactLimits(item_bytes=1_000, owner_bytes=2_500)
    return await site.agent("crow", await site.operator())


async def test_bytes_come_back_as_they_were_and_run_nowhere(site: Site, crow: dict[str, str]) -> None:
    sent = await site.ask("POST", "/artifacts", key=crow["live"], content=PAGE, headers={"Content-Type": "text/html"})
    assert (sent.status_code, sent.json()) == (201, {"sha256": DIGEST, "bytes": len(PAGE), "media_type": "text/html"})
    got = await site.ask("GET", f"/artifacts/{DIGEST}", key=crow["hb"])
    assert (got.status_code, got.content) == (200, PAGE)
    assert got.headers["Content-Disposition"].startswith("attachment")
    assert got.headers["Content-Security-Policy"].startswith("sandbox")
    assert got.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("part", ["bytes=0-9", "bytes=0-1,5-6", "bytes=9999-", "bytes=x", "lines=1-2"])
async def test_a_part_is_asked_for_in_vain(site: Site, crow: dict[str, str], part: str) -> None:
    await site.ask("POST", "/artifacts", key=crow["live"], content=PAGE)
    got = await site.ask("GET", f"/artifacts/{DIGEST}", key=crow["live"], headers={"Range": part})
    assert (got.status_code, got.content, got.headers["Accept-Ranges"]) == (200, PAGE, "none")


async def test_a_sender_that_goes_away_is_no_fault_of_ours(
    site: Site, crow: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    said: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        said.append(message)

    headers = [(b"authorization", f"Bearer {crow['live']}".encode())]
    scope = {
        "type": "http", "method": "POST", "path": "/api/v1/artifacts", "query_string": b"", "headers": headers,
    }  # fmt: skip
    await site.app(scope, receive, send)
    assert (said, caplog.records) == ([], [])


async def test_a_heartbeat_key_brings_artifacts_and_a_registered_one_does_not(site: Site, crow: dict[str, str]) -> None:
    assert (await site.ask("POST", "/artifacts", key=crow["hb"], content=b"x")).status_code == 201
    refused = await site.ask("POST", "/artifacts", key=crow["reg"], content=b"x")
    assert (refused.status_code, refused.json()["code"]) == (403, "scope_forbidden")
    assert (await site.ask("POST", "/artifacts", content=b"x")).json()["code"] == "missing_key"


async def test_a_body_past_the_limit_is_refused_announced_or_not(site: Site, crow: dict[str, str]) -> None:
    async def dripping() -> AsyncIterator[bytes]:
        for _ in range(11):
            yield b"x" * 100

    for content in (b"x" * 1_001, dripping()):
        refused = await site.ask("POST", "/artifacts", key=crow["live"], content=content)
        assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
    assert (await site.ask("POST", "/artifacts", key=crow["live"], content=b"x" * 1_000)).status_code == 201


async def test_an_account_has_a_share_of_the_disk(site: Site, crow: dict[str, str], tmp_path: Path) -> None:
    for letter in (b"a", b"b"):
        assert (await site.ask("POST", "/artifacts", key=crow["live"], content=letter * 1_000)).status_code == 201
    refused = await site.ask("POST", "/artifacts", key=crow["live"], content=b"c" * 501)
    assert refused.json()["code"] == "too_large"
    assert (await site.ask("POST", "/artifacts", key=crow["live"], content=b"c" * 500)).status_code == 201
    refused = await site.ask("POST", "/artifacts", key=crow["live"], content=b"d")
    assert (refused.status_code, refused.json()["code"]) == (409, "limit_reached")
    assert sum(path.stat().st_size for path in (tmp_path / "artifacts").rglob("*") if path.is_file()) == 2_500


async def test_uploads_at_the_same_time_never_pass_the_share(site: Site, crow: dict[str, str], tmp_path: Path) -> None:
    def send(number: int) -> Any:
        return site.ask("POST", "/artifacts", key=crow["live"], content=bytes([number]) * 1_000)

    answers = await asyncio.gather(*(send(number) for number in range(20)))
    assert [answer.status_code for answer in answers].count(201) == 2
    assert {answer.status_code for answer in answers} <= {201, 409, 413}
    assert len([path for path in (tmp_path / "artifacts").rglob("*") if path.is_file()]) == 2


async def test_a_key_stands_for_the_bytes_that_came_with_it(site: Site, crow: dict[str, str]) -> None:
    once = {"Idempotency-Key": "once"}
    first = await site.ask("POST", "/artifacts", key=crow["live"], content=b"a", headers=once)
    again = await site.ask("POST", "/artifacts", key=crow["live"], content=b"a", headers=once)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert first.json() == again.json()
    other = await site.ask("POST", "/artifacts", key=crow["live"], content=b"b", headers=once)
    assert other.json()["code"] == "idempotency_key_conflict"


async def test_a_media_type_that_is_none_is_refused(site: Site, crow: dict[str, str]) -> None:
    refused = await site.ask(
        "POST", "/artifacts", key=crow["live"], content=b"x", headers={"Content-Type": "text/html/../x"}
    )
    assert (refused.status_code, refused.json()["code"]) == (415, "unsupported_media")


@pytest.mark.parametrize("name", [DIGEST, "sha256:" + "0" * 64])
async def test_a_strangers_artifact_is_as_if_it_were_not(site: Site, crow: dict[str, str], name: str) -> None:
    await site.ask("POST", "/artifacts", key=crow["live"], content=PAGE)
    fox = await site.register("fox")
    answer = await site.ask("GET", f"/artifacts/{name}", key=fox["key"])
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    "name", ["..%2f..%2fetc%2fpasswd", "sha256:..", "x", DIGEST.removeprefix("sha256:"), DIGEST + "%00"]
)
async def test_a_name_that_is_no_digest_reaches_no_file(site: Site, crow: dict[str, str], name: str) -> None:
    answer = await site.ask("GET", f"/artifacts/{name}", key=crow["live"])
    assert answer.status_code in {404, 422}
    assert answer.headers["Content-Type"] == "application/problem+json"


async def test_damaged_content_is_not_given_out(site: Site, crow: dict[str, str]) -> None:
    await site.ask("POST", "/artifacts", key=crow["live"], content=PAGE)
    shelf = site.market.artifacts.shelf
    assert isinstance(shelf, FolderShelf)
    place = shelf._place(DIGEST)
    place.chmod(0o600)
    place.write_bytes(b"other")
    answer = await site.ask("GET", f"/artifacts/{DIGEST}", key=crow["live"])
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
