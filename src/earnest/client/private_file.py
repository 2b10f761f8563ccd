"""Files that only their own user reads, kept whole or not at all."""

import os
from pathlib import Path


def write_private(path: Path, text: str) -> Path:
    """Put `text` in the place of what was there; nobody else can read it, not even while it is written."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return new.replace(path)
