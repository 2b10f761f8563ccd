"""Files of a test's temporary folder, shared with the submission, and those it wrote. (Both sides.)

What a call names is shared and nothing beside it: a file, a folder with all below it, or a path where one may be made.
What the submission changes there comes back. Only regular files and folders below /tmp, never through a link.
"""

import base64
import builtins
import os as _os
import stat
from types import SimpleNamespace
from typing import Any, Final

from earnest.verification.unit_tests.library import Malformed, Node

# As they are now: a test may put something else in their place.
os: Any = SimpleNamespace(**{**vars(_os), "path": SimpleNamespace(**vars(_os.path))})
_open: Final = builtins.open

PREFIX: Final = "/tmp/"  # noqa: S108 - each side has one of its own, in memory
FILES_MAX: Final = 2_000
BYTES_MAX: Final = 8 << 20
FOLDER: Final = -1

State = dict[str, tuple[int, int]]
"""Path → (time of change in ns, size), or (0, FOLDER)."""


class Shelf:
    """One side's view of what is shared. `folders` are shared with all below them, `files` one by one."""

    def __init__(self) -> None:
        self.folders: set[str] = set()
        self.files: set[str] = set()
        self.known: State = {}

    @property
    def is_used(self) -> bool:
        """True if anything is shared."""
        return bool(self.folders or self.files)

    def shared(self) -> list[Node]:
        """What is shared, for the other side."""
        return [sorted(self.folders), sorted(self.files)]

    def add(self, path: str) -> None:
        """Share a path that a call names, if it is one below /tmp, whether or not it is there yet."""
        path = os.path.normpath(path)
        if path.startswith(PREFIX) and "\0" not in path:
            (self.folders if os.path.isdir(path) and not os.path.islink(path) else self.files).add(path)

    def changes(self) -> list[Node]:
        """What is gone, new or other since last time: [path, content in base64, or None for a folder, or False].

        What is gone comes first, from the innermost on, so that folders are empty when their turn comes.
        """
        state = self._look()
        found: list[Node] = [[path, False] for path in sorted(self.known, reverse=True) if self._is_gone(path, state)]
        total = 0
        for path, mark in state.items():
            if self.known.get(path) == mark:
                continue
            if mark[1] == FOLDER:
                found.append([path, None])
                continue
            total += mark[1]
            if total > BYTES_MAX:
                raise Malformed(f"more than {BYTES_MAX} bytes of files to share")
            found.append([path, base64.b64encode(_content(path)).decode()])
        self.known = state
        return found

    def _is_gone(self, path: str, state: State) -> bool:
        """True also for a file where a folder is now, and the other way round."""
        return path not in state or (self.known[path][1] == FOLDER) != (state[path][1] == FOLDER)

    def apply(self, changes: Node, *, anywhere: bool) -> None:
        """Do to our files what was done to the others'. Without `anywhere`, only where something is shared."""
        if type(changes) is not list or len(changes) > FILES_MAX:
            raise Malformed("too many files")
        for change in changes:
            path, content = change
            if type(path) is not str or os.path.normpath(path) != path or not path.startswith(PREFIX) or "\0" in path:
                raise Malformed("a path that is none")
            if anywhere or self._is_shared(path):
                self._apply(path, content)
            elif type(content) is str or not self._leads_on(path):
                raise Malformed("a path that is not shared")
            elif content is None:
                self._apply(path, content)
        self.known = self._look()

    def _apply(self, path: str, content: Node) -> None:
        parent = os.path.dirname(path)
        os.makedirs(parent, exist_ok=True)
        if os.path.realpath(parent) != parent:
            raise Malformed("a path through a link")
        if content is None:
            os.makedirs(path, exist_ok=True)
        elif content is False:
            if os.path.isdir(path) and not os.path.islink(path):
                if not os.listdir(path):
                    os.rmdir(path)
            elif os.path.lexists(path):
                os.unlink(path)
        elif type(content) is str:
            data = base64.b64decode(content, validate=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644)
            with _open(descriptor, "wb") as file:
                file.write(data)
        else:
            raise Malformed("no content")

    def _is_shared(self, path: str) -> bool:
        return any(path == place or path.startswith(place + "/") for place in self.folders | self.files)

    def _leads_on(self, path: str) -> bool:
        """True for a folder on the way to what is shared: it may be made, and stays."""
        return any(place.startswith(path + "/") for place in self.folders | self.files)

    def _look(self) -> State:
        state: State = {}
        for path in sorted(self.files):
            parent = os.path.dirname(path)
            if parent + "/" != PREFIX and os.path.isdir(parent):
                state[parent] = (0, FOLDER)
            _note(path, state)
        made = {path for path in self.files if os.path.isdir(path) and not os.path.islink(path)}
        for folder in sorted(self.folders | made):
            if os.path.isdir(folder):
                state[folder] = (0, FOLDER)
            else:
                _note(folder, state)
            for place, folders, files in os.walk(folder):
                for name in folders:
                    if not os.path.islink(f"{place}/{name}"):
                        state[f"{place}/{name}"] = (0, FOLDER)
                for name in files:
                    _note(f"{place}/{name}", state)
                if len(state) > FILES_MAX:
                    raise Malformed(f"more than {FILES_MAX} files to share")
        return state


def _note(path: str, state: State) -> None:
    try:
        status = os.lstat(path)
    except OSError:
        return
    if stat.S_ISREG(status.st_mode):
        state[path] = (status.st_mtime_ns, status.st_size)


def _content(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with _open(descriptor, "rb") as file:
        return file.read(BYTES_MAX + 1)
