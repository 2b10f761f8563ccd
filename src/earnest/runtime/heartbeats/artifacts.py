"""Files of a program that are handed in: regular ones below its folder, through no link, not too many."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from earnest.foundation.canonical import digest_bytes
from earnest.foundation.errors import Refused
from earnest.verification.paths import path_fault

FOLDER: Final = "artifacts"
ARTIFACTS_MAX: Final = 20
ARTIFACT_BYTES_MAX: Final = 16 * 1024 * 1024
TOTAL_BYTES_MAX: Final = 64 * 1024 * 1024
ENTRIES_MAX: Final = 1_000
PATH_CHARACTERS_MAX: Final = 200
_FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Left(NamedTuple):
    """`artifacts`: path and digest, in order of path. `notes`: what is not handed in, and why."""

    artifacts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


def artifacts_left(turn: Path) -> Left:
    """What lies in the `artifacts` of a turn's folder, whatever has become of that folder."""
    found: list[tuple[str, str]] = []
    notes: list[str] = []
    left_bytes, full = TOTAL_BYTES_MAX, f"a heartbeat has at most {ARTIFACTS_MAX}, of {TOTAL_BYTES_MAX} bytes in all"
    for path in _paths(turn, notes):
        fault: object = full
        if len(found) < ARTIFACTS_MAX and left_bytes >= 0:
            try:
                content = read_artifact(turn, path)
            except (Refused, OSError) as error:
                fault = error.strerror if isinstance(error, OSError) else error
            else:
                left_bytes -= len(content)  # below 0: nothing more is even read
                if left_bytes >= 0:
                    found.append((path, digest_bytes(content)))
                    continue
        notes.append(f"{path[:PATH_CHARACTERS_MAX]!a}: not handed in: {fault}")
    return Left(tuple(found), tuple(notes))


def read_artifact(turn: Path, path: str) -> bytes:
    """The bytes of one. Raises `OSError`, `Refused("validation")` for what is no path, no file or too large."""
    _check(path)
    *folders, name = [FOLDER, *path.split("/")]
    with _opened(os.open(turn, _FOLDER_FLAGS)) as at:
        for each in folders:
            descriptor = os.open(each, _FOLDER_FLAGS, dir_fd=at)
            os.dup2(descriptor, at, inheritable=False)
            os.close(descriptor)
        with os.fdopen(os.open(name, _FILE_FLAGS, dir_fd=at), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise Refused("validation", "it is no regular file")
            content = file.read(ARTIFACT_BYTES_MAX + 1) if found.st_size <= ARTIFACT_BYTES_MAX else b""
    if not content or len(content) > ARTIFACT_BYTES_MAX:
        raise Refused("validation", f"an artifact has 1 to {ARTIFACT_BYTES_MAX} bytes")
    return content


def _paths(turn: Path, notes: list[str]) -> list[str]:
    """Relative paths of all that is no folder, sorted; links are among them."""
    found: list[str] = []
    seen = 0
    try:
        with _opened(os.open(turn, _FOLDER_FLAGS)) as at:
            for folder, folders, files, descriptor in os.fwalk(FOLDER, dir_fd=at):
                links = [name for name in folders if stat.S_ISLNK(os.lstat(name, dir_fd=descriptor).st_mode)]
                below = folder.removeprefix(FOLDER).lstrip("/")
                found += [f"{below}/{name}" if below else name for name in (*files, *links)]
                seen += len(files) + len(folders)
                folders.sort()
                if folders and len(below) > PATH_CHARACTERS_MAX:
                    notes.append(f"{below[:PATH_CHARACTERS_MAX]!a}: what lies deeper is not looked at")
                    folders.clear()
                if seen > ENTRIES_MAX:
                    notes.append(f"more than {ENTRIES_MAX} files and folders: the rest is not looked at")
                    break
    except OSError as error:
        notes.append(f"{FOLDER}: {error.strerror}")
    return sorted(found)[:ENTRIES_MAX]


def _check(path: str) -> None:
    if len(path) > PATH_CHARACTERS_MAX or path != path.encode(errors="replace").decode():
        raise Refused("validation", f"its path is longer than {PATH_CHARACTERS_MAX} characters, or no text")
    if fault := path_fault(path):
        raise Refused("validation", fault)


@contextmanager
def _opened(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)
