"""Who is behind a key or a login."""

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.identity.account import AccountKind
from earnest.identity.key import (
    KEY_PURPOSE,
    KEY_TEXT,
    LINK_LOGIN,
    SESSION_PURPOSE,
    Caller,
    KeyedHash,
    Scope,
    ends_at_ms,
)
from earnest.identity.service import ACCOUNTS, KEYS, SESSIONS, WHO, WHO_KINDS

KNOWN_MAX: Final = 10_000
SESSION_KEY_ID: Final = "session"
"""The `key_id` of a caller who has logged in instead of showing a key."""


@dataclass(slots=True)
class _Known:
    """What was read of a secret. It holds until its account is touched; `seq` is the newest fact at the last look."""

    caller: Caller
    expires_at_ms: int | None
    touched: int
    seq: int


class Authenticator:
    """Reads who somebody is from the books, and remembers it until a fact concerns them.

    What is remembered is found by a keyed hash, so that the time it takes says nothing about a key.
    """

    def __init__(self, database: Database, hashing: KeyedHash) -> None:
        self._database = database
        self.hashing = hashing
        self._known: dict[str, _Known] = {}

    async def by_key(self, text: str, now_ms: int) -> Caller:
        """The caller whose key this is. Raises `Refused`: `unknown_key`, `expired_key`."""
        if KEY_TEXT.fullmatch(text) is None:
            raise Refused("unknown_key", "this is no key of this platform: see EARNEST_KEY, or `earnest keys`")
        return await self._caller(self.hashing.digest(KEY_PURPOSE, text), now_ms, self._read_key)

    async def by_session(self, cookie: str, now_ms: int) -> Caller:
        """Who has logged in, with the scope of the key that opened the login.

        Raises `Refused`: `unknown_key`, `expired_key`.
        """
        return await self._caller(self.hashing.digest(SESSION_PURPOSE, cookie), now_ms, self._read_session)

    async def _caller(self, digest: str, now_ms: int, look: Callable[[BooksReader, str, int], _Known]) -> Caller:
        known = self._known.get(digest)
        seq = self._database.last_seq
        if known is None or (self._database.may_hold(WHO_KINDS, known.seq) and not await self._still_holds(known, seq)):
            known = await self._database.ask(lambda reader: look(reader, digest, seq))
            if len(self._known) >= KNOWN_MAX:
                self._known.clear()
            self._known[digest] = known
        if known.expires_at_ms is not None and known.expires_at_ms <= now_ms:
            raise Refused("expired_key", "the key has expired or was revoked")
        return known.caller

    async def _still_holds(self, known: _Known, seq: int) -> bool:
        """True if no fact has concerned the account since. The fact `seq` was durable before the look."""
        if await self._database.ask(lambda reader: reader.touched(WHO + known.caller.id)) != known.touched:
            return False
        known.seq = seq
        return True

    def _read_key(self, reader: BooksReader, digest: str, seq: int) -> _Known:
        key = next(KEYS.where(reader, "digest = ?", (digest,)), None)
        if key is None or not hmac.compare_digest(key.digest, digest):
            raise Refused("unknown_key", "nobody has this key")
        caller = Caller(account=ACCOUNTS.find(reader, key.account_id), scope=key.scope, key_id=key.id)
        return _known(reader, caller, ends_at_ms(key), seq)

    def _read_session(self, reader: BooksReader, digest: str, seq: int) -> _Known:
        session = SESSIONS.get(reader, digest)
        key = None if session is None else KEYS.get(reader, session.key_id or "")
        if session is None or session.ended_at_ms is not None or (key is None and session.key_id != LINK_LOGIN):
            raise Refused("unknown_key", "this login has ended")
        key_ends_ms = None if key is None else ends_at_ms(key)
        ends_ms = session.expires_at_ms if key_ends_ms is None else min(session.expires_at_ms, key_ends_ms)
        account = ACCOUNTS.find(reader, session.account_id)
        by_link = (
            Scope.OPERATOR if account.kind is AccountKind.OPERATOR else Scope.LIVE
        )  # the operator's, or an owner's
        caller = Caller(account=account, scope=by_link if key is None else key.scope, key_id=SESSION_KEY_ID)
        return _known(reader, caller, ends_ms, seq)


def _known(reader: BooksReader, caller: Caller, expires_at_ms: int | None, seq: int) -> _Known:
    return _Known(caller=caller, expires_at_ms=expires_at_ms, touched=reader.touched(WHO + caller.account.id), seq=seq)
