"""A folder's files, links and folders, in order, without following a link; what goes meanwhile is passed over."""

import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


class FoundFile(NamedTuple):
    """What stands at a path, relative to the folder; `identity` changes whenever the content does."""

    path: str
    mode: int
    identity: tuple[int, int, int, int]

    @property
    def is_folder(self) -> bool:
        """A folder."""
        return stat.S_ISDIR(self.mode)

    @property
    def is_link(self) -> bool:
        """A symbolic link."""
        return stat.S_ISLNK(self.mode)

    @property
    def is_file(self) -> bool:
        """A regular file; whatever is neither of the three cannot be taken along."""
        return stat.S_ISREG(self.mode)


def walk(folder: Path, is_wanted: Callable[[str], bool] = lambda _: True, below: str = "") -> Iterator[FoundFile]:
    """All below `folder / below` whose path is wanted, a folder before what is in it. Raises `OSError`."""
    with suppress(FileNotFoundError):
        for name in sorted(one.name for one in (folder / below).iterdir()):
            path = f"{below}/{name}" if below else name
            with suppress(FileNotFoundError):
                if not is_wanted(path):
                    continue
                status = (folder / path).lstat()
                identity = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
                found = FoundFile(path, status.st_mode, identity)
                yield found
                if found.is_folder:
                    yield from walk(folder, is_wanted, path)
