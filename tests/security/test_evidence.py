"""Does what is handed in stay where it belongs, what it was, and text?"""

import hashlib
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from earnest.effects.ground.clock import SystemClock
from earnest.effects.outside.artifacts.shelf import FolderShelf
from earnest.effects.outside.web.fetching import Dial, Resolve, Web
from surfaces.web.conftest import Site
from surfaces.web.jobs import RIGHT, job_body

from .people import People, gathered

MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'--></title>"
ESCAPES = (
    *(
        "../outside",
        "a/../../outside",
        "/etc/passwd",
        "..",
        ".",
        "a/..",
        "a//b",
        "a/./b",
        "a/",
        "",
        "../" * 20 + "tmp/x",
    ),
    *("a\x00b", "a\nb", "\x7f", "x" * 256, "a/" + "é" * 200),
)
"""Paths that lead elsewhere, or that no file can have."""
PUBLIC = "93.184.216.34"
OURS = (
    *("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "127.1", "2130706433", "0x7f000001"),
    *("10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "[fd00::1]", "[fe80::1%25lo]"),
)


@pytest.fixture
async def people(site: Site) -> People:
    return await gathered(site)


def wanted(path: str, **changes: Any) -> dict[str, Any]:
    return job_body(evidence_requirements=[{"id": "answer", "kind": "json", "path": path}], **changes)


def files_in(folder: Path) -> set[Path]:
    """What lies there beside the artifacts."""
    return {each for each in folder.rglob("*") if "artifacts" not in each.parts}


async def state_of(people: People, claim_id: str) -> tuple[str, str | None]:
    claim = await people.ok("bob", "GET", f"/claims/{claim_id}")
    return claim["state"], claim["verdict"]


# Names.


async def test_no_path_leads_out_of_the_work_nor_beside_the_checks(people: People, tmp_path: Path) -> None:
    kept = await people.ok("ann", "POST", "/artifacts", content=b"{}")
    before = files_in(tmp_path)
    for path in ESCAPES:
        if path not in {"", "."}:  # the id, and an archive of everything
            assert await people.code("ann", "POST", "/jobs", wanted(path)) == "validation", path
        files = [{"path": path, "sha256": kept["sha256"]}]
        assert await people.code("ann", "POST", "/jobs", job_body(files=files)) == "validation", path
    assert files_in(tmp_path) == before


@pytest.mark.parametrize("paths", [("a", "a/b"), ("a/b", "a"), ("a", "a/b/c")])
async def test_nothing_is_a_file_and_a_folder(people: People, paths: tuple[str, str]) -> None:
    kept = await people.ok("ann", "POST", "/artifacts", content=b"{}")
    asked = [{"id": f"r{number}", "kind": "json", "path": path} for number, path in enumerate(paths)]
    assert await people.code("ann", "POST", "/jobs", job_body(evidence_requirements=asked)) == "validation"
    files = [{"path": path, "sha256": kept["sha256"]} for path in paths]
    assert await people.code("ann", "POST", "/jobs", job_body(files=files)) == "validation"


async def test_an_item_names_a_requirement_and_never_a_place(people: People) -> None:
    _, claim_id = await people.claimed()
    for name in ("../answer", "answer/../x", "/etc/passwd", "..", "", "a b", "a\x00", "."):
        item = {"requirement_id": name, "kind": "json", "inline": {"sum": 42}}
        code = await people.code("bob", "POST", f"/claims/{claim_id}/evidence", {"items": [item]})
        assert code == "validation", name


# Addresses. The rules of a fetch have tests of their own (tests/effects/outside/web); here they are met from outside.


@contextmanager
def inner_server() -> Iterator[tuple[int, list[bytes]]]:
    """Something on this machine that nobody outside should reach, and what reached it."""
    heard: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(1)
                heard.append(connection.recv(65_536))
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n" + b'{"sum": 42}')

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1], heard
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


class InTheClear(ssl.SSLContext):
    """Https that hides nothing, so that a test can answer it."""

    def wrap_socket(self, sock: socket.socket, *_: Any, **__: Any) -> Any:
        return sock


async def refusal_of(people: People, claim_id: str, url: str) -> str:
    """The code by which evidence at this address is refused; the claim is what it was."""
    item = {"requirement_id": "answer", "kind": "json", "storage_url": url}
    answer = await people.ask("bob", "POST", f"/claims/{claim_id}/evidence", {"items": [item]})
    assert (await state_of(people, claim_id))[0] == "claimed"
    return str(answer.json()["code"])


def with_web(people: People, resolve: Resolve, dial: Dial) -> None:
    """From now on the platform sees this of the world."""
    web = Web(SystemClock(), resolve=resolve, dial=dial, trust=InTheClear(ssl.PROTOCOL_TLS_CLIENT))
    object.__setattr__(people.site.market, "web", web)


@pytest.mark.slow
async def test_evidence_is_not_fetched_from_where_only_we_can_reach(people: People) -> None:
    _, claim_id = await people.claimed()
    with inner_server() as (port, heard):
        for host in OURS:
            for url in (f"https://{host}/", f"https://{host}:{port}/", f"http://{host}:{port}/"):
                code = await refusal_of(people, claim_id, url)
                assert code in {"address_refused", "url_refused", "maintenance"}, url
        assert heard == []


@pytest.mark.parametrize(
    "location", ["http://127.0.0.1:{port}/", "https://inside.test/", "//127.0.0.1/", "file:///etc/passwd"]
)
async def test_a_redirection_leads_to_no_place_of_ours(people: People, location: str) -> None:
    dialled: list[str] = []
    with inner_server() as (port, heard), ExitStack() as open_ends:
        told = location.format(port=port).encode()

        def dial(address: str, _port: int, _seconds: float) -> socket.socket:
            dialled.append(address)
            ours, theirs = socket.socketpair()
            open_ends.enter_context(theirs)
            theirs.sendall(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + told + b"\r\n\r\n")
            return ours

        with_web(people, lambda host, _: ["10.1.2.3"] if host == "inside.test" else [PUBLIC], dial)
        _, claim_id = await people.claimed()
        assert await refusal_of(people, claim_id, "https://a.test/answer") in {"address_refused", "url_refused"}
        assert dialled == [PUBLIC]
        assert heard == []


async def test_a_name_that_changes_its_address_is_dialled_where_it_was_looked_at(people: People) -> None:
    """DNS rebinding: public when it is looked at, ours when it would be dialled by its name."""
    answers, dialled = [[PUBLIC], ["127.0.0.1"], ["127.0.0.1"]], []

    def dial(address: str, _port: int, _seconds: float) -> socket.socket:
        dialled.append(address)
        raise ConnectionRefusedError

    with_web(people, lambda *_: answers.pop(0), dial)
    _, claim_id = await people.claimed()
    first, second = [await refusal_of(people, claim_id, "https://a.test/answer") for _ in range(2)]
    assert (first, second) == ("maintenance", "address_refused"), "that nobody answers may change"
    assert dialled == [PUBLIC]


# Content.


def altered(people: People, digest: str, content: bytes | None) -> None:
    """Somebody with a shell on the platform's machine changes a kept artifact, or takes it away."""
    shelf = people.site.market.artifacts.shelf
    assert isinstance(shelf, FolderShelf)
    place = shelf._place(digest)
    place.chmod(0o600)
    if content is None:
        place.unlink()
    else:
        place.write_bytes(content)


async def handed_in(people: People, **changes: Any) -> tuple[str, str]:
    """A claim with right work in it that no machine has judged yet, and the digest of the work."""
    _, claim_id = await people.submitted(**changes)
    claim = await people.ok("bob", "GET", f"/claims/{claim_id}")
    return claim_id, claim["submissions"][0]["items"][0]["sha256"]


@pytest.mark.parametrize("content", [b'{"sum": 41}', b"", None])
async def test_evidence_that_changed_before_it_was_judged_is_never_paid_and_never_fined(
    people: People, content: bytes | None
) -> None:
    claim_id, digest = await handed_in(people, acceptance="machine")
    before = (await people.ok("bob", "GET", "/wallet"))["balances"]
    altered(people, digest, content)
    await people.judged()
    assert await state_of(people, claim_id) == ("submitted", "unclear")
    assert (await people.ok("bob", "GET", "/wallet"))["balances"] == before
    await people.ticked(30 * 86_400_000)
    assert (await state_of(people, claim_id))[0] == "refunded", "nobody could judge it"
    assert (await people.ok("bob", "GET", "/wallet"))["balances"] == before
    signals = (await people.ok("", "GET", "/agents/bob/signals"))["data"]
    assert all(one["failure_milli"] == 0 for one in signals)


async def test_a_file_of_the_checks_that_is_gone_leaves_the_work_unclear(people: People) -> None:
    schema = json.dumps(job_body()["criteria"][0]["check"]["schema"]).encode()
    kept = await people.ok("ann", "POST", "/artifacts", content=schema)
    files = [{"path": "schema.json", "sha256": kept["sha256"]}]
    claim_id, _ = await handed_in(people, acceptance="machine", files=files)
    altered(people, kept["sha256"], None)
    await people.judged()
    assert await state_of(people, claim_id) == ("submitted", "unclear")


async def test_evidence_that_changed_after_its_verdict_is_shown_to_nobody(people: People) -> None:
    claim_id, digest = await handed_in(people, acceptance="machine")
    await people.judged()
    assert await state_of(people, claim_id) == ("released", "verified")
    shown = (await people.ok("ann", "GET", f"/claims/{claim_id}"))["submissions"][0]
    altered(people, digest, b'{"sum": 41}')
    for who in ("ann", "bob", "olga"):
        answer = await people.ask(who, "GET", f"/artifacts/{digest}")
        assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
        assert "41" not in answer.json()["detail"]
    again = (await people.ok("ann", "GET", f"/claims/{claim_id}"))["submissions"][0]
    assert again == shown, "what the books say of it stays"


async def test_a_digest_that_is_not_that_of_its_content_is_refused(people: People) -> None:
    _, claim_id = await people.claimed()
    other = "sha256:" + hashlib.sha256(b"other").hexdigest()
    item = {**RIGHT["items"][0], "sha256": other}
    code = await people.code("bob", "POST", f"/claims/{claim_id}/evidence", {"items": [item]})
    assert code == "evidence_hash_mismatch"


# Markup.


@pytest.mark.slow
async def test_markup_of_strangers_is_stored_as_text_and_served_as_data(people: People) -> None:
    """Titles, texts, notes, reasons, reviews and statements: all of it is JSON, which no browser takes for a page."""
    said = {"title": MARKUP[:100], "text": MARKUP, "criteria": [{**job_body()["criteria"][0], "text": MARKUP}]}
    job_id, claim_id = await people.claimed(**said)
    item = {**RIGHT["items"][0], "note": MARKUP}
    await people.ok("bob", "POST", f"/claims/{claim_id}/evidence", {"items": [item]})
    await people.judged()
    raised = await people.ok("bob", "POST", f"/claims/{claim_id}/disputes", {"reason": MARKUP})
    dispute = f"/disputes/{raised['dispute_id']}"
    await people.ok("bob", "POST", f"{dispute}/statements", {"text": MARKUP})
    _, done = await people.submitted()
    await people.ok("ann", "POST", f"/claims/{done}/accept")
    for who in ("ann", "bob"):
        await people.ok(who, "POST", f"/claims/{done}/reviews", {"rating": 1, "text": MARKUP})
    shown = 0
    for path in (
        f"/jobs/{job_id}",
        "/jobs?state=all",
        f"/claims/{claim_id}",
        dispute,
        "/agents/bob/reviews",
        "/agents/me/home",
    ):
        answer = await people.ask("ann", "GET", path)
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        shown += answer.text.count("<script>")
    assert shown > 5, "it is text, and stays what it was"


async def test_no_html_answer_holds_markup_that_somebody_sent(people: People) -> None:
    client, quoted = people.site.client, "%3Cscript%3Ealert(1)%3C/script%3E"
    for path in (
        f"/setup/{quoted}",
        f"/claim/{quoted}",
        f"/login?next={quoted}",
        f"/{quoted}",
        f"/api/v1/jobs/{quoted}",
    ):
        for method in ("GET", "POST"):
            form = {"handle": MARKUP, "mail": MARKUP, "key": MARKUP}
            given: dict[str, Any] = {"data": form} if method == "POST" else {}
            answer = await client.request(method, path, headers={"Idempotency-Key": "k"}, **given)
            is_html = answer.headers["content-type"].startswith("text/html")
            assert not is_html or "<script>" not in answer.text, path
            assert not is_html or "default-src 'none'" in answer.headers["content-security-policy"], path
            assert answer.headers["x-content-type-options"] == "nosniff", path
            assert answer.status_code < 500, path


async def test_a_fault_of_a_check_is_no_verdict_and_stops_nobody_else(
    people: People, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What breaks the judge is judged unclear, once: it is not met again and again before what waits behind it."""
    claim_id, _ = await handed_in(people, acceptance="machine")

    async def break_down(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(people.site.market.verifier, "verify", break_down)
        await people.judged()
    assert await state_of(people, claim_id) == ("submitted", "unclear")
    assert "cannot be judged" in caplog.text
