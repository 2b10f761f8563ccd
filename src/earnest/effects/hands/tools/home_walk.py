"""Files of a home that match. Run in the sandbox as a program, with the standard library alone.

There it sees the home without what is private, can change nothing, and is ended by a limit, whatever the pattern.
"""

import fnmatch
import json
import os
import re
import stat
import sys
from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

RESULTS_MAX: Final = 200
VISITED_MAX: Final = 200_000
DEPTH_MAX: Final = 32
FILE_BYTES_MAX: Final = 1024 * 1024
READ_BYTES_MAX: Final = 256 * 1024 * 1024
NOTHING: Final = "no file matches"
"""Absence is an answer, and no path looks like this."""
LINE_CHARACTERS: Final = 200
"""Of a line that matches, from its beginning."""
_OPEN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def main(arguments: list[str]) -> int:
    """`HOME FOLDER NAME TEXT`: a line for each file found, nearest first; on stderr, whether something was left out.

    An empty NAME or TEXT fits everything. 1: TEXT is no pattern, or FOLDER is none or leads out of HOME.
    """
    home, folder, name, text = arguments
    root = Path(folder).resolve()
    if not (root.is_relative_to(home) and root.is_dir()):
        sys.stderr.write(f"{folder} is no folder of the home that tools are shown\n")
        return 1
    try:
        walk = Walk(name, text)
    except (re.error, RecursionError, OverflowError) as error:
        sys.stderr.write(f"text is no regular expression: {error}\n")
        return 1
    for line in walk.lines(root):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
    if not walk.found:
        sys.stdout.write(f"{NOTHING}\n")
    for note in walk.notes():
        sys.stderr.write(note + "\n")
    return 0


class Walk:
    """One search, breadth first. Hidden names are passed over, links are neither followed nor listed."""

    def __init__(self, name: str, text: str) -> None:
        wanted = name if re.search(r"[*?[]", name) else f"*{name}*"
        self._name = re.compile(fnmatch.translate(wanted), re.IGNORECASE)
        self._text = re.compile(text, re.IGNORECASE) if text else None
        self.found = self._visited = self._large = 0
        self._left_bytes = READ_BYTES_MAX
        self._cut = False

    def lines(self, root: Path) -> Iterator[str]:
        """What is found, as paths, with number and beginning of the first line that matches if a text is sought."""
        folders = deque([(str(root), 0)])
        while folders:
            folder, depth = folders.popleft()
            for entry in _entries(folder):
                self._visited += 1
                if self._visited > VISITED_MAX or self.found == RESULTS_MAX or self._left_bytes <= 0:
                    self._cut = True
                    return
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    self._cut |= depth == DEPTH_MAX
                    folders += [(entry.path, depth + 1)] * (depth < DEPTH_MAX)
                elif entry.is_file(follow_symlinks=False) and self._name.match(entry.name):
                    where = self._where(entry.path)
                    if where is not None:
                        self.found += 1
                        yield _shown(entry.path) + where

    def notes(self) -> Iterator[str]:
        """What a reader must know in order not to take the list for all there is."""
        if self._cut:
            yield "the list is not complete: there is more than can be listed; name a folder"
        if self._large:
            yield f"not looked into: {self._large} files of more than {FILE_BYTES_MAX} bytes"

    def _where(self, path: str) -> str | None:
        """Where in the file the text stands; None if it does not, or if this is no text."""
        if self._text is None:
            return ""
        data = self._content(path)
        if b"\0" in data:
            return None
        for number, line in enumerate(data.decode(errors="replace").splitlines(), start=1):
            if self._text.search(line):
                return f":{number}: {_shown(line.strip()[:LINE_CHARACTERS])}"
        return None

    def _content(self, path: str) -> bytes:
        """The file as it is, empty if it cannot be read or is too large."""
        try:
            with open(os.open(path, _OPEN), "rb") as file:  # noqa: PTH123 - a descriptor, which follows no link
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    return b""
                data = file.read(FILE_BYTES_MAX + 1)
        except OSError:
            return b""
        self._left_bytes -= len(data)
        if len(data) <= FILE_BYTES_MAX:
            return data
        self._large += 1
        return b""


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """By name, not many more than are looked at; none of a folder that cannot be read."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(islice(entries, VISITED_MAX + 1), key=lambda entry: entry.name)
        for entry in found:
            entry.is_dir(follow_symlinks=False)  # from here on it is known, and asking cannot fail
    except OSError:
        return []
    return found


def _shown(text: str) -> str:
    """On one line: what holds control characters is quoted."""
    return text if text.isprintable() else json.dumps(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
