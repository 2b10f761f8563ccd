"""What the system refused, with what to do about it."""

import errno
import os
from pathlib import Path
from typing import Final

ENTRIES_MAX: Final = 1_000
_HINTS: Final = {
    errno.EACCES: "`ls -ld` shows whose it is; `chmod` or another path helps",
    errno.EISDIR: "name a file in it",
    errno.ENOSPC: "`earnest gc` removes old runs",
    errno.ENOTDIR: "a part of the path is a file",
    errno.EROFS: "choose a path on another disk",
}


def why(error: OSError) -> str:
    """The system's words and, where one is known, a hint. For a missing file: the folder looked in, and a like name."""
    said = error.strerror or str(error)
    if error.errno == errno.ENOENT and error.filename:
        return f"{said}{_missing(Path(os.fsdecode(error.filename)))}"
    hint = _HINTS.get(error.errno or 0)
    return f"{said}: {hint}" if hint else said


def _missing(path: Path) -> str:
    folder = path.absolute().parent
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry, _ in zip(entries, range(ENTRIES_MAX), strict=False)]
    except OSError:
        return f": there is no folder {folder}" if not folder.exists() else ""
    import difflib  # noqa: PLC0415 - only mistakes need it

    near = difflib.get_close_matches(path.name, names, n=1, cutoff=0.5)
    return f" in {folder}" + (f"; did you mean {near[0]!r}?" if near else "")
