"""A probe of a file's age."""

from pathlib import Path
from typing import Final

from earnest.effects.outside.probes.api import ProbeQuestion, Unknown

AHEAD_S_MAX: Final = 60
"""How far a file's time may lie in the future: clocks of two machines differ a little."""


def measured(question: ProbeQuestion) -> int | None:
    """Whole seconds since the file was written, or None if there is none. Raises `Unknown` if that cannot be told."""
    try:
        status = Path(question.text("path")).stat()
    except FileNotFoundError:
        return None
    age = question.now_ms // 1000 - int(status.st_mtime)
    if age < -AHEAD_S_MAX:
        raise Unknown("the file's time lies in the future")
    return max(0, age)
