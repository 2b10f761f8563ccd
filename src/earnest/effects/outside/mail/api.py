"""Who delivers mail, the server to which it is handed, and the form of a mail address."""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

_ADDRESS: Final = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,187}[A-Za-z0-9])?")


class Mailer(Protocol):
    """Takes one message at a time."""

    async def send(self, to: str, subject: str, text: str) -> None:
        """Hand a message in plain text over to the next server.

        Raises `Refused("mail_refused")` where no further try will help, `Unavailable` where one may.
        """


class Security(StrEnum):
    """How a connection is encrypted. `NONE` is for a server of this machine."""

    STARTTLS = "starttls"
    TLS = "tls"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class SmtpServer:
    """Where mail is handed over, and in whose name. Without `user` nobody logs in."""

    host: str
    port: int
    sender: str
    security: Security = Security.STARTTLS
    user: str = ""
    password: str = field(default="", repr=False)


def is_mail_address(text: str) -> bool:
    """True for one plain address, as `ada@example.org`."""
    return len(text) <= 254 and _ADDRESS.fullmatch(text) is not None and ".." not in text
