"""What a resident agent says of itself: which part of it does not work, and since when."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from earnest.client.private_file import write_private
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339_s

FILE_NAME: Final = "health.json"
PLATFORM: Final = "platform"


@dataclass(slots=True, kw_only=True)
class ResidentHealth:
    """`faults`: what is wrong, by part (platform, model, work, heartbeat). Kept in a file for whoever asks."""

    role: str
    path: Path
    faults: dict[str, str] = field(default_factory=dict)
    last_action: str = ""
    last_result: str = ""
    failures: int = 0

    def note(self, part: str, what: str) -> None:
        """The state of a part; empty: well."""
        if what:
            self.faults[part] = what[:500]
        else:
            self.faults.pop(part, None)

    def save(self, now_ms: int, next_ms: int) -> None:
        """Write it down."""
        members: dict[str, Any] = asdict(self)
        members.pop("path")
        status = "degraded" if self.faults else "well"
        told = {"status": status, "at": rfc3339_s(now_ms), "next_at": rfc3339_s(next_ms), **members}
        write_private(self.path, f"{json.dumps(told, indent=2)}\n")


def read_health(folder: Path) -> JsonObject:
    """What an agent said last. Raises `Refused("agent_unknown")` where none has run."""
    try:
        found: JsonObject = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise Refused("agent_unknown", f"no agent has run in {folder}: `earnest agent`") from None
    return found
