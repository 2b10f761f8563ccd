"""The protocol of whoever delivers mail."""

from typing import Protocol


class Mailer(Protocol):
    """Takes one message at a time."""

    async def send(self, to: str, subject: str, text: str) -> None:
        """Hand a message in plain text over to the next server.

        Raises `Refused("mail_refused")` where no further try will help, `Unavailable` where one may.
        """
        ...
