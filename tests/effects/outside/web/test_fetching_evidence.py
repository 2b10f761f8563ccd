"""Is evidence fetched by https alone, from the public internet alone, once, and within its bounds?"""

import socket
from collections.abc import Iterator

import pytest
from web_servers import PUBLIC, Internet, internet, reply

from earnest.foundation.canonical import digest_bytes
from earnest.foundation.errors import Refused
from earnest.runtime.market.submitting import fetch_artifact


@pytest.fixture
def net() -> Iterator[Internet]:
    """`/to/…` leads on to what follows; anything else is there."""

    def answer(line: str, connection: socket.socket) -> None:
        path = line.split()[1]
        if path.startswith("/to/"):
            connection.sendall(reply(b"", "302 Found", Location=path.removeprefix("/to/")))
        else:
            connection.sendall(reply(b"the evidence"))

    with internet(answer) as known:
        yield known


async def test_evidence_is_known_by_the_digest_of_what_was_there(net: Internet) -> None:
    digest, page = await fetch_artifact(net.web(tls=False), "https://a.org/report", 1_000)
    assert digest == digest_bytes(b"the evidence")
    assert (page.body, page.status) == (b"the evidence", 200)
    assert net.dialled == [(PUBLIC, 443)]


async def test_a_redirection_by_https_is_followed(net: Internet) -> None:
    _, page = await fetch_artifact(net.web(tls=False), "https://a.org/to/https://b.org/x", 1_000)
    assert page.url == "https://b.org/x"


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://a.org/", "url_refused"),
        ("https://a.org/to/http://b.org/", "url_refused"),
        ("https://a.org/to/http://b.org/to/https://c.org/", "url_refused"),
        ("file:///etc/passwd", "url_refused"),
        ("https://a.org:8443/", "url_refused"),
        ("https://127.0.0.1/", "address_refused"),
        ("https://[::ffff:10.0.0.1]/", "address_refused"),
        ("https://inside.org/", "address_refused"),
        ("https://a.org/to/https://169.254.169.254/latest", "address_refused"),
        ("https://a.org/to/https://inside.org/", "address_refused"),
    ],
)
async def test_nothing_leads_to_where_evidence_may_not_lie(net: Internet, url: str, code: str) -> None:
    net.names = {"inside.org": [["10.1.2.3"]]}
    with pytest.raises(Refused) as caught:
        await fetch_artifact(net.web(tls=False), url, 1_000)
    assert caught.value.code == code
    assert {address for address, _ in net.dialled} <= {PUBLIC}
    assert all(port == 443 for _, port in net.dialled)


async def test_a_name_that_turns_to_a_private_address_is_dialled_where_it_was_looked_at(net: Internet) -> None:
    net.names = {"a.org": [[PUBLIC], ["127.0.0.1"]]}
    await fetch_artifact(net.web(tls=False), "https://a.org/x", 1_000)
    assert net.dialled == [(PUBLIC, 443)]
    with pytest.raises(Refused):
        await fetch_artifact(net.web(tls=False), "https://a.org/x", 1_000)
    assert len(net.dialled) == 1


async def test_evidence_past_its_bound_is_refused(net: Internet) -> None:
    with pytest.raises(Refused) as caught:
        await fetch_artifact(net.web(tls=False), "https://a.org/", len(b"the evidence") - 1)
    assert caught.value.code == "page_refused"
