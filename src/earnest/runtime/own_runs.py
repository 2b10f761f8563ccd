"""Runs in the hands of whoever operates the platform over the same data directory."""

from dataclasses import dataclass
from typing import Protocol

from earnest.client.payloads_platform import JournalChecked
from earnest.runtime.edits.applying import Edits
from earnest.runtime.review_book import ReviewBook


class CheckJournal(Protocol):
    """Reads every fact, one look at a time. `continued`: only what came after what was last found intact."""

    async def __call__(self, *, continued: bool) -> JournalChecked:
        """Raises `Refused("no_database")`, `Unavailable`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRuns:
    """The stories of the command line, for the platform of the same books."""

    edits: Edits
    reviews: ReviewBook
    check_journal: CheckJournal
