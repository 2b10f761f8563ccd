"""Who looked when, what they did last, and whose owner must hear that nobody does.

Looks are gathered and recorded together within `FLUSH_MS`: a crash may lose that much of them, and nothing else.
"""

import json
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from earnest.foundation.canonical import JsonObject, canonical_text
from earnest.foundation.errors import Unavailable
from earnest.foundation.instants import SECOND_MS, rfc3339_s
from earnest.identity.account import AccountKind
from earnest.identity.presence import Presence
from earnest.identity.service import ACCOUNTS, PRESENCES
from earnest.market.homes.cadence import piles_at_ms, silent_after_s
from earnest.market.service import DISPUTES
from earnest.market.terms import Terms
from earnest.runtime.desk import Desk, StoryContext

FLUSH_MS: Final = 5_000
LOOK_MS: Final = 60_000
"""How long a server goes by what it knows of a look; owners hear of silence by the books alone."""
FLUSHED_MAX: Final = 500
"""Accounts of one fact: each is a few reads inside the transaction."""

KNOWN_MAX: Final = 100_000
DISPUTES_MAX: Final = 100
ACTION_CHARACTERS_MAX: Final = 200
SILENCE: Final = "silence"
PILE: Final = "disputes"


@dataclass(slots=True)
class _News:
    """What was noted of one account since the last flush."""

    seen_at_ms: int | None = None
    expected_s: int = 0
    action: str = ""
    action_at_ms: int | None = None


