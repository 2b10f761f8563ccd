"""Who may write to a data directory? Whoever holds its lock; the operating system frees it when the holder dies."""

import fcntl
import os
from pathlib import Path

from earnest.foundation.errors import Refused


class WriterLock:
    """An exclusive `flock` on a file that holds the writer's pid, for the message to the next one."""

    def __init__(self, path: Path) -> None:
        """Take the lock at once. Raises `Refused("data_directory_in_use")` if another process, or this one, has it."""
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(self._file, 20, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(self._file)
            raise Refused(
                "data_directory_in_use",
                f"{path.parent} is in use by the process with pid {holder}; it can only be read",
            ) from error
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, b"%d\n" % os.getpid(), 0)

    def release(self) -> None:
        """Give it back. The file stays: to remove it would let two holders each have a lock on a file of their own."""
        os.close(self._file)
