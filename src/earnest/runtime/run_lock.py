"""One process works a run at a time, and has it until its end was told; the kernel gives it back for a killed one.

The locks are the process's, not a platform's: a result is told when the platform is closed already.
"""

from pathlib import Path
from typing import Final

from earnest.effects.ground.locks import FileLock
from earnest.foundation.errors import Refused

LOCK_FILE: Final = "lock"
_HELD: Final[dict[Path, FileLock]] = {}


def hold_run(run_folder: Path) -> None:
    """Have a run, in a folder that is made if need be. Raises `Refused("run_in_work")`, naming who has it.

    Does nothing where we have it.
    """
    if run_folder in _HELD:
        return
    run_folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(run_folder / LOCK_FILE)
    if not lock.try_take():
        holder = lock.holder
        lock.close()
        raise Refused("run_in_work", f"{run_folder.name} is being worked already by {holder}")
    _HELD[run_folder] = lock


def let_run_go(run_folder: Path) -> None:
    """Let others have it. Does nothing where we do not."""
    lock = _HELD.pop(run_folder, None)
    if lock is not None:
        lock.close()
