"""How long what is kept of a run stays, and what keeps it longer than that: rules alone."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from earnest.foundation.instants import DAY_MS


class Fate(StrEnum):
    """What becomes of a run's files: why they stay, or what of them goes."""

    UNKNOWN = "unknown"
    """No fact speaks of them."""
    WAITS = "waits"
    """It has no end yet."""
    NEEDED = "needed"
    """A run that waits goes on from its files."""
    UNTOLD = "untold"
    """Nobody was told of its end."""
    UNAPPLIED = "unapplied"
    """It was given files to edit, and what became of them was not applied."""
    APPLYING = "applying"
    """Its change is being put in the place of the user's files."""
    YOUNG = "young"
    STAGES = "stages"
    """Its checkpoints go."""
    WHOLE = "whole"
    """All of its files go."""


GOING: Final = frozenset({Fate.STAGES, Fate.WHOLE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """For how many days after its last fact something is kept."""

    runs_days: int = 90
    stages_days: int = 7
    verdicts_days: int = 365


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFiles:
    """What is known of a run whose files are there. `last_ms` is that of its newest fact, None without one."""

    last_ms: int | None
    has_end: bool
    is_needed: bool
    is_told: bool
    has_edits: bool
    is_applied: bool
    is_applying: bool
    has_stages: bool


def fate_of(run: RunFiles, retention: Retention, now_ms: int) -> Fate:
    """The first that fits, strictest first."""
    held = (
        (run.last_ms is None, Fate.UNKNOWN),
        (not run.has_end, Fate.WAITS),
        (run.is_needed, Fate.NEEDED),
        (not run.is_told, Fate.UNTOLD),
        (run.is_applying, Fate.APPLYING),
        (run.has_edits and not run.is_applied, Fate.UNAPPLIED),
    )
    for holds, fate in held:
        if holds:
            return fate
    age_ms = now_ms - (run.last_ms or 0)
    if age_ms >= retention.runs_days * DAY_MS:
        return Fate.WHOLE
    # A change is told and taken back by the checkpoint at which the run began.
    if run.has_stages and not run.has_edits and age_ms >= retention.stages_days * DAY_MS:
        return Fate.STAGES
    return Fate.YOUNG
