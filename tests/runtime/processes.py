"""Which processes are there? Asked of /proc, so that those in the sandbox show as well."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

DEADLINE_S = 20.0


def any_with(mark: str) -> bool:
    """True if some process has `mark` in its command line."""
    return any(mark in _command_line(place) for place in Path("/proc").iterdir() if place.name.isdigit())


def _command_line(place: Path) -> str:
    """Empty for one that has just ended or is a zombie."""
    try:
        words = (place / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    return b" ".join(words).decode(errors="replace")


def eventually(holds: Callable[[], bool]) -> bool:
    """Look again and again until it holds; False if it never does."""
    deadline, pause = time.monotonic() + DEADLINE_S, threading.Event()
    while not holds():
        if time.monotonic() > deadline:
            return False
        pause.wait(0.01)
    return True
