"""What stands at a path outside the workspace before leave is given to write there: what could be lost."""

import os
import stat
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Final

from earnest.effects.hands.edits.taking import ask_git, statuses

FILES_MAX: Final = 10_000
TEXT_BYTES_MAX: Final = 64 * 1024
_GIT_S: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class AtStake:
    """A path as it is now. `files` counts those of a folder, up to `FILES_MAX`; None for what is no folder.

    `size_bytes` is that of the file, or of all counted files. `changed_ms` is the newest change. `in_git`: the path has
    a version that git knows, which can be had back. `text` is a small file's content, None for anything else.
    """

    path: Path
    files: int | None
    size_bytes: int
    changed_ms: int
    in_git: bool
    text: str | None


def at_stake(path: Path) -> AtStake | None:
    """What stands there; None if nothing does, or nobody can tell. Reads the disk, follows no link."""
    try:
        status = path.lstat()
        is_folder = stat.S_ISDIR(status.st_mode)
        found = list(islice(statuses(path), FILES_MAX))
        return AtStake(
            path=path,
            files=len(found) if is_folder else None,
            size_bytes=sum(one.st_size for one in found),
            changed_ms=max((one.st_mtime_ns for one in found), default=status.st_mtime_ns) // 1_000_000,
            in_git=_in_git(path),
            text=_text(path, status),
        )
    except OSError:
        return None


def _text(path: Path, status: os.stat_result) -> str | None:
    if not stat.S_ISREG(status.st_mode) or status.st_size > TEXT_BYTES_MAX:
        return None
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        return None


def _in_git(path: Path) -> bool:
    if path == path.parent:
        return False
    try:
        done = ask_git(path.parent, ("ls-files", "--error-unmatch", "--", path.name), _GIT_S)
    except TimeoutExpired:
        return False
    return done is not None and done.returncode == 0
