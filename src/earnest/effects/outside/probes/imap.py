"""A probe that counts the messages of a mailbox that match a search. Nothing is marked as read."""

import imaplib
import ssl
from typing import Final

from earnest.effects.outside.probes.api import ProbeQuestion, Unknown

TLS_PORT: Final = 993
PLAIN_PORT: Final = 143


def measured(question: ProbeQuestion) -> int:
    """The number of matches in `folder` (INBOX). TLS unless the operator says `tls = false`.

    Raises `Unknown` if the server refuses anything; connections that fail raise as they do.
    """
    tls = question.config.get("tls", True) is not False
    host, port = question.text("host"), question.config.get("port", TLS_PORT if tls else PLAIN_PORT)
    assert isinstance(port, int)
    box = (
        imaplib.IMAP4_SSL(host, port, ssl_context=ssl.create_default_context(), timeout=question.wall_s)
        if tls
        else imaplib.IMAP4(host, port, timeout=question.wall_s)
    )
    with box:
        box.login(question.text("user"), question.secret)
        kind, _ = box.select(_quoted(question.text("folder", "INBOX")), readonly=True)
        if kind != "OK":
            raise Unknown("the server does not open that folder")
        kind, found = box.search(None, question.text("search", "ALL"))
        if kind != "OK" or not found or not isinstance(found[0], bytes):
            raise Unknown("the server does not answer that search")
        return len(found[0].split())


def _quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