class Presences:
    """Who is there, as this process knows it."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._seen: OrderedDict[str, tuple[int, int]] = OrderedDict()
        self._news: dict[str, _News] = {}

    async def seen_at_ms(self, account_id: str) -> int | None:
        """The last look of an account, recorded or not; None if there was none.

        Looks at other servers show here within `LOOK_MS`.
        """
        now_ms = self._desk.now_ms()
        seen_ms, known_ms = self._seen.get(account_id, (None, None))
        if known_ms is not None and 0 <= now_ms - known_ms < LOOK_MS:
            return seen_ms
        row = await self._desk.database.ask(lambda reader: PRESENCES.get(reader, account_id))
        if row is not None:
            seen_ms = max(seen_ms or 0, row.seen_at_ms)
            self._know(account_id, seen_ms, now_ms)
        return seen_ms

    def looked(self, account_id: str, now_ms: int, expected_s: int) -> None:
        """An account has looked at its home; it means to again within `expected_s`."""
        news = self._news.setdefault(account_id, _News())
        news.seen_at_ms, news.expected_s = now_ms, expected_s
        self._know(account_id, now_ms, now_ms)

    def acted(self, account_id: str, action: str, now_ms: int) -> None:
        """Something was done with a heartbeat key (A39): `action` says what, on what."""
        news = self._news.setdefault(account_id, _News())
        news.action, news.action_at_ms = action[:ACTION_CHARACTERS_MAX], now_ms

    async def flush(self) -> int:
        """Record what was noted; of how many accounts. What cannot be recorded is kept for the next time."""
        flushed = 0
        while self._news:
            part = {account_id: self._news.pop(account_id) for account_id in list(self._news)[:FLUSHED_MAX]}
            try:
                await self._desk.tick(partial(_record, part))
            except BaseException:
                self._news = {**part, **self._news}
                raise
            flushed += len(part)
        return flushed

    async def run(self) -> None:
        """Flush from time to time, until cancelled."""
        while True:
            await self._desk.clock.sleep_ms(FLUSH_MS)
            with suppress(Unavailable):
                await self.flush()

    def _know(self, account_id: str, at_ms: int, now_ms: int) -> None:
        self._seen[account_id] = (at_ms, now_ms)
        self._seen.move_to_end(account_id)
        if len(self._seen) > KNOWN_MAX:
            self._seen.popitem(last=False)


def due(entry: StoryContext, terms: Terms, key: str) -> JsonObject:  # noqa: ARG001 - as every table's
    """The clock looks at an account: its owner is told, once, of silence and of disputes that nobody answers."""
    before = PRESENCES.find(entry.transaction, key)
    piles_ms = _piles_at_ms(entry, key)
    after = before
    if before.silence_told_at_ms is None and entry.now_ms >= _silent_at_ms(before):
        last = rfc3339_s(before.seen_at_ms)
        text = f"It last looked at {last} and was to look again within {before.expected_s} seconds."
        after = replace(_told(entry, after, SILENCE, f"is silent since {last}", text), silence_told_at_ms=entry.now_ms)
    if before.disputes_told_at_ms is None and piles_ms is not None and entry.now_ms >= piles_ms:
        text = "A dispute is past the time for its answer, or two have not been read for a day."
        after = replace(_told(entry, after, PILE, "leaves disputes unanswered", text), disputes_told_at_ms=entry.now_ms)
    after = _settled(after, piles_ms, entry.now_ms)
    PRESENCES.change(entry.transaction, entry.now_ms, before, after, event="looked_after")
    return {"account_id": key, "told": after.outbox != before.outbox}


def disputes_changed(entry: StoryContext, account_id: str) -> None:
    """A case of this account was opened, answered or closed: the clock is to look when it has waited too long."""
    before = PRESENCES.get(entry.transaction, account_id)
    known = before or Presence(account_id=account_id, seen_at_ms=entry.now_ms)
    after = _settled(known, _piles_at_ms(entry, account_id), entry.now_ms)
    if after != before:
        PRESENCES.see(entry.transaction, entry.now_ms, [(before, after)])


def tell_owner(entry: StoryContext, account_id: str, episode: str, what: str, text: str) -> None:
    """Lay a mail to the owner into the outbox: the agent `what`, and what there is to say about it."""
    before = _present(entry, account_id)
    after = _told(entry, before, episode, what, text)
    PRESENCES.change(entry.transaction, entry.now_ms, before, after, event="told", episode=episode)


def tell_operator(entry: StoryContext, episode: str, subject: str, text: str) -> JsonObject:
    """Lay a mail to the operator of the platform into their outbox, unless one of this episode still lies in it."""
    operator = next(ACCOUNTS.where(entry.transaction, "kind = ? LIMIT 1", (AccountKind.OPERATOR.value,)), None)
    if operator is None:
        return {"told": False}
    before = _present(entry, operator.id)
    if any(letter["episode"] == episode for letter in json.loads(before.outbox)):
        return {"told": False}
    after = _with_letter(entry, before, episode, subject, text)
    PRESENCES.change(entry.transaction, entry.now_ms, before, after, event="told", episode=episode)
    return {"told": True}


def _present(entry: StoryContext, account_id: str) -> Presence:
    """What is known of an account; of one that was never there, that it is now."""
    known = PRESENCES.get(entry.transaction, account_id)
    if known is None:
        known = Presence(account_id=account_id, seen_at_ms=entry.now_ms)
        PRESENCES.see(entry.transaction, entry.now_ms, [(None, known)])
    return known


def _record(news: Mapping[str, _News], entry: StoryContext) -> JsonObject:
    changes = []
    for account_id, noted in news.items():
        before = PRESENCES.get(entry.transaction, account_id)
        seen_at_ms = entry.now_ms if noted.seen_at_ms is None else noted.seen_at_ms
        after = _noted(before or Presence(account_id=account_id, seen_at_ms=seen_at_ms), noted)
        changes.append((before, _settled(after, _piles_at_ms(entry, account_id), entry.now_ms)))
    PRESENCES.see(entry.transaction, entry.now_ms, changes)
    return {"seen": len(changes)}


def _noted(presence: Presence, news: _News) -> Presence:
    """With a look, silence ends."""
    if news.seen_at_ms is not None:
        seen_ms = max(news.seen_at_ms, presence.seen_at_ms)  # another server may have noted a later one
        presence = replace(presence, seen_at_ms=seen_ms, expected_s=news.expected_s, silence_told_at_ms=None)
    if news.action_at_ms is not None:
        presence = replace(presence, last_action=news.action, last_action_at_ms=news.action_at_ms)
    return presence


def _settled(presence: Presence, piles_ms: int | None, now_ms: int) -> Presence:
    """An episode of disputes that is over is forgotten; the clock wakes at what the owner has not been told of."""
    if piles_ms is None or piles_ms > now_ms:
        presence = replace(presence, disputes_told_at_ms=None)
    instants = (
        _silent_at_ms(presence) if presence.silence_told_at_ms is None else None,
        piles_ms if presence.disputes_told_at_ms is None else None,
    )
    return replace(presence, wake_ms=min((at_ms for at_ms in instants if at_ms is not None), default=None))


def _silent_at_ms(presence: Presence) -> int:
    return presence.seen_at_ms + (silent_after_s(presence.expected_s) + 1) * SECOND_MS


def _piles_at_ms(entry: StoryContext, account_id: str) -> int | None:
    live = "{side} = ? AND closed_at_ms IS NULL ORDER BY opened_at_ms LIMIT ?"
    disputes = [
        dispute
        for side in ("raiser", "respondent")
        for dispute in DISPUTES.where(entry.transaction, live.format(side=side), (account_id, DISPUTES_MAX))
    ]
    return piles_at_ms(disputes, account_id)


def _told(entry: StoryContext, presence: Presence, episode: str, what: str, text: str) -> Presence:
    """With a mail to the owner in its outbox."""
    account = ACCOUNTS.find(entry.transaction, presence.account_id)
    text = f"Your agent @{account.handle} ({account.id}) {what}.\n\n{text}\n"
    return _with_letter(entry, presence, episode, f"@{account.handle} {what}", text)


def _with_letter(entry: StoryContext, presence: Presence, episode: str, subject: str, text: str) -> Presence:
    letter = {"episode": episode, "at_ms": entry.now_ms, "subject": subject, "text": text}
    letters = [*json.loads(presence.outbox), letter]
    return replace(presence, outbox=canonical_text(letters), outbox_tries=0, outbox_at_ms=entry.now_ms)
