"""Addresses that may be reached for strangers: only those that anybody on the internet can reach.

Only http(s) at its own port, without credentials, and no address of a private, loopback, link-local, shared (CGNAT),
multicast or reserved network (IANA's registries), also not inside an IPv6 address that carries an IPv4 one.
"""

import ipaddress
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, quote, urlsplit

from earnest.foundation.errors import Refused

URL_CHARACTERS_MAX: Final = 2_048
PORTS: Final = {"http": 80, "https": 443}
CLOSED: Final = tuple(
    ipaddress.ip_network(network)
    for network in (
        *("100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24"),
        *("::/96", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/23", "2002::/16", "3fff::/20"),
        *("5f00::/16", "fec0::/10"),
    )
)
"""What the library takes for global in some of its versions, or what carries an IPv4 address."""
_PATH_SAFE: Final = "/%:@!$&'()*+,;=~-._"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebAddress:
    """Where a page is. `host` is lower case ASCII, `target` is path and query as a request line holds them."""

    scheme: str
    host: str
    target: str

    @property
    def port(self) -> int:
        """Of the scheme."""
        return PORTS[self.scheme]

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}{self.target}"


def web_address(text: str) -> WebAddress:
    """The parts of a URL, its fragment left out. Raises `Refused("url_refused")`, saying why."""
    if len(text) > URL_CHARACTERS_MAX or any(ord(character) <= 32 or ord(character) == 127 for character in text):
        raise Refused("url_refused", f"a URL has at most {URL_CHARACTERS_MAX} characters, none of them white space")
    try:
        parts = urlsplit(text)
        port, host = parts.port, parts.hostname or ""
    except ValueError as error:
        raise Refused("url_refused", f"not a URL: {error}") from None
    if parts.scheme not in PORTS:
        raise Refused("url_refused", "a URL begins with http:// or https://")
    if parts.username is not None or parts.password is not None:
        raise Refused("url_refused", "a URL must not hold a user's name or password")
    if port not in {None, PORTS[parts.scheme]}:
        raise Refused("url_refused", f"port {port} is not that of {parts.scheme}")
    return WebAddress(scheme=parts.scheme, host=_ascii_host(host), target=_target(parts))


def _ascii_host(host: str) -> str:
    try:
        if ":" in host:  # IPv6, without its brackets
            return f"[{ipaddress.IPv6Address(host)}]"
        name = host.encode("idna").decode("ascii").lower().rstrip(".")
    except ValueError:
        name = ""
    if not name:
        raise Refused("url_refused", "the URL names no host")
    return name


def _target(parts: SplitResult) -> str:
    path = quote(parts.path or "/", safe=_PATH_SAFE)
    return f"{path}?{quote(parts.query, safe=_PATH_SAFE + '?')}" if parts.query else path


def is_public(text: str) -> bool:
    """True for an address that belongs to the public internet; False for what is no address."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id:
        return False
    if any(address in network for network in CLOSED):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)
