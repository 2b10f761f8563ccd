"""Does a message reach a real mail server as ours, whatever its texts hold, and is each failure told for what it is?"""

import asyncio
import contextlib
import datetime
import email
import email.policy
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from email.message import EmailMessage
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP, AuthResult
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from earnest.effects.ground.clock import VirtualClock
from earnest.effects.outside.mail.api import Security, SmtpServer, is_mail_address
from earnest.effects.outside.mail.smtp import SmtpMailer
from earnest.foundation.errors import Refused, Unavailable

START_MS = 1_780_000_000_000
SENDER = "platform@example.org"


@dataclass
class Post:
    """A mail server that keeps what it is given. `answers`: what it says to a recipient instead of yes."""

    port: int = 0
    kept: list[tuple[str, list[str], bytes]] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    logins: list[tuple[bytes, bytes]] = field(default_factory=list)

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:  # noqa: N802
        if address in self.answers:
            return self.answers[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        self.kept.append((envelope.mail_from, envelope.rcpt_tos, envelope.content))
        return "250 kept"

    def login(self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        self.logins.append((data.login, data.password))
        return AuthResult(success=data.password == b"right", handled=False)

    def text(self) -> str:
        """The text of the one message; its lines end as they do here."""
        return str(self.message().get_content()).replace("\r\n", "\n")

    def message(self) -> EmailMessage:
        ((_, _, content),) = self.kept
        read = email.message_from_bytes(content, policy=email.policy.default)
        assert isinstance(read, EmailMessage)
        return read


@contextlib.asynccontextmanager
async def post_office(*, tls: ssl.SSLContext | None = None, implicit: bool = False) -> AsyncIterator[Post]:
    post = Post()

    def smtp() -> SMTP:
        upgraded = None if implicit else tls
        return SMTP(
            post,
            hostname="post.test",
            tls_context=upgraded,
            require_starttls=upgraded is not None,
            authenticator=post.login,
            auth_required=upgraded is not None,
            auth_require_tls=upgraded is not None,
        )

    listener = await asyncio.get_running_loop().create_server(smtp, "127.0.0.1", 0, ssl=tls if implicit else None)
    async with listener:
        post.port = listener.sockets[0].getsockname()[1]
        yield post


def mailer(
    post: Post, security: Security = Security.NONE, trust: ssl.SSLContext | None = None, **more: str
) -> SmtpMailer:
    server = SmtpServer(host="127.0.0.1", port=post.port, sender=SENDER, security=security, **more)
    return SmtpMailer(server, VirtualClock(START_MS), timeout_ms=5_000, trust=trust)


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate for 127.0.0.1 that nobody but the test trusts."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    begin = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, begin, begin.replace(year=2120))
        .add_extension(address, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = tmp_path_factory.mktemp("tls") / "identity.pem"
    path.write_bytes(secret + certificate.public_bytes(pem))
    return path


def serving(identity: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity)
    return context


async def test_a_message_arrives_as_it_was_written() -> None:
    async with post_office() as post:
        await mailer(post).send("ada@example.com", "Silence of @crow", "Nobody saw @crow since Tuesday.\nGrüße\n")
    ((sender, recipients, _),) = post.kept
    message = post.message()
    assert (sender, recipients) == (SENDER, ["ada@example.com"])
    assert (message["From"], message["To"], message["Subject"]) == (SENDER, "ada@example.com", "Silence of @crow")
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["Date"] == "Thu, 28 May 2026 20:26:40 -0000"
    assert post.text() == "Nobody saw @crow since Tuesday.\nGrüße\n"


async def test_the_same_message_at_the_same_time_has_the_same_id() -> None:
    async with post_office() as post:
        for text in ("first", "again"):
            await mailer(post).send("ada@example.com", "S", text)
    first, again = (email.message_from_bytes(content)["Message-ID"] for _, _, content in post.kept)
    assert first == again
    assert first.endswith("@example.org>")


@pytest.mark.parametrize(
    "subject",
    [
        "Hi\r\nBcc: eve@example.com",
        "Hi\nTo: eve@example.com\n\nbody",
        "Hi\rBcc: eve@example.com",
        "Hi\x00\x1b[2J\x85Bcc: eve@example.com",
        "Hi\u2028Bcc: eve@example.com",
        "Grüße \ud800 Bcc: eve@example.com",
        "Bcc: eve@example.com, " * 400,
    ],
)
async def test_a_subject_never_becomes_a_header_or_a_recipient(subject: str) -> None:
    async with post_office() as post:
        await mailer(post).send("ada@example.com", subject, "text")
    ((_, recipients, _),) = post.kept
    message = post.message()
    assert recipients == ["ada@example.com"]
    assert message["Bcc"] is None
    assert message.get_all("To") == ["ada@example.com"]
    assert message["Subject"].isprintable()
    assert len(message["Subject"]) <= 200


@pytest.mark.parametrize("text", ["\r\n.\r\nMAIL FROM:<eve@example.com>\r\n", "a\ud800b", ".", "x" * 200_000, ""])
async def test_a_text_never_ends_the_message_early(text: str) -> None:
    async with post_office() as post:
        await mailer(post).send("ada@example.com", "S", text)
    assert len(post.kept) == 1
    expected = text.encode("utf-8", "replace").decode()[:100_000].replace("\r\n", "\n")
    assert post.text().rstrip("\n") == expected.rstrip("\n")


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ada",
        "ada@",
        "@example.com",
        "ada@example.com, eve@example.com",
        "ada@example.com\r\nBcc: eve@example.com",
        "ada@example.com>\r\nRCPT TO:<eve@example.com",
        "Ada <ada@example.com>",
        "ada@exa mple.com",
        '"a b"@example.com',
        "ädä@example.com",
        "ada@example..com",
        "a" * 65 + "@example.com",
        "ada@" + "e" * 300,
        "ada@example.com\n",
    ],
)
async def test_what_is_no_plain_address_gets_no_mail(address: str) -> None:
    assert not is_mail_address(address)
    async with post_office() as post:
        with pytest.raises(Refused) as caught:
            await mailer(post).send(address, "S", "text")
    assert caught.value.code == "mail_refused"
    assert not post.kept


@pytest.mark.parametrize(
    ("answer", "failure"),
    [("550 no such user", Refused), ("553 never", Refused), ("450 later", Unavailable), ("421 closing", Unavailable)],
)
async def test_a_permanent_no_is_told_from_a_passing_one(answer: str, failure: type[Exception]) -> None:
    async with post_office() as post:
        post.answers["ada@example.com"] = answer
        with pytest.raises(failure):
            await mailer(post).send("ada@example.com", "S", "text")
    assert not post.kept


async def test_nobody_listening_is_an_outage() -> None:
    async with post_office() as post:
        pass
    with pytest.raises(Unavailable) as caught:
        await mailer(post).send("ada@example.com", "S", "text")
    assert caught.value.retry_after_ms


async def test_a_server_that_says_nothing_is_left() -> None:
    held: list[asyncio.StreamWriter] = []

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held.append(writer)
        await reader.read()
        writer.close()

    listener = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with listener:
        server = SmtpServer(
            host="127.0.0.1", port=listener.sockets[0].getsockname()[1], sender=SENDER, security=Security.NONE
        )
        with pytest.raises(Unavailable, match=r"within 0\.2 s"):
            await SmtpMailer(server, VirtualClock(), timeout_ms=200).send("ada@example.com", "S", "text")
        for writer in held:
            await writer.wait_closed()


@pytest.mark.parametrize("security", [Security.STARTTLS, Security.TLS])
async def test_a_password_goes_only_over_a_trusted_connection(identity: Path, security: Security) -> None:
    trust = ssl.create_default_context(cafile=str(identity))
    implicit = security is Security.TLS
    async with post_office(tls=serving(identity), implicit=implicit) as post:
        await mailer(post, security, trust, user="us", password="right").send("ada@example.com", "S", "text")
        assert post.logins == [(b"us", b"right")]
        with pytest.raises(Unavailable, match="user and password") as caught:
            await mailer(post, security, trust, user="us", password="wrong-secret").send("ada@example.com", "S", "t")
        assert "wrong-secret" not in str(caught.value)
        post.logins.clear()
        with pytest.raises(Unavailable):  # nobody vouches for the certificate
            await mailer(post, security, user="us", password="right").send("ada@example.com", "S", "text")
    assert not post.logins
    assert len(post.kept) == 1


async def test_a_server_that_cannot_encrypt_gets_nothing() -> None:
    async with post_office() as post:
        with pytest.raises(Unavailable):
            await mailer(post, Security.STARTTLS, user="us", password="right").send("ada@example.com", "S", "text")
    assert not post.kept
    assert not post.logins


def test_a_password_is_never_shown() -> None:
    server = SmtpServer(host="h", port=1, sender=SENDER, user="us", password="right-secret")
    assert "right-secret" not in repr(server)
