"""One file of a folder, read, or rewritten whole or not at all. No link leads out of the folder."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from earnest.effects.ground.beneath import opened_beneath
from earnest.foundation.errors import Refused


def read_text_file(path: Path, bytes_max: int) -> bytes:
    """The file's first `bytes_max` bytes and, if it is longer, one more.

    Raises `Refused("workspace_link")` for a link out of the file's folder, and `OSError`, for what is no file too.
    """
    return _read(located(path, path.parent), bytes_max)


def rewrite_text_file(path: Path, bytes_max: int, change: Callable[[bytes], bytes]) -> None:
    """Put what `change` makes of the file in its place, under a lock on its folder; a missing file is empty.

    Raises as `read_text_file` does, and what `change` raises; then nothing has changed.
    """
    real = located(path, path.parent)
    with _locked(real.parent):
        try:
            before, mode = _read(real, bytes_max), real.stat().st_mode & 0o777
        except FileNotFoundError:
            before, mode = b"", 0o644
        after = change(before)
        new = real.with_name(f".{real.name}.new")
        new.unlink(missing_ok=True)
        with new.open("xb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(after)
            file.flush()
            os.fsync(file.fileno())
        new.replace(real)


def located(path: Path, folder: Path) -> Path:
    """The file or folder itself, where `path` is a link to it. Raises `Refused("workspace_link")` outside `folder`."""
    real = path.resolve()
    if not real.is_relative_to(folder.resolve()):
        raise Refused("workspace_link", f"{path} leads out of {folder}")
    return real


def _read(real: Path, bytes_max: int) -> bytes:
    try:
        with (
            opened_beneath(real.parent, real.name, os.O_RDONLY) as descriptor,
            open(descriptor, "rb", closefd=False) as file,
        ):
            return file.read(bytes_max + 1)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(real)) from None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One at a time. Whoever waits, waits for as long as one small file is written."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
