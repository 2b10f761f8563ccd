"""Mails about the auditor's reports: the operator hears of findings without asking."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final

from earnest.runtime.desk import Desk
from earnest.runtime.market.presence import tell_operator

EPISODE: Final = "audit"
SUBJECT: Final = "The auditor has found something"
WAITING_MAX: Final = 8
"""Reports beyond are in the file beside the audit log, like all."""


class AuditLetters:
    """Takes reports from the auditor, which may not wait, and brings them into the operator's outbox."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._waiting: asyncio.Queue[str] = asyncio.Queue(WAITING_MAX)

    def post(self, lines: Sequence[str]) -> None:
        """A report with findings, as lines."""
        if not self._waiting.full():
            self._waiting.put_nowait("\n".join(lines) + "\n")

    async def run(self) -> None:
        """Lay what comes into the outbox, until cancelled."""
        while True:
            text = await self._waiting.get()
            await self._desk.tick(partial(tell_operator, episode=EPISODE, subject=SUBJECT, text=text))
