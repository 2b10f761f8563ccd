"""Delivery to a mail server. (RFC 5321, by aiosmtplib)

Whatever the texts hold, the message has our headers and one recipient: line breaks and control characters do not get
into a header, and an address is an address or nothing.
"""

import asyncio
import ssl
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate
from typing import Final

import aiosmtplib

from earnest.effects.ground.clock import Clock
from earnest.effects.outside.mail.api import Security, SmtpServer, is_mail_address
from earnest.foundation.canonical import digest_of
from earnest.foundation.errors import Refused, Unavailable

SUBJECT_CHARACTERS_MAX: Final = 200
TEXT_CHARACTERS_MAX: Final = 100_000
RETRY_AFTER_MS: Final = 60_000
_PERMANENT: Final = 500


class SmtpMailer:
    """See `Mailer`. Each message has a connection of its own: there are few."""

    def __init__(
        self, server: SmtpServer, clock: Clock, *, timeout_ms: int = 30_000, trust: ssl.SSLContext | None = None
    ) -> None:
        self._server = server
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._trust = trust

    async def send(self, to: str, subject: str, text: str) -> None:
        """See `Mailer`."""
        server = self._server
        if not is_mail_address(to):
            raise Refused("mail_refused", "the recipient is no mail address")
        message = _message(server.sender, to, subject, text, self._clock.now_ms() // 1000)
        try:
            async with asyncio.timeout(self._timeout_ms / 1000):
                await aiosmtplib.send(
                    message,
                    sender=server.sender,
                    recipients=[to],
                    hostname=server.host,
                    port=server.port,
                    username=server.user or None,
                    password=server.password or None,
                    local_hostname=server.sender.rpartition("@")[2],
                    timeout=self._timeout_ms / 1000,
                    use_tls=server.security is Security.TLS,
                    start_tls=server.security is Security.STARTTLS,
                    tls_context=None if server.security is Security.NONE else self._trust,
                )
        except aiosmtplib.SMTPRecipientsRefused as error:
            raise _failure([each.code for each in error.recipients]) from None
        except aiosmtplib.SMTPAuthenticationError:
            raise _unavailable("does not accept the user and password that are set") from None
        except aiosmtplib.SMTPResponseException as error:
            raise _failure([error.code]) from None
        except TimeoutError:
            raise _unavailable(f"did not take the message within {self._timeout_ms / 1000:g} s") from None
        except (aiosmtplib.SMTPException, OSError) as error:
            raise _unavailable(f"cannot be used ({type(error).__name__})") from None


def _message(sender: str, to: str, subject: str, text: str, at_s: int) -> EmailMessage:
    message = EmailMessage(policy=SMTP)
    message["From"] = sender
    message["To"] = to
    message["Subject"] = _one_line(subject)
    message["Date"] = formatdate(at_s)
    digest = digest_of([to, _one_line(subject), at_s]).removeprefix("sha256:")
    message["Message-ID"] = f"<{digest[:40]}@{sender.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834: no machine answers it
    message.set_content(_encodable(text)[:TEXT_CHARACTERS_MAX], cte="base64")
    return message


def _one_line(text: str) -> str:
    """Without line breaks and control characters, of bounded length."""
    shown = "".join(each if each.isprintable() else " " for each in _encodable(text))
    return " ".join(shown.split())[:SUBJECT_CHARACTERS_MAX]


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _failure(codes: list[int]) -> Refused | Unavailable:
    if codes and all(code >= _PERMANENT for code in codes):
        return Refused("mail_refused", f"the mail server does not take the message (code {codes[0]})")
    return _unavailable(f"takes no message now (code {codes[0] if codes else 0})")


def _unavailable(words: str) -> Unavailable:
    return Unavailable(f"the mail server {words}", retry_after_ms=RETRY_AFTER_MS)
