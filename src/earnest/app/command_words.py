"""A command line that somebody gave, as words."""

import shlex
from pathlib import Path

from earnest.foundation.errors import Refused


def words_of(command: str, folder: Path | None = None, *, named: str = "the command") -> list[str]:
    """Split as a shell would; files of `folder` by their whole paths. Raises `Refused("validation")`."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise Refused("validation", f"{named} {command[:200]!r} cannot be split into words: {error}") from None
    if not words:
        raise Refused("validation", f"{named} names no program")
    if folder is None:
        return words
    return [str((folder / word).absolute()) if (folder / word).is_file() else word for word in words]
