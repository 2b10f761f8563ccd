"""Mails to owners, none forgotten after a crash, and to the operator about the auditor's reports.

Each stands in the books before it is sent, and is taken out once the mail server has it. A crash between the two sends
it a second time: a mail too many is better than none.
"""

import asyncio
import json
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.outside.mail.api import Mailer
from earnest.foundation.canonical import JsonObject, canonical_text
from earnest.foundation.errors import Refused, Unavailable
from earnest.identity.presence import Presence
from earnest.identity.service import ACCOUNTS, PRESENCES
from earnest.runtime.desk import Desk, StoryContext
from earnest.runtime.market.presence import tell_operator

LOOK_MS: Final = 10_000
TAKEN_MAX: Final = 20
TRIES_MAX: Final = 12
WAIT_FIRST_MS: Final = 60_000
WAIT_MAX_MS: Final = 6 * 3_600_000
EPISODE: Final = "audit"
SUBJECT: Final = "The auditor has found something"
REPORTS_WAITING_MAX: Final = 8
"""Reports beyond are in the file beside the audit log, like all."""
_LOG: Final = logging.getLogger("earnest.mail")


class Letters:
    """Sends what lies in outboxes. Nobody else takes anything out of them."""

    def __init__(self, desk: Desk, mailer: Mailer) -> None:
        self._desk = desk
        self._mailer = mailer

    async def run(self) -> None:
        """Send from time to time, until cancelled."""
        while True:
            with suppress(Unavailable):
                await self.send_due()
            await self._desk.clock.sleep_ms(LOOK_MS)

    async def send_due(self) -> int:
        """Send what is due; how many were sent."""
        now_ms = self._desk.now_ms()
        sent = 0
        for presence, address in await self._desk.database.ask(lambda reader: _due(reader, now_ms)):
            for letter in json.loads(presence.outbox):
                event = await self._send(address, letter)
                await self._desk.tick(partial(_noted, presence.account_id, letter, event))
                sent += event == "mail_sent"
                if event == "mail_postponed":
                    break
        return sent

    async def _send(self, address: str, letter: JsonObject) -> str:
        """The word for what became of it."""
        if not address:
            return "mail_without_address"
        try:
            await self._mailer.send(address, str(letter["subject"]), str(letter["text"]))
        except Unavailable as unavailable:
            _LOG.warning("a mail waits: %s", unavailable)
            return "mail_postponed"
        except Refused as refused:
            _LOG.warning("a mail is not sent: %s", refused)
            return "mail_refused"
        return "mail_sent"


def _due(reader: BooksReader, now_ms: int) -> list[tuple[Presence, str]]:
    waiting = "outbox_at_ms IS NOT NULL AND outbox_at_ms <= ? ORDER BY outbox_at_ms, account_id LIMIT ?"
    presences = PRESENCES.where(reader, waiting, (now_ms, TAKEN_MAX))
    return [(presence, ACCOUNTS.find(reader, presence.account_id).mail) for presence in presences]


def _noted(account_id: str, letter: JsonObject, event: str, entry: StoryContext) -> JsonObject:
    """Take the letter out, or wait longer each time; after `TRIES_MAX` times it is given up."""
    before = PRESENCES.find(entry.transaction, account_id)
    tries = before.outbox_tries + 1
    if event == "mail_postponed" and tries < TRIES_MAX:
        wait_ms = min(WAIT_FIRST_MS << before.outbox_tries, WAIT_MAX_MS)
        after = replace(before, outbox_tries=tries, outbox_at_ms=entry.now_ms + wait_ms)
    else:
        left = [each for each in json.loads(before.outbox) if each != letter]
        after = replace(
            before,
            outbox=canonical_text(left),
            outbox_tries=0,
            outbox_at_ms=entry.now_ms if left else None,
        )
        event = "mail_given_up" if event == "mail_postponed" else event
    PRESENCES.change(entry.transaction, entry.now_ms, before, after, event=event, episode=str(letter["episode"]))
    return {"event": event}


class AuditLetters:
    """Takes reports from the auditor, which may not wait, and brings them into the operator's outbox."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._waiting: asyncio.Queue[str] = asyncio.Queue(REPORTS_WAITING_MAX)

    def post(self, lines: Sequence[str]) -> None:
        """A report with findings, as lines."""
        if not self._waiting.full():
            self._waiting.put_nowait("\n".join(lines) + "\n")

    async def run(self) -> None:
        """Lay what comes into the outbox, until cancelled."""
        while True:
            text = await self._waiting.get()
            await self._desk.tick(partial(tell_operator, episode=EPISODE, subject=SUBJECT, text=text))
