"""An agent's own memory and trace: one line for each action with its why, each outcome, each question."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

FILE_NAME: Final = "trace.jsonl"
ROWS_MAX: Final = 10_000
"""Beyond it the older half goes, when the book is opened."""


class JsonLinesBook:
    """A file of JSON lines that are added, never changed. A row whose key is there already is not added again.

    Another process of the same user may add lines, as `earnest agent answer` does; `refresh` sees them.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = folder / FILE_NAME
        self._rows: dict[str, dict[str, Any]] = {}
        self._read_bytes = 0
        self.refresh()
        if len(self._rows) > ROWS_MAX:
            self._shorten()

    def add(self, kind: str, key: str, **members: Any) -> bool:
        """Add a row; False where it is there already. It is on the disk when this returns."""
        if key in self._rows:
            return False
        ends_whole = not self._path.exists() or self._path.stat().st_size == self._read_bytes
        line = json.dumps({"kind": kind, "key": key, **members}, allow_nan=False) + "\n"
        with os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as file:
            file.write(line.encode() if ends_whole else b"\n" + line.encode())
            file.flush()
            os.fsync(file.fileno())
        self.refresh()
        return True

    def refresh(self) -> None:
        """Read what was added. A line that a crash has cut off is passed over."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._read_bytes)
            data = file.read()
        whole = data.rpartition(b"\n")[0]
        self._read_bytes += len(whole) + 1 if whole else 0
        for line in whole.splitlines():
            try:
                row = json.loads(line)
                self._rows.setdefault(str(row["key"]), row)
            except (ValueError, TypeError, KeyError):
                continue

    def get(self, key: str) -> dict[str, Any] | None:
        """The row of that key."""
        return self._rows.get(key)

    def rows(self, kind: str) -> Iterator[dict[str, Any]]:
        """The rows of a kind, the newest first."""
        return (row for row in reversed(self._rows.values()) if row["kind"] == kind)

    def _shorten(self) -> None:
        kept = list(self._rows.items())[-ROWS_MAX // 2 :]
        new = self._path.with_name(f"{FILE_NAME}.new")
        new.touch(0o600)
        new.write_text("".join(f"{json.dumps(row)}\n" for _, row in kept), encoding="utf-8")
        new.replace(self._path)
        self._rows, self._read_bytes = dict(kept), self._path.stat().st_size
