"""Settings of the server: its address, its public name, and its limits."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Any, Final
from urllib.parse import urlsplit

from earnest.foundation.errors import Refused
from earnest.journal.signing import WITNESS, read_public_key

HOST: Final = "127.0.0.1"
PORT: Final = 8420
TEXT_CHARACTERS_MAX: Final = 1_000
PROXIES_MAX: Final = 100
WITNESSES_MAX: Final = 20
BOUNDS: Final = {
    "port": (0, 65_535),
    "stop_s": (1, 600),
    "home_per_minute": (1, 1_000_000),
    "reads_per_minute": (1, 1_000_000),
    "writes_per_minute": (1, 1_000_000),
    "registrations_per_hour": (1, 1_000_000),
    "exports_per_hour": (1, 1_000_000),
}

Fault = Callable[[str, str], None]
"""Notes a fault, and the key at whose line it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The table `[server]`. `port` 0 takes any that is free."""

    host: str = HOST
    port: int = PORT
    url: str = ""
    """By what address the world reaches the platform, `http(s)://HOST[:PORT]`; empty: by `host` and `port`."""
    proxies: tuple[str, ...] = ()
    """Addresses and networks whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed."""
    witnesses: tuple[str, ...] = ()
    """Verifier keys of witnesses whose cosignatures are kept."""
    stop_s: int = 10
    """How long requests under way have, when the platform is stopped."""
    home_per_minute: int = 120
    reads_per_minute: int = 600
    writes_per_minute: int = 60
    registrations_per_hour: int = 10
    exports_per_hour: int = 6


def read_server(given: object, fault: Fault) -> ServerSettings:
    """The table; what is wrong in it goes to `fault`."""
    if not isinstance(given, dict):
        fault("server must be a table, [server]", "server")
        return ServerSettings()
    values: dict[str, Any] = {}
    for name, value in given.items():
        if wrong := wrong_with(name, value):
            fault(f"[server] {wrong}", name)
        else:
            values[name] = tuple(value) if isinstance(value, list) else value
    return ServerSettings(**values)


def wrong_with(name: str, value: Any) -> str:
    """Why this is no value for that setting; empty if it is one."""
    if name in BOUNDS:
        low, high = BOUNDS[name]
        is_within = type(value) is int and low <= value <= high
        return "" if is_within else f"{name} is {value!r}: it must be a whole number from {low} to {high}"
    if name not in _FITS:
        return f"{name} is not one of {', '.join([*_FITS, *BOUNDS])}"
    fits, wanted = _FITS[name]
    return "" if fits(value) else f"{name} must be {wanted}"


def _is_host(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= TEXT_CHARACTERS_MAX and value.isascii() and value.isprintable()


def _is_address(value: object) -> bool:
    if not _is_host(value):
        return False
    try:
        parts = urlsplit(str(value))
        port = parts.port
    except ValueError:
        return False
    is_whole = parts.scheme in {"http", "https"} and bool(parts.hostname) and port != 0
    return is_whole and f"{parts.scheme}://{parts.netloc}" == value and "@" not in parts.netloc


def _are_networks(value: object) -> bool:
    if not isinstance(value, list) or len(value) > PROXIES_MAX:
        return False
    try:
        return all(isinstance(one, str) and bool(ip_network(one)) for one in value)
    except ValueError:
        return False


def _are_witnesses(value: object) -> bool:
    if not isinstance(value, list) or len(value) > WITNESSES_MAX:
        return False
    try:
        return all(isinstance(one, str) and read_public_key(one).type == WITNESS for one in value)
    except Refused:
        return False


_FITS: Final[Mapping[str, tuple[Callable[[object], bool], str]]] = {
    "host": (_is_host, "a name or address"),
    "url": (_is_address, "http(s)://HOST[:PORT], without a slash at its end"),
    "proxies": (_are_networks, "a list of addresses and networks"),
    "witnesses": (_are_witnesses, f"a list of at most {WITNESSES_MAX} verifier keys of witnesses, name+id+base64"),
}
