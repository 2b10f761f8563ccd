"""Settings of the mail server."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Final

from earnest.app.tables import Fault, over, read_table
from earnest.effects.ground.clock import Clock
from earnest.effects.outside.mail.api import Mailer, Security, SmtpServer, is_mail_address
from earnest.foundation.bounds import Fitting, Whole

ENVIRONMENT: Final = {
    "host": "EARNEST_MAIL_HOST",
    "port": "EARNEST_MAIL_PORT",
    "security": "EARNEST_MAIL_SECURITY",
    "user": "EARNEST_MAIL_USER",
    "password": "EARNEST_MAIL_PASSWORD",
    "sender": "EARNEST_MAIL_SENDER",
}
PORTS: Final = {Security.STARTTLS: 587, Security.TLS: 465, Security.NONE: 25}
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
TEXT_CHARACTERS_MAX: Final = 1_000


_LINE: Final = Fitting(lambda text: len(text) <= TEXT_CHARACTERS_MAX and text.isprintable(), "a text")


@dataclass(frozen=True, slots=True, kw_only=True)
class MailSettings:
    """The table `[mail]`. Without `host` no mail is sent. `port` 0: the usual one of `security`."""

    host: Annotated[str, _LINE] = ""
    port: Annotated[int, Whole(1, 65_535)] = 0
    security: Security = Security.STARTTLS
    user: Annotated[str, _LINE] = ""
    password: Annotated[str, _LINE] = field(default="", repr=False)
    sender: Annotated[str, Fitting(is_mail_address, "a plain mail address")] = ""

    def server(self) -> SmtpServer:
        """What a `Mailer` works with."""
        return SmtpServer(**asdict(replace(self, port=self.port or PORTS[self.security])))

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """What does not go together, each in words and with its key."""
        if self.host and not self.sender:
            yield f"a host needs sender ({ENVIRONMENT['sender']})", "host"
        if self.host and bool(self.user) != bool(self.password):
            yield f"user and password ({ENVIRONMENT['password']}) go together", "user"
        if self.host and self.security is Security.NONE and self.host not in LOOPBACK:
            yield "security none is for a server of this machine only", "security"


def read_mail(given: object, environment: Mapping[str, str], fault: Fault) -> MailSettings:
    """The table, over which the environment wins. `password` is better not in the file."""
    return read_table(over(given, MailSettings, ENVIRONMENT, environment), MailSettings(), "mail", fault)


def mailer_of(settings: MailSettings, clock: Clock) -> Mailer | None:
    """Who sends mail; None where no server is set."""
    if not settings.host:
        return None
    from earnest.effects.outside.mail.smtp import SmtpMailer  # noqa: PLC0415 - its library is there for a server only

    return SmtpMailer(settings.server(), clock)
