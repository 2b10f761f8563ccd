"""The world of a platform, where it has one."""

from typing import Final

from earnest.client.ask import Ask, get
from earnest.client.client import AsyncClient
from earnest.client.problem import Problem
from earnest.foundation.canonical import JsonObject

SUMMARY: Final = "/world/summary"
UNKNOWN: Final = frozenset({404, 405, 501})


class World:
    """Asked for when something has changed; a platform that knows no such thing is not asked again."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._is_there = True

    async def summary(self) -> JsonObject | None:
        """Time, place, neighbours, opportunities; None where there is no world."""
        if not self._is_there:
            return None
        ask: Ask[JsonObject] = get(SUMMARY)
        try:
            return await self._client.send(ask)
        except Problem as problem:
            if problem.status not in UNKNOWN:
                raise
            self._is_there = False
            return None
