"""Whether something that a task takes as given is truly missing: the runtime looks itself, and believes no role."""

import asyncio
import os
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from earnest.contracts.criterion import Criterion
from earnest.effects.hands.listing import escaped
from earnest.effects.hands.workspace.staging import Workspace
from earnest.engine.impossibility import ImpossibilityClaim, Lack
from earnest.runtime.order import Order
from earnest.runtime.surroundings import has_program
from earnest.verification.exclusion import excluding
from earnest.verification.paths import texts_of

VISITED_MAX: Final = 200_000
DEPTH_MAX: Final = 32


class Lookout:
    """`engine.impossibility.Reality` for one run. Reads the disk, changes nothing.

    A file or program counts only if the request takes it as given: what the work was to make may well be absent.
    """

    def __init__(self, order: Order, workspace: Workspace, user_home: Path | None, *, attended: bool) -> None:
        self._order = order
        self._workspace = workspace
        self._home = user_home
        self._attended = attended

    async def confirmed(self, claim: ImpossibilityClaim, needs: Sequence[str], criteria: Sequence[Criterion]) -> str:
        """See `Reality`."""
        name = escaped(claim.name)
        if claim.lack is Lack.CRITERIA:
            return excluding(criteria, claim.name)
        if claim.lack is Lack.NETWORK:
            lacking = "network" in needs and not self._order.grants.network and not self._attended
            return "it needs the network, which this run was not given (--allow-network)" if lacking else ""
        if claim.name not in needs:
            return ""
        if claim.lack is Lack.PROGRAM:
            may_be_had = self._order.grants.network or await asyncio.to_thread(has_program, claim.name)
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
        home = self._home or Path.home()
        if plain == "~" or plain.startswith("~/"):
            return not os.path.lexists(home / plain[2:])
        if Path(plain).is_absolute():
            return not os.path.lexists(plain)
        order = self._order
        roots = [self._workspace.folder, *order.inputs.values(), *order.edits.values(), order.folder]
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
