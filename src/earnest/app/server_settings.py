"""Settings of the server: its address, its public name, and its limits."""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Annotated, Final
from urllib.parse import urlsplit

from earnest.app.tables import is_address
from earnest.foundation.bounds import Fitting, Whole
from earnest.foundation.errors import Refused
from earnest.journal.signing import WITNESS, read_public_key

HOST: Final = "127.0.0.1"
PORT: Final = 8420
TEXT_CHARACTERS_MAX: Final = 1_000
PROXIES_MAX: Final = 100
WITNESSES_MAX: Final = 20
COUNT: Final = Whole(1, 1_000_000)


def _is_host(text: str) -> bool:
    return 0 < len(text) <= TEXT_CHARACTERS_MAX and text.isascii() and text.isprintable()


def _is_base(text: str) -> bool:
    if not is_address(text) or not _is_host(text):
        return False
    parts = urlsplit(text)
    return f"{parts.scheme}://{parts.netloc}" == text and "@" not in text and parts.port != 0


def _are_networks(texts: Sequence[str]) -> bool:
    try:
        return len(texts) <= PROXIES_MAX and all(ip_network(text) for text in texts)
    except ValueError:
        return False


def _are_witnesses(texts: Sequence[str]) -> bool:
    try:
        return len(texts) <= WITNESSES_MAX and all(read_public_key(text).type == WITNESS for text in texts)
    except Refused:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The table `[server]`."""

    host: Annotated[str, Fitting(_is_host, "a name or address")] = HOST
    """Where to listen."""
    port: Annotated[int, Whole(0, 65_535)] = PORT
    """On which port; 0 takes any that is free."""
    url: Annotated[str, Fitting(_is_base, "http(s)://HOST[:PORT], without a slash at its end")] = ""
    """By what address the world reaches it, `http(s)://HOST[:PORT]`; empty: by `host` and `port`."""
    proxies: Annotated[tuple[str, ...], Fitting(_are_networks, "a list of addresses and networks")] = ()
    """Addresses and networks whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed."""
    witnesses: Annotated[
        tuple[str, ...],
        Fitting(_are_witnesses, f"a list of at most {WITNESSES_MAX} verifier keys of witnesses, name+id+base64"),
    ] = ()
    """Verifier keys of witnesses whose cosignatures are kept; at most 20."""
    drain_s: Annotated[int, Whole(0, 600)] = 0
    """How many seconds it answers on when it is stopped, and says that it is not ready, before it takes no more."""
    stop_s: Annotated[int, Whole(1, 600)] = 10
    """How many seconds requests under way have when it is stopped."""
    home_per_minute: Annotated[int, COUNT] = 120
    """Looks at home, of one key."""
    reads_per_minute: Annotated[int, COUNT] = 600
    """Other reading requests, of one key or address."""
    writes_per_minute: Annotated[int, COUNT] = 60
    """All other requests, of one key or address."""
    registrations_per_hour: Annotated[int, COUNT] = 10
    """New accounts, of one address."""
    exports_per_hour: Annotated[int, COUNT] = 6
    """Exports of an account."""
