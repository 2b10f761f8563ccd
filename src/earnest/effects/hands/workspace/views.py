"""Layered folders as our own process sees them: mounted by `viewer.py`, reached through its part of /proc."""

import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from earnest.effects.hands.workspace import viewer
from earnest.foundation.errors import Unavailable

UPPER: Final = "upper"
WORK: Final = "work"
SPARE: Final = "spare"
VIEW: Final = "view"


class Views:
    """One viewer, begun when it is first needed. Its methods may be called from several threads."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._alone = threading.Lock()

    def show(self, lowers: Sequence[Path], folder: Path) -> Path:
        """Lay `folder` over the others, the lowest first, and say where the whole is seen and changed.

        In `folder` four are made: `upper` takes the changes, `work` is left for a sandbox. Raises `Unavailable`.
        """
        for name in (UPPER, WORK, SPARE, VIEW):
            (folder / name).mkdir()
        with self._alone:
            viewer_pid = self._ask({"lowers": list(map(str, lowers)), "folder": str(folder)})
            return Path(f"/proc/{viewer_pid}/root{folder / VIEW}")

    def end(self, folder: Path) -> None:
        """End what `show` began; the changes stay. Does nothing if that was done."""
        with self._alone, suppress(Unavailable):
            if self._process is not None and (folder / VIEW).is_dir():
                self._ask({"end": str(folder / VIEW)})

    def close(self) -> None:
        """End them all."""
        with self._alone:
            process, self._process = self._process, None
            if process is not None:
                with process:
                    process.kill()

    def _ask(self, order: object) -> int:
        """Have it done, and say by which process."""
        process = self._process
        if process is None or process.poll() is not None:
            process = self._process = subprocess.Popen(  # noqa: S603 - our own file
                [sys.executable, "-I", "-S", viewer.__file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,
                text=True,
            )
            _hear(process)
        try:
            print(json.dumps(order), file=process.stdin, flush=True)
        except OSError as error:
            raise Unavailable(f"what shows layered folders is gone: {error.strerror}") from error
        _hear(process)
        return process.pid


def _hear(process: subprocess.Popen[str]) -> None:
    said = process.stdout.readline() if process.stdout else ""
    if said != "\n":
        raise Unavailable(f"layered folders cannot be shown: {said.strip() or 'the program that does it ended'}")
