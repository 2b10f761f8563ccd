"""The files of an audit log: the one that is written, and before it the full ones, named by their last line."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from earnest.effects.ground.clock import Chance
from earnest.effects.ground.durable import put_file
from earnest.foundation.errors import Refused

NAME: Final = "name"
"""A file beside the log."""


@dataclass(frozen=True, slots=True, order=True)
class FullFile:
    """A file that nobody writes any more, and the number of its last line."""

    last_line: int
    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLog:
    """A log as it was at one moment. `written` is None if a writer was killed between two files."""

    full: tuple[FullFile, ...]
    written: IO[bytes] | None

    def files(self, lines: int = 0) -> Iterator[tuple[IO[bytes], bool]]:
        """From the file on that holds line number `lines`, each open, and whether it is full. Raises `OSError`."""
        for one in self.full:
            if one.last_line >= lines:
                with one.path.open("rb") as file:
                    yield file, True
        if self.written is not None:
            yield self.written, False

    def newest_first(self) -> Iterator[IO[bytes]]:
        """From the newest file back, each open. Raises `OSError`."""
        if self.written is not None:
            yield self.written
        for one in reversed(self.full):
            with one.path.open("rb") as file:
                yield file


def full_name(path: Path, last_line: int) -> Path:
    """What the log's file is called when it is full."""
    return path.with_name(f"{path.stem}.{last_line:012d}{path.suffix}")


def full_files(path: Path) -> list[FullFile]:
    """Those of the log at `path`, in order."""
    name = re.compile(rf"{re.escape(path.stem)}\.([0-9]{{12}}){re.escape(path.suffix)}")
    if not path.parent.is_dir():
        return []
    return sorted(
        FullFile(int(found[1]), one) for one in path.parent.iterdir() if (found := name.fullmatch(one.name)) is not None
    )


def name_of(path: Path) -> str:
    """The name of the log among those of other machines; empty where it was given none."""
    try:
        return path.with_name(NAME).read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return ""


def give_name(path: Path, chance: Chance) -> str:
    """The name of the log, made up at first."""
    if not name_of(path):
        put_file(path.with_name(NAME), f"{chance.new_id(0)}\n".encode())
    return name_of(path)


def has_log(path: Path) -> bool:
    """True if there is any file of the log."""
    return path.is_file() or bool(full_files(path))


@contextmanager
def opened(path: Path) -> Iterator[OpenLog]:
    """The log as it is now, whoever begins a new file meanwhile. Raises `Refused("audit_log_missing")`, `OSError`."""
    while True:
        with ExitStack() as stack:
            full = full_files(path)
            try:
                written = stack.enter_context(path.open("rb"))
            except FileNotFoundError:
                written = None
            if full_files(path)[-1:] != full[-1:]:
                continue
            if written is None and not full:
                raise Refused("audit_log_missing", f"there is no audit log at {path}")
            yield OpenLog(full=tuple(full), written=written)
            return
