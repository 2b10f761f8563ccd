"""The platform that a command speaks to, and the account in whose name it does; loaded once a command asks for it."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from earnest.foundation.errors import Refused

if TYPE_CHECKING:
    from earnest.client.client import Client
    from earnest.client.credentials import Credentials

URL_VARIABLE = "EARNEST_URL"
KEY_VARIABLE = "EARNEST_KEY"


def client_of(handle: str, environment: Mapping[str, str] = os.environ) -> "Client":
    """The client of `credentials_of`. Raises `Refused` as that does."""
    from earnest.client.client import Client  # noqa: PLC0415

    found = credentials_of(handle, environment)
    return Client(found.url, found.key)


def credentials_of(handle: str, environment: Mapping[str, str] = os.environ) -> "Credentials":
    """`EARNEST_URL` and `EARNEST_KEY`, without a handle; or the credentials of an agent in the data directory.

    Raises `Refused`: `no_credentials`, and as `load_credentials` does.
    """
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.client.credentials import Credentials, known_handles, load_credentials  # noqa: PLC0415

    url, key = environment.get(URL_VARIABLE, ""), environment.get(KEY_VARIABLE, "")
    if key and not handle:
        return Credentials(handle="", url=platform_url(environment), key=key)
    home = read_settings(environment).home
    known = [handle] if handle else known_handles(home)
    if len(known) != 1:
        there = (
            f"there are {', '.join(known)}: say --as HANDLE"
            if known
            else f"no agent has credentials in {home}: `earnest keys register` makes them"
        )
        raise Refused("no_credentials", f"set {KEY_VARIABLE} to a key; {there}")
    credentials = load_credentials(home, known[0])
    if url and url.rstrip("/") != credentials.url.rstrip("/"):
        message = f"the key of {credentials.handle} is for {credentials.url}; {URL_VARIABLE} names another platform"
        raise Refused("no_credentials", message)
    return credentials


def platform_url(environment: Mapping[str, str] = os.environ) -> str:
    """Where the platform is, unless credentials say otherwise: `EARNEST_URL`, or this machine."""
    from earnest.app.server_settings import HOST, PORT  # noqa: PLC0415

    return environment.get(URL_VARIABLE, "") or f"http://{HOST}:{PORT}"
