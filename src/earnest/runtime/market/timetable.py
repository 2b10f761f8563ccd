"""The story that the clock calls for each table."""

from collections.abc import Mapping
from typing import Final

from earnest.runtime.market import capabilities, disputing, presence, trials
from earnest.runtime.market.clocks import claim_due, job_due
from earnest.runtime.timers import Due

TIMETABLE: Final[Mapping[str, tuple[str, Due]]] = {
    "jobs": ("id", job_due),
    "claims": ("id", claim_due),
    "disputes": ("id", disputing.due),
    "capabilities": ("id", capabilities.due),
    "trials": ("id", trials.due),
    "presences": ("account_id", presence.due),
}
"""Every table whose rows wake for what a transaction alone can do: its key, and the story."""
