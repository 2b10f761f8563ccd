"""Full files of the audit log that are removed after their time, and the facts that say so."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from earnest.audit.event import LogPosition
from earnest.audit.files import full_files
from earnest.audit.reading import last_line
from earnest.foundation.canonical import JsonObject
from earnest.foundation.facts import Fact

REMOVED: Final = "audit.removed"
SUBJECT: Final = "audit"


class OldFile(NamedTuple):
    """A full file, its last line and its size."""

    path: Path
    end: LogPosition
    size_bytes: int

    def removal(self, at_ms: int) -> Fact:
        """That the file is about to go: without this fact the log that is left counts as cut."""
        body: JsonObject = {"lines": self.end.lines, "head": self.end.head}
        return Fact(kind=REMOVED, subject=SUBJECT, at_ms=at_ms, body=body)


def old_files(log: Path, before_ms: int) -> Iterator[OldFile]:
    """The full files that ended before that instant, the oldest first, up to one that is younger or damaged."""
    for one in full_files(log):
        with one.path.open("rb") as file:
            try:
                end, at_ms = last_line(file.fileno())
            except ValueError:
                return
        if at_ms >= before_ms:
            return
        yield OldFile(one.path, end, end.offset_bytes)


def removed_by(body: JsonObject) -> tuple[int, str] | None:
    """Number and hash of the last line that went; None if the body holds none."""
    lines, head = body.get("lines"), body.get("head")
    return (lines, head) if isinstance(lines, int) and isinstance(head, str) else None
