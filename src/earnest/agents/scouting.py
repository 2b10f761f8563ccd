"""Discovery as a proposer uses it: each search now and then, what it finds kept as an entry of the backlog."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from earnest.agents.actions import AgentActionKind
from earnest.agents.backlog import Backlog, Backlogged
from earnest.agents.book import JsonLinesBook
from earnest.agents.discovery import DELIVERABLE, Discovery
from earnest.agents.recall import ACTION
from earnest.client.private_file import write_private
from earnest.contracts.spec import spec_to_json
from earnest.effects.ground.clock import Clock

AGAIN_MS: Final = 6 * 3_600_000
"""The same search is not made sooner."""
REWARD_MICRO: Final = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WebScout:
    """See `Scout`. `folder`: where specifications of found jobs are kept. The pay is ours, never the page's."""

    discovery: Discovery
    backlog: Backlog
    book: JsonLinesBook
    folder: Path
    clock: Clock
    topics: Sequence[str]
    amount_micro: int = REWARD_MICRO

    def searches(self) -> list[str]:
        """See `Scout`. By the trace, in which an action stands before it is done: a kill does not repeat a search."""
        if not self.discovery.settings.may_look:
            return []
        lately = set(self._since(self.clock.now_ms() - AGAIN_MS))
        return [one for one in map(self.discovery.source.search_for, self.topics) if one not in lately]

    async def look(self, search: str) -> str:
        """See `Scout`."""
        misses: list[str] = []
        found = await self.discovery.discover(search, self.backlog.pages(), misses.append)
        if found is None:
            why = "; ".join(misses) or "no result lies where I may look"
            return f"found no job by {search!r}: {why}"[:1_000]
        name = found.digest.removeprefix("sha256:")[:16]
        path = self.folder / f"{name}.yaml"
        write_private(path, json.dumps(spec_to_json(found.spec), indent=2))  # JSON is YAML
        entry = Backlogged(
            name=f"{self.discovery.source.name}-{name}",
            path=path,
            category=self.discovery.source.category,
            amount_micro=self.amount_micro,
            hand_in=(DELIVERABLE,),
        )
        self.backlog.add_found(entry, found.url)
        return f"found {found.spec.title!r} at {found.url}"

    def _since(self, at_ms: int) -> Iterator[str]:
        for row in self.book.rows(ACTION):
            if row["at_ms"] < at_ms:
                return
            if row["action"]["kind"] == AgentActionKind.WEB_SEARCH:
                yield row["action"]["query"]
