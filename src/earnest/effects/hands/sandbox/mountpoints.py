"""Places that bubblewrap creates to mount something there, where what is written stays: they are taken away again."""

import contextlib
from pathlib import Path

from earnest.effects.hands.sandbox.api import WORK_DIR, Execution, Layers, Profile


def mountpoints(execution: Execution) -> list[Path]:
    """Places that bubblewrap will have to create in a bound work folder or in an upper layer, innermost first."""
    if execution.profile is Profile.VERIFY:
        return []
    work = execution.work.folder / "upper" if isinstance(execution.work, Layers) and execution.work.folder else None
    work = execution.work if isinstance(execution.work, Path) else work
    assert work is not None
    root = work.resolve()
    places = []
    for mount in execution.mounts:
        target = Path(mount.target)
        if target.is_relative_to(WORK_DIR):
            place = root / target.relative_to(WORK_DIR)
            while place != root and not place.exists() and place not in places:
                places.append(place)
                place = place.parent
    return sorted(places, key=lambda place: -len(place.parts))


def remove_if_empty(place: Path) -> None:
    """Take away a mountpoint that was left behind, unless something else stands there now."""
    with contextlib.suppress(OSError):
        if place.parent.resolve() != place.parent:
            return
        status = place.lstat()
        if place.is_dir() and not place.is_symlink():
            place.rmdir()
        elif place.is_file() and not place.is_symlink() and status.st_size == 0:
            place.unlink()
