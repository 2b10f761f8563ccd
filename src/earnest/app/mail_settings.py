"""Settings of the mail server."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from earnest.effects.ground.clock import Clock
from earnest.effects.outside.mail.api import Mailer
from earnest.effects.outside.mail.server import Security, SmtpServer, is_mail_address

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

Fault = Callable[[str, str], None]
"""Notes a fault, and the key at whose line it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailSettings:
    """The table `[mail]`. Without `host` no mail is sent. `port` 0: the usual one of `security`."""

    host: str = ""
    port: int = 0
    security: Security = Security.STARTTLS
    user: str = ""
    password: str = field(default="", repr=False)
    sender: str = ""

    def server(self) -> SmtpServer:
        """What a `Mailer` works with."""
        return SmtpServer(
            host=self.host,
            port=self.port or PORTS[self.security],
            sender=self.sender,
            security=self.security,
            user=self.user,
            password=self.password,
        )


def read_mail(given: object, environment: Mapping[str, str], fault: Fault) -> MailSettings:
    """The table, over which the environment wins. `password` is better not in the file."""
    if not isinstance(given, dict):
        fault("mail must be a table, [mail]", "mail")
        return MailSettings()
    raw: dict[str, Any] = dict(given)
    for name, variable in ENVIRONMENT.items():
        if text := environment.get(variable, "").strip():
            raw[name] = int(text) if name == "port" and text.isascii() and text.isdigit() else text
    values: dict[str, Any] = {}
    for name, value in raw.items():
        if name in _WANTED and _fits(name, value):
            values[name] = Security(value) if name == "security" else value
        else:
            fault("[mail] " + _WANTED.get(name, f"{name} is not one of {', '.join(_WANTED)}"), name)
    settings = MailSettings(**values)
    for words, key in _contradictions(settings) if values.keys() == raw.keys() else ():
        fault(f"[mail] {words}", key)
    return settings


def mailer_of(settings: MailSettings, clock: Clock) -> Mailer | None:
    """Who sends mail; None where no server is set."""
    if not settings.host:
        return None
    from earnest.effects.outside.mail.smtp import SmtpMailer  # noqa: PLC0415 - its library is there for a server only

    return SmtpMailer(settings.server(), clock)


def _fits(name: str, value: object) -> bool:
    if name == "port":
        return type(value) is int and 1 <= value <= 65_535
    if not isinstance(value, str) or len(value) > TEXT_CHARACTERS_MAX or not value.isprintable():
        return False
    if name == "security":
        return value in list(Security)
    return is_mail_address(value) if name == "sender" else True


def _contradictions(settings: MailSettings) -> list[tuple[str, str]]:
    if not settings.host:
        return []
    found = []
    if not settings.sender:
        found.append((f"a host needs sender ({ENVIRONMENT['sender']})", "host"))
    if bool(settings.user) != bool(settings.password):
        found.append((f"user and password ({ENVIRONMENT['password']}) go together", "user"))
    if settings.security is Security.NONE and settings.host not in LOOPBACK:
        found.append(("security none is for a server of this machine only", "security"))
    return found


_WANTED: Final = {
    "host": "host must be a text",
    "port": "port must be a whole number from 1 to 65535",
    "security": f"security must be one of {', '.join(Security)}",
    "user": "user must be a text",
    "password": "password must be a text",
    "sender": "sender must be a plain mail address",
}
