"""A sandbox in which every execution finds the packages and programs of one environment."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from earnest.effects.hands.sandbox.api import ENVIRONMENT_DIR, Execution, ExecutionReport, Mount, Sandbox
from earnest.effects.hands.sandbox.bubblewrap import search_path
from earnest.effects.hands.sandbox.host import read_host
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.foundation.errors import Broken, Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """What is shown, and how a verdict names it. `folder` is a virtual environment, None where programs are enough.

    One that `is_built` lies in the data directory and is shown at `ENVIRONMENT_DIR`, any other at its own path.
    """

    name: str
    folder: Path | None = None
    is_built: bool = False

    @property
    def target(self) -> str:
        """Where the folder is shown."""
        return ENVIRONMENT_DIR if self.is_built else str(self.folder)

    def check(self) -> None:
        """Raises `Refused("environment_gone")` where it is not there any more."""
        if self.folder is not None and not self.folder.is_dir():
            raise Refused("environment_gone", f"{self.name} is not there any more: build it again")

    def to_json(self) -> JsonObject:
        """As it is kept with a run or a verdict."""
        return {"name": self.name, "folder": str(self.folder or ""), "is_built": self.is_built}

    @classmethod
    def from_json(cls, value: JsonValue) -> "Equipment | None":
        """The inverse of `to_json`; None for none. Raises `Broken` for anything else."""
        match value:
            case None:
                return None
            case {"name": str(name), "folder": str(folder), "is_built": bool(is_built)}:
                return cls(name=name, folder=Path(folder) if folder else None, is_built=is_built)
        raise Broken("an environment that was kept cannot be read")


def site_packages() -> str:
    """Where packages lie in a virtual environment of this Python."""
    return f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"


class Equipped:
    """See `Sandbox`. The same for tools, checks and hidden tests, and named wherever the sandbox is."""

    def __init__(self, sandbox: Sandbox, equipment: Equipment) -> None:
        self.bare = sandbox
        self._mounts: tuple[Mount, ...] = ()
        self._variables: dict[str, str] = {}
        self.description = f"{sandbox.description} with {equipment.name}"
        self.self_test = sandbox.self_test
        self.close = sandbox.close
        if equipment.folder is not None:
            self._mounts = (Mount(source=equipment.folder, target=equipment.target, is_ours=equipment.is_built),)
            self._variables = {
                "PATH": f"{equipment.target}/bin:{search_path(read_host())}",
                "VIRTUAL_ENV": equipment.target,
            }
        self._of_programs = {"PYTHONPATH": f"{equipment.target}/{site_packages()}"} if equipment.folder else {}

    async def run(self, execution: Execution) -> ExecutionReport:
        """See `Sandbox`."""
        report = await self.bare.run(self._shown(execution))
        return replace(report, sandbox=self.description)

    def _shown(self, execution: Execution) -> Execution:
        more = self._of_programs if execution.program is not None else {}
        return replace(
            execution,
            mounts=(*execution.mounts, *self._mounts),
            environment={**self._variables, **more, **execution.environment},
            joined=execution.joined and self._shown(execution.joined),
        )


def equipped(sandbox: Sandbox, equipment: Equipment | None) -> Sandbox:
    """The sandbox with this environment instead of any that it has; as it is without one."""
    if equipment is None:
        return sandbox
    return Equipped(sandbox.bare if isinstance(sandbox, Equipped) else sandbox, equipment)
