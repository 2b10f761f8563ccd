"""Who looks at a folder through a mount: while anybody does, it does not change."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Mounts:
    """Any number at once, or one alone. Whoever waits to be alone comes before those who come after."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._is_alone = False
        self._waiting = 0
        self._changed = asyncio.Condition()

    @property
    def is_calm(self) -> bool:
        """True if nobody looks, and nobody is alone."""
        return not (self._names or self._is_alone)

    @asynccontextmanager
    async def entering(self, name: str) -> AsyncIterator[None]:
        """Look from here on, until `leave`; not at all if what is begun meanwhile fails."""
        async with self._changed:
            await self._changed.wait_for(lambda: not (self._is_alone or self._waiting))
            self._names.add(name)
        try:
            yield
        except BaseException:
            await self.leave(name)
            raise

    async def leave(self, name: str) -> None:
        """Look no more. Does nothing a second time."""
        async with self._changed:
            self._names.discard(name)
            self._changed.notify_all()

    @asynccontextmanager
    async def alone(self, then: str = "") -> AsyncIterator[None]:
        """Until the end of the block nobody looks; after it `then` does, if it is given."""
        async with self._changed:
            self._waiting += 1
            try:
                await self._changed.wait_for(lambda: self.is_calm)
            finally:
                self._waiting -= 1
                self._changed.notify_all()
            self._is_alone = True
        try:
            yield
            if then:
                self._names.add(then)
        finally:
            await self._calmed()

    async def _calmed(self) -> None:
        async with self._changed:
            self._is_alone = False
            self._changed.notify_all()

    @asynccontextmanager
    async def if_calm(self) -> AsyncIterator[bool]:
        """As `alone`, if that needs no waiting; else False."""
        is_calm = self.is_calm
        self._is_alone = self._is_alone or is_calm
        try:
            yield is_calm
        finally:
            if is_calm:
                await self._calmed()

    def forget(self) -> None:
        """Nobody looks any more, whoever did not say so."""
        self._names.clear()
