"""What the submission prints to and reads from. (The submission's side.)"""

import io
from collections.abc import Callable
from typing import Any, Final, TextIO

KEPT_BYTES_MAX: Final = 1 << 20  # of one call; what is more goes to the sandbox's own output too, and its limit


class Output(io.TextIOWrapper):
    """What stands in for stdout or stderr: kept for the answer, and beyond a bound given to the real stream."""

    def __init__(self, real: TextIO) -> None:
        self._kept = io.BytesIO()
        self._real = real
        super().__init__(self._kept, encoding="utf-8", errors="backslashreplace", write_through=True)

    def drain(self) -> str:
        """What was written since last time."""
        if not self._kept.tell():  # nothing waits above it: see write_through
            return ""
        self.flush()
        data = self._kept.getvalue()
        self._kept.seek(0)
        self._kept.truncate()
        if len(data) > KEPT_BYTES_MAX:
            self._real.buffer.write(data)
            self._real.flush()
        return data[:KEPT_BYTES_MAX].decode("utf-8", "replace")


class Input(io.TextIOBase):
    """What stands in for stdin: the test's, if it put one there. `ask` is given `read` or `readline`."""

    def __init__(self, ask: Callable[[str], Any]) -> None:
        self._ask = ask

    def readable(self) -> bool:
        """It is."""
        return True

    def readline(self, _size: int = -1) -> str:  # type: ignore[override]
        """A line with its end, or nothing."""
        return str(self._ask("readline"))

    def read(self, _size: int | None = -1) -> str:
        """All that is left."""
        return str(self._ask("read"))
