"""A claim that a task cannot be done, with the record that shows it. Nobody is believed: the runtime looks."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from earnest.contracts.criterion import Criterion
from earnest.foundation.canonical import JsonValue
from earnest.foundation.text import printable

NAME_CHARACTERS_MAX: Final = 1_024
BECAUSE_CHARACTERS_MAX: Final = 300


class Lack(StrEnum):
    """What can make a task impossible."""

    FILE = "file"
    """An input that the user named is nowhere."""
    PROGRAM = "program"
    """A program that the user named is not there and cannot be had."""
    NETWORK = "network"
    """It needs the network, which the run does not have."""
    CRITERIA = "criteria"
    """Two criteria exclude each other as checks; `name` holds their ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpossibilityClaim:
    """What a role says. `record` names a call of its own (`call 2`), or the surroundings that it was shown."""

    lack: Lack
    name: str
    because: str
    record: str

    def names_one_of(self, calls: int) -> bool:
        """True if the record is one of so many calls."""
        found = re.fullmatch(r"\D*(\d{1,4})", self.record, re.ASCII)
        return found is not None and 1 <= int(found[1]) <= calls


class Reality(Protocol):
    """Where a claim is looked into."""

    async def confirmed(self, claim: ImpossibilityClaim, needs: Sequence[str], criteria: Sequence[Criterion]) -> str:
        """What is missing, in words for the user; empty if the claim is not true or cannot be shown.

        `needs` are what the request takes as given, `criteria` those that must hold together.
        """

    async def lacking(self, needs: Sequence[str], criteria: Sequence[Criterion]) -> str:
        """Which of `needs` is nowhere, in words; empty if none is. What a check of `criteria` names is to be made."""


def claim_of(value: JsonValue) -> ImpossibilityClaim | None:
    """The claim in an answer (`kind`, `name`, `because`, `record`), if there is one."""
    match value:
        case {"kind": str(kind), "name": str(name), "because": str(because), "record": str(record)} if (
            isinstance(value, Mapping) and kind in {*Lack} and 0 < len(name.strip()) <= NAME_CHARACTERS_MAX
        ):
            return ImpossibilityClaim(
                lack=Lack(kind),
                name=name.strip(),
                because=printable(because[:BECAUSE_CHARACTERS_MAX]),
                record=record.strip(),
            )
    return None
