"""Sealing: when new facts are sealed, and from where sealing goes on after a crash."""

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from typing import Final

from earnest.effects.ground.clock import Clock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.reader import ROWS_MAX, BooksReader
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.errors import Broken, Unavailable
from earnest.journal.heads import SEALED, Head, Seal, Witness, fact_of, seal_in, seal_of
from earnest.journal.merkle import Frontier

LOOK_MS: Final = 1_000
"""Between two looks at what is new."""

SEAL_AFTER_FACTS: Final = 64
"""So many new facts are sealed at the next look."""

SEAL_AFTER_LOOKS: Final = 10
"""Fewer are sealed after so many looks."""

LEAVES_AT_ONCE: Final = 20_000
"""Of a long tail that another process left: what comes between two pauses."""
PAUSE_MS: Final = 20

CLOSING_LEAVES_MAX: Final = 5 * LEAVES_AT_ONCE
"""A longer tail is not waited for on closing: a later process seals it."""


class Sealer:
    """Records heads as facts: the fact `journal.sealed` number n + 1 holds the Merkle root of the facts 1 to n.

    A head is therefore itself under the next head. It is a fact like any other, so it needs no way past the rule that
    nothing is written silently; and there is no endless loop, because a head alone is nothing new to seal.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        tell: Callable[[Head], None] = lambda _: None,
        witness: Callable[[], Witness | None] = lambda: None,
        leads: Callable[[], bool] = lambda: True,
    ) -> None:
        """`tell` hears of every new head, once it is durable, in the event loop that sealed it.

        `witness` says what is durable of the audit log, which each head vouches for as that log does for the heads.
        `leads`: whether this process is the one that seals, now. Two that seal, as one has just lost that, record two
        heads of one tree: each is made of the leaves in the transaction that records it.
        """
        self._database = database
        self._clock = clock
        self._tell = tell
        self._witness = witness
        self._leads = leads
        self._sealed: Frontier | None = None
        self._grown = Frontier()
        self._sealing = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Seal in the background from now on."""
        self._task = asyncio.create_task(self._run(), name="sealer")

    async def close(self) -> None:
        """Stop, and seal what is left, unless that is too much or another process does.

        Raises what ended the background task, if something did.
        """
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))
            if not self._task.cancelled():
                self._task.result()
        if not self._leads():
            return
        await self._unsealed()
        if self._database.last_seq - self._grown.size <= CLOSING_LEAVES_MAX:
            await self.seal()

    async def seal(self) -> Head | None:
        """Seal everything up to now; None if nothing is new. Records `journal.sealed`.

        Raises `Broken` if the last head in the database contradicts itself: the journal must be verified first.
        """
        async with self._sealing:
            if not await self._unsealed():
                return None
            # Most of the hashing is done outside the transaction, where nobody waits for it.
            await self._grow_to_the_end()
            witness = self._witness()

            def record(transaction: Transaction) -> Seal:
                seal = seal_of(_grow(transaction, self._grown))
                if transaction.record(fact_of(seal, self._clock.now_ms(), witness)) != seal.head.size + 1:
                    raise Broken("the facts have gaps: the journal must be verified")
                return seal

            seal = await self._database.write(record)
            self._sealed = self._grown = seal.frontier()
        self._tell(seal.head)
        return seal.head

    async def _grow_to_the_end(self) -> None:
        """Take in the leaves of all facts, a part at a time, with pauses for others; what was taken in stays so."""
        while True:
            grown = await self._database.read(partial(_grow, frontier=self._grown, limit=LEAVES_AT_ONCE))
            is_last = grown.size - self._grown.size < LEAVES_AT_ONCE
            self._grown = grown
            if is_last:
                return
            await self._clock.sleep_ms(PAUSE_MS)

    async def _unsealed(self) -> int:
        """How many facts came after the last head."""
        if self._sealed is None:
            self._sealed = self._grown = await self._database.read(_last_frontier)
        last_head_seq = self._sealed.size + 1 if self._sealed.size else 0
        return self._database.last_seq - last_head_seq

    async def _run(self) -> None:
        looks = 0
        while True:
            await self._clock.sleep_ms(LOOK_MS)
            if not self._leads():
                self._sealed = None  # another goes on, from heads of its own
                continue
            with contextlib.suppress(Unavailable):  # the next look tries again
                unsealed = await self._unsealed()
                looks = looks + 1 if unsealed else 0
                if unsealed >= SEAL_AFTER_FACTS or looks >= SEAL_AFTER_LOOKS:
                    await self._seal_beside()
                    looks = 0

    async def _seal_beside(self) -> None:
        """As `seal`; cancelled, it stops between two parts, but not while a head is recorded, for that would recur."""
        async with self._sealing:
            await self._grow_to_the_end()
        await asyncio.shield(self.seal())


def _last_frontier(reader: BooksReader) -> Frontier:
    """The tree at the last head, or an empty one. That the head is true is for `verify` to find out."""
    last = next(reader.facts(kind=SEALED, newest_first=True, limit=1), None)
    if last is None:
        return Frontier()
    try:
        seal = seal_in(last.body)
    except ValueError as error:
        raise Broken(f"fact {last.seq}, the last head of the journal, was changed: {error}") from error
    if seal.head.size != last.seq - 1:
        raise Broken(f"fact {last.seq}, the last head of the journal, is one of {seal.head.size} facts")
    return seal.frontier()


def _grow(reader: BooksReader, frontier: Frontier, limit: int = ROWS_MAX) -> Frontier:
    """The tree with every fact that the reader sees, or with at most `limit` more."""
    grown = frontier.copy()
    for leaf in reader.leaves(after_seq=frontier.size, limit=limit):
        grown.append(leaf)
    return grown
