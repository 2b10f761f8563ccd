"""What a run's roles are shown of where it takes place, and whether what a task takes as given is truly missing.

Each look reads the disk and changes nothing. The runtime looks itself, and believes no role.
"""

import asyncio
import os
import re
import shutil
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from earnest.contracts.criterion import Criterion
from earnest.effects.hands.listing import escaped, listing
from earnest.effects.hands.workspace.staging import Workspace
from earnest.engine.impossibility import ImpossibilityClaim, Lack
from earnest.engine.picture import Given, Picture
from earnest.runtime.order import Order
from earnest.verification.exclusion import excluding
from earnest.verification.paths import texts_of

SEARCH_PATH: Final = f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin"
"""Where commands of the sandbox are looked for."""
USUAL: Final = (
    "python3", "node", "npm", "git", "make", "gcc", "cargo", "go", "java", "ruby", "perl", "php", "jq", "sqlite3",
    "curl", "pandoc", "pdftotext", "convert", "ffmpeg", "zip", "unzip", "pytest",
)  # fmt: skip
"""Asked for in every run, beside what the request names."""
_WORD: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{1,31}", re.ASCII)
PROGRAMS_MAX: Final = 60

VISITED_MAX: Final = 200_000
DEPTH_MAX: Final = 32


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Of one run: what its roles are shown, and `engine.impossibility.Reality`.

    `user_home` None: nothing of the user's files is shown. A file or program is missing only if the request takes it as
    given: what the work was to make may well be absent. `attended`: somebody is there to give leave.
    """

    order: Order
    workspace: Workspace
    user_home: Path | None
    attended: bool = False

    async def look(self) -> Picture:
        """The picture as it is now."""
        return await asyncio.to_thread(self._look)

    def _look(self) -> Picture:
        order = self.order
        given = [_given(name, path, is_edit=False) for name, path in order.inputs.items()]
        given += [_given(name, self.workspace.folder / name, is_edit=True) for name in order.edits]
        names = {name.partition("/")[0] for name in (*order.inputs, *order.edits)}
        return Picture(
            home=escaped(str(self.user_home)) if self.user_home else "",
            folder=escaped(str(order.folder)),
            network=order.grants.network,
            given=tuple(given),
            workspace=listing(self.workspace.folder, passed_over=names),
            programs=programs_among(order.request.raw_input),
        )

    async def confirmed(self, claim: ImpossibilityClaim, needs: Sequence[str], criteria: Sequence[Criterion]) -> str:
        """See `Reality`."""
        name = escaped(claim.name)
        if claim.lack is Lack.CRITERIA:
            return excluding(criteria, claim.name)
        if claim.lack is Lack.NETWORK:
            lacking = "network" in needs and not self.order.grants.network and not self.attended
            return "it needs the network, which this run was not given (--allow-network)" if lacking else ""
        if claim.name not in needs:
            return ""
        if claim.lack is Lack.PROGRAM:
            may_be_had = self.order.grants.network or await asyncio.to_thread(has_program, claim.name)
            return "" if may_be_had else f"the program {name} is not installed"
        absent = await asyncio.to_thread(self._is_nowhere, claim.name)
        return f"there is no {name}: looked for in the workspace, the inputs, the current folder and the home" * absent

    async def lacking(self, needs: Sequence[str], criteria: Sequence[Criterion]) -> str:
        """See `Reality`."""
        made = {text for one in criteria if one.check for text in texts_of(one.check.config)}
        for name in needs:
            if name in made or await asyncio.to_thread(has_program, name):
                continue
            lack = Lack.NETWORK if name == Lack.NETWORK else Lack.FILE
            claim = ImpossibilityClaim(lack=lack, name=name, because="", record="")
            if missing := await self.confirmed(claim, needs, criteria):
                return missing
        return ""

    def _is_nowhere(self, name: str) -> bool:
        """False if the name is found, anywhere, or if somewhere was too much to look through."""
        plain = name.replace("${HOME}", "~").replace("$HOME", "~")
        home = self.user_home or Path.home()
        if plain == "~" or plain.startswith("~/"):
            return not os.path.lexists(home / plain[2:])
        if Path(plain).is_absolute():
            return not os.path.lexists(plain)
        order = self.order
        roots = [self.workspace.folder, *order.inputs.values(), *order.edits.values(), order.folder]
        wanted = plain.rstrip("/").rpartition("/")[2].casefold()
        named = {place.name.casefold() for place in (*order.inputs.values(), *order.edits.values())}
        named |= {given.casefold() for given in (*order.inputs, *order.edits)}
        if wanted in named or any(os.path.lexists(root / plain) for root in (*roots, home)):
            return False
        budget = _Budget()
        return (
            not any(
                found.casefold() == wanted for root in dict.fromkeys((*roots, home)) for found in budget.names(root)
            )
            and not budget.is_spent
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


class _Budget:
    """One look through several folders."""

    def __init__(self) -> None:
        self.is_spent = False
        self._left = VISITED_MAX

    def names(self, root: Path) -> Iterator[str]:
        """Of all that stands below, hidden folders and links not entered."""
        folders = deque([(root, 0)])
        while folders:
            folder, depth = folders.popleft()
            try:
                with os.scandir(folder) as found:
                    for entry in found:
                        self._left -= 1
                        if self._left < 0 or depth > DEPTH_MAX:
                            self.is_spent = True
                            return
                        yield entry.name
                        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                            folders.append((Path(entry.path), depth + 1))
            except OSError:
                continue
