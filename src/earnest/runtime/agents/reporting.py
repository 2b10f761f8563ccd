"""The answer of a resident agent to a heartbeat: what it did since the last one, by its own book."""

from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from earnest.agents.book import JsonLinesBook
from earnest.agents.reflect import RESULT
from earnest.client.heartbeat import instant_ms
from earnest.runtime.heartbeats.program import Said, Work

LINES_MAX: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporting:
    """See `AgentProgram`. It claims nothing beyond what the platform can look up: claims by their ids."""

    book: JsonLinesBook

    async def work(self, work: Work) -> Said:
        """See `AgentProgram`."""
        self.book.refresh()
        since_ms = (instant_ms(work.last["at"]) if work.last else None) or 0
        rows = takewhile(lambda row: row["at_ms"] > since_ms, self.book.rows(RESULT))
        lines = [
            f"- {row['claim_id'] or 'no claim'}: {row['text']}" for row, _ in zip(rows, range(LINES_MAX), strict=False)
        ]
        return Said(reply="\n".join(lines) or "I looked for work; nothing was to do.")
