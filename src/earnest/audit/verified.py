"""How far journal and audit log were found intact when they were last verified, so that a verification can go on."""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from earnest.audit.event import LogPosition
from earnest.effects.ground.durable import put_file
from earnest.foundation.canonical import canonical_bytes
from earnest.journal.heads import Seal, fact_of, seal_in

FORMAT: Final = "earnest-verified-v1"
BYTES_MAX: Final = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A head under which every fact was in order, and where the audit log ended, intact."""

    seal: Seal
    log: LogPosition


def read_verified(path: Path) -> Verified | None:
    """What was noted; None for nothing, or for what contradicts itself: then everything is verified."""
    try:
        with path.open("rb") as file:
            noted = json.loads(file.read(BYTES_MAX))
        if noted["format"] == FORMAT:
            return Verified(seal=seal_in(noted["seal"]), log=LogPosition(**noted["log"]))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        pass
    return None


def note_verified(path: Path, verified: Verified) -> None:
    """Put it there. That nothing can be written is no fault: the next verification then reads more."""
    seal = fact_of(verified.seal, 0).body
    with suppress(OSError):
        put_file(path, canonical_bytes({"format": FORMAT, "seal": seal, "log": asdict(verified.log)}))
