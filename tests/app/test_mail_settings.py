"""Is what the operator sets about mail read whole, and are its contradictions named?"""

from collections.abc import Mapping

import pytest

from earnest.app.mail_settings import MailSettings, mailer_of, read_mail
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.outside.mail.api import Security

WHOLE = {"host": "mail.example.org", "sender": "us@example.org"}


def read(given: object, environment: Mapping[str, str] | None = None) -> tuple[MailSettings, list[tuple[str, str]]]:
    faults: list[tuple[str, str]] = []
    settings = read_mail(given, environment or {}, lambda message, key: faults.append((key, message)))
    return settings, faults


def test_without_a_host_no_mail_is_sent() -> None:
    settings, faults = read({})
    assert not faults
    assert mailer_of(settings, VirtualClock()) is None


@pytest.mark.parametrize(("security", "port"), [("starttls", 587), ("tls", 465)])
def test_the_port_follows_from_the_security(security: str, port: int) -> None:
    settings, faults = read({**WHOLE, "security": security})
    assert not faults
    assert settings.server().port == port
    assert mailer_of(settings, VirtualClock()) is not None


def test_the_environment_wins_over_the_file() -> None:
    environment = {
        "EARNEST_MAIL_HOST": "127.0.0.1",
        "EARNEST_MAIL_PORT": "2525",
        "EARNEST_MAIL_SECURITY": "none",
        "EARNEST_MAIL_USER": "us",
        "EARNEST_MAIL_PASSWORD": "right-secret",
        "EARNEST_MAIL_SENDER": "them@example.org",
    }
    settings, faults = read(WHOLE, environment)
    assert not faults
    assert settings == MailSettings(
        host="127.0.0.1",
        port=2525,
        security=Security.NONE,
        user="us",
        password="right-secret",
        sender="them@example.org",
    )
    assert "right-secret" not in repr(settings)


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ([], "mail"),
        ({**WHOLE, "colour": "red"}, "colour"),
        ({**WHOLE, "host": 5}, "host"),
        ({**WHOLE, "host": "a\r\nb"}, "host"),
        ({**WHOLE, "port": 0}, "port"),
        ({**WHOLE, "port": True}, "port"),
        ({**WHOLE, "port": 65_536}, "port"),
        ({**WHOLE, "port": "25"}, "port"),
        ({**WHOLE, "security": "ssl"}, "security"),
        ({**WHOLE, "sender": "Us <us@example.org>"}, "sender"),
        ({**WHOLE, "user": "us"}, "user"),
        ({**WHOLE, "password": "secret"}, "user"),
        ({**WHOLE, "security": "none"}, "security"),
        ({"host": "mail.example.org"}, "host"),
    ],
)
def test_a_fault_is_named_at_its_key(given: object, key: str) -> None:
    _, faults = read(given)
    assert [at for at, _ in faults] == [key]


@pytest.mark.parametrize("port", ["x", "-1", "2 5", "99999999"])
def test_a_port_of_the_environment_is_a_number(port: str) -> None:
    _, faults = read(WHOLE, {"EARNEST_MAIL_PORT": port})
    assert [at for at, _ in faults] == ["port"]
