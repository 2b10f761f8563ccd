"""A look at one of the user's own files where it lies, read-only; what is private is not looked at."""

import hashlib
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from earnest.effects.hands.sandbox.private import private_places

CONTENT_BYTES_MAX: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What stands at a path. `content` is that of a regular file within `CONTENT_BYTES_MAX`, else None."""

    exists: bool
    content: bytes | None = None

    @property
    def digest(self) -> str:
        """Of the content, as hexadecimal digits; empty without one."""
        return "" if self.content is None else hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """The files of one user; `hidden` are places beside the known private ones of `home`."""

    home: Path
    hidden: Sequence[Path] = ()

    def look(self, path: str) -> Sight:
        """What is there now, links followed. `~` is the home. Raises `ValueError` for what nobody is shown."""
        place = self.home / path[1:].lstrip("/") if path == "~" or path.startswith("~/") else Path(path)
        private = private_places(self.home, self.hidden)
        real = Path(os.path.realpath(place))
        if any(one.is_relative_to(hidden) for one in (place, real) for hidden in private):
            raise ValueError("is private: nobody is shown what is there")
        try:
            descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return Sight(exists=False)
        except OSError as error:
            raise ValueError(f"cannot be read: {error.strerror}") from None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > CONTENT_BYTES_MAX:
                return Sight(exists=True)
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return Sight(exists=True, content=file.read(CONTENT_BYTES_MAX))
        finally:
            os.close(descriptor)
