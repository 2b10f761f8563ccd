"""`earnest run --watch`: a playbook worked anew whenever it or what it reads has changed."""

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import click

from earnest.app.readers import order_of
from earnest.effects.ground.clock import SystemClock
from earnest.foundation.errors import EarnestError
from earnest.runtime.order import Grants, PlaybookOrder
from earnest.surfaces.cli.endings import ending_of
from earnest.surfaces.cli.printing import complain

LOOK_MS: Final = 500
FILES_MAX: Final = 10_000

State = tuple[tuple[str, int, int], ...]


def repeat(playbook: Path, work_once: Callable[[], None]) -> None:
    """Work it, wait for a change, and so on, until Ctrl+C. What goes wrong is told, and mended by the next change."""
    while True:
        seen = _state(playbook)
        try:
            work_once()
        except click.exceptions.Exit:
            pass
        except EarnestError as error:
            ending_of(error)
        complain([f"waiting for a change of {playbook} or its inputs; Ctrl+C ends"])
        while _state(playbook) == seen:
            asyncio.run(SystemClock().sleep_ms(LOOK_MS))


def _state(playbook: Path) -> State:
    """Path, time and size of each file that counts; of large inputs the first `FILES_MAX` that are met."""
    watched = [playbook]
    try:
        order = order_of(playbook, Grants())
        watched += order.inputs.values() if isinstance(order, PlaybookOrder) else ()
    except EarnestError:
        pass  # told when it is worked
    return tuple(sorted(entry for path in watched for entry in _files(path)))


def _files(path: Path) -> Iterator[tuple[str, int, int]]:
    found = (Path(folder) / name for folder, _, names in os.walk(path) for name in names) if path.is_dir() else [path]
    for count, file in enumerate(found):
        if count >= FILES_MAX:
            return
        try:
            status = file.stat()
        except OSError:
            continue  # gone meanwhile
        yield str(file), status.st_mtime_ns, status.st_size
