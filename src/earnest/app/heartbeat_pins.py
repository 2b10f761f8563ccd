"""Pins: the HEARTBEAT.md that an operator accepted, kept out of the agent's workspace."""

import hashlib
from pathlib import Path

from earnest.contracts.heartbeat.parse import TEXT_BYTES_MAX
from earnest.effects.ground.text_file import read_text_file, rewrite_text_file
from earnest.foundation.errors import Refused

FOLDER = "pins"


def pinned_text(home: Path, file: Path) -> bytes:
    """The file as it was accepted. Raises `Refused("heartbeat_unpinned")`."""
    try:
        return read_text_file(_pin(home, file), TEXT_BYTES_MAX)
    except FileNotFoundError:
        raise Refused("heartbeat_unpinned", f"nothing is pinned for {file}: `earnest heartbeat pin`") from None


def pin_text(home: Path, file: Path, text: bytes) -> None:
    """Keep the file as it is now."""
    path = _pin(home, file)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    rewrite_text_file(path, TEXT_BYTES_MAX, lambda _: text)


def _pin(home: Path, file: Path) -> Path:
    """One for each path: a copy of a workspace has pins of its own."""
    place = file.parent.resolve() / file.name
    return home / FOLDER / f"{hashlib.sha256(bytes(place)).hexdigest()[:32]}.md"
