"""A folder for what is to be removed: a thing loses its name first, so that it is never half there."""

from contextlib import suppress
from itertools import count
from pathlib import Path

from earnest.effects.hands.workspace.tree import remove_tree


class Trash:
    """The trash in one folder, on the file system of what is thrown away."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def take(self, left: Path) -> None:
        """Remove a file or folder, under a name that is free here."""
        place = next(free for n in count() if not (free := self.folder / f"{left.name}-{n}").exists())
        left.rename(place)
        self._remove(place)

    def empty(self) -> None:
        """Remove what could not be removed before."""
        for left in sorted(self.folder.iterdir(), reverse=True):  # an inner folder's name extends its outer's
            self._remove(left)

    def _remove(self, left: Path) -> None:
        """What cannot be removed now is tried again by the next sweep, and when the workspace opens."""
        with suppress(OSError):
            remove_tree(left, self.folder)
