"""An agent's key, in a file that only its own user reads."""

import json
import os
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from earnest.client.private_file import write_private
from earnest.foundation.errors import Refused

FOLDER: Final = "agents"
FILE_NAME: Final = "credentials.json"
FILE_BYTES_MAX: Final = 64 * 1024
OTHERS: Final = 0o077
_HANDLE: Final = re.compile(r"[a-z0-9_][a-z0-9_-]{0,63}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Who an agent is on which platform. `key` is a secret."""

    handle: str
    url: str
    key: str = field(repr=False)
    id: str = ""
    claim_url: str = field(default="", repr=False)


def agent_folder(home: Path, handle: str) -> Path:
    """Where an agent keeps its state. Raises `Refused("validation")` for what is no handle."""
    if not _HANDLE.fullmatch(handle):
        raise Refused("validation", f"{handle[:80]!r} is no handle: 3 to 32 of a-z, 0-9 and _, a letter first")
    return home / FOLDER / handle


def save_credentials(home: Path, credentials: Credentials) -> Path:
    """Write them; nobody else can read the file, not even while it is written."""
    path = agent_folder(home, credentials.handle) / FILE_NAME
    return write_private(path, json.dumps(asdict(credentials), indent=2) + "\n")


def load_credentials(home: Path, handle: str) -> Credentials:
    """What was saved. Raises `Refused`: `credentials_missing`, `credentials_open`, `credentials_damaged`."""
    path = agent_folder(home, handle) / FILE_NAME
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read(FILE_BYTES_MAX)
    except FileNotFoundError:
        raise Refused(
            "credentials_missing", f"there are no credentials at {path}: `earnest keys register {handle}` makes them"
        ) from None
    if mode & OTHERS:
        raise Refused("credentials_open", f"others may read {path}: `chmod 600` it, and rotate its key")
    try:
        found = json.loads(text)
        members = {name: found.get(name, "") for name in ("handle", "url", "key", "id", "claim_url")}
    except (ValueError, AttributeError, RecursionError):
        members = {}
    if not members or not all(isinstance(value, str) for value in members.values()) or not members["key"]:
        raise Refused("credentials_damaged", f"{path} does not hold handle, url and key")
    return Credentials(**members)


def known_handles(home: Path) -> list[str]:
    """The agents that have credentials here."""
    return sorted(path.parent.name for path in (home / FOLDER).glob(f"*/{FILE_NAME}"))
