"""When are new facts sealed, and from where does sealing go on after a crash?"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final

from earnest.effects.clock import Clock
from earnest.effects.storage.database import Database
from earnest.effects.storage.reader import Reader
from earnest.effects.storage.transaction import Transaction
from earnest.foundation.errors import Broken, Unavailable
from earnest.journal.heads import SEALED, Head, Seal, Witness, fact_of, seal_in, seal_of
from earnest.journal.merkle import Frontier

LOOK_MS: Final = 1_000
"""Between two looks at what is new."""

SEAL_AFTER_FACTS: Final = 64
"""So many new facts are sealed at the next look."""

SEAL_AFTER_LOOKS: Final = 10
"""Fewer are sealed after so many looks."""


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
        `leads`: whether this process is the one that seals; once true, it stays so.
        """
        self._database = database
        self._clock = clock
        self._tell = tell
        self._witness = witness
        self._leads = leads
        self._sealed: Frontier | None = None
        self._sealing = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Seal in the background from now on."""
        self._task = asyncio.create_task(self._run(), name="sealer")

    async def close(self) -> None:
        """Stop, and seal what is left, unless another process does.

        Raises what ended the background task, if something did.
        """
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))
            if not self._task.cancelled():
                self._task.result()
        if self._leads():
            await self.seal()

    async def seal(self) -> Head | None:
        """Seal everything up to now; None if nothing is new. Records `journal.sealed`.

        Raises `Broken` if the last head in the database contradicts itself: the journal must be verified first.
        """
        async with self._sealing:
            if not await self._unsealed():
                return None
            # Most of the hashing is done outside the transaction, where nobody waits for it.
            sealed = self._sealed or Frontier()
            grown = await self._database.read(lambda reader: _grow(reader, sealed))
            witness = self._witness()

            def record(transaction: Transaction) -> Seal:
                seal = seal_of(_grow(transaction, grown))
                if transaction.record(fact_of(seal, self._clock.now_ms(), witness)) != seal.head.size + 1:
                    raise Broken("the facts have gaps: the journal must be verified")
                return seal

            seal = await self._database.write(record)
            self._sealed = seal.frontier()
        self._tell(seal.head)
        return seal.head

    async def _unsealed(self) -> int:
        """How many facts came after the last head."""
        if self._sealed is None:
            self._sealed = await self._database.read(_last_frontier)
        last_head_seq = self._sealed.size + 1 if self._sealed.size else 0
        return self._database.last_seq - last_head_seq

    async def _run(self) -> None:
        looks = 0
        while True:
            await self._clock.sleep_ms(LOOK_MS)
            if not self._leads():
                continue
            with contextlib.suppress(Unavailable):  # the next look tries again
                unsealed = await self._unsealed()
                looks = looks + 1 if unsealed else 0
                if unsealed >= SEAL_AFTER_FACTS or looks >= SEAL_AFTER_LOOKS:
                    await asyncio.shield(self.seal())  # a head half known would be sealed once more
                    looks = 0


def _last_frontier(reader: Reader) -> Frontier:
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


def _grow(reader: Reader, frontier: Frontier) -> Frontier:
    """The tree with every fact that the reader sees."""
    grown = frontier.copy()
    for leaf in reader.leaves(after_seq=frontier.size):
        grown.append(leaf)
    return grown
