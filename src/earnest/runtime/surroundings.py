"""What a run's roles are shown of where it takes place; each look reads the disk and changes nothing."""

import asyncio
import re
import shutil
import sys
from pathlib import Path
from typing import Final

from earnest.effects.hands.listing import escaped, listing
from earnest.effects.hands.workspace.staging import Workspace
from earnest.engine.picture import Given, Picture
from earnest.runtime.order import Order

SEARCH_PATH: Final = f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin"
"""Where commands of the sandbox are looked for."""
USUAL: Final = (
    "python3", "node", "npm", "git", "make", "gcc", "cargo", "go", "java", "ruby", "perl", "php", "jq", "sqlite3",
    "curl", "pandoc", "pdftotext", "convert", "ffmpeg", "zip", "unzip", "pytest",
)  # fmt: skip
"""Asked for in every run, beside what the request names."""
_WORD: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{1,31}", re.ASCII)
PROGRAMS_MAX: Final = 60


class Surroundings:
    """Of one run. `user_home` None: nothing of the user's files is shown."""

    def __init__(self, order: Order, workspace: Workspace, user_home: Path | None) -> None:
        self._order = order
        self._workspace = workspace
        self._home = user_home

    async def look(self) -> Picture:
        """The picture as it is now."""
        return await asyncio.to_thread(self._look)

    def _look(self) -> Picture:
        order = self._order
        given = [_given(name, path, is_edit=False) for name, path in order.inputs.items()]
        given += [_given(name, self._workspace.folder / name, is_edit=True) for name in order.edits]
        names = {name.partition("/")[0] for name in (*order.inputs, *order.edits)}
        return Picture(
            home=escaped(str(self._home)) if self._home else "",
            folder=escaped(str(order.folder)),
            network=order.grants.network,
            given=tuple(given),
            workspace=listing(self._workspace.folder, passed_over=names),
            programs=programs_among(order.request.raw_input),
        )


def programs_among(words: str) -> tuple[str, ...]:
    """Which of the usual programs, and of those that the words name, a command of the sandbox would find."""
    named = dict.fromkeys((*USUAL, *_WORD.findall(words)))
    return tuple(name for name in named if has_program(name))[:PROGRAMS_MAX]


def has_program(name: str) -> bool:
    """Looks at the disk."""
    return shutil.which(name, path=SEARCH_PATH) is not None


def _given(name: str, path: Path, *, is_edit: bool) -> Given:
    is_folder = path.is_dir()
    entries = listing(path) if is_folder else ()
    return Given(name=escaped(name), is_edit=is_edit, is_folder=is_folder, entries=entries)
