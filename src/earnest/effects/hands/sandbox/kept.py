"""A green self-test, kept for a day: where only its owner writes, and bound to everything that it was tried on."""

import contextlib
import hashlib
import json
import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from earnest.effects.ground.durable import put_file
from earnest.effects.hands.sandbox.api import Probe, SelfTest
from earnest.foundation.version import VERSION

FORMAT: Final = "earnest-self-test-v1"
FILE_NAME: Final = "self-test.json"
VALID_MS: Final = 86_400_000
FILE_BYTES_MAX: Final = 64 * 1024
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_STATUS: Final = Path("/proc/self/status")
_PRIVILEGES: Final = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")
_NAMESPACES: Final = ("user", "pid", "mnt", "net")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTest:
    """Where a result is kept, and by which program it was reached, as its provider describes itself."""

    folder: Path
    binary: Path
    provider: str

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / FILE_NAME

    def read(self, now_ms: int) -> SelfTest | None:
        """The kept result; None if there is none, it is too old, or anything is not as it was."""
        try:
            if fault(self.folder):
                return None
            said = json.loads(_private_text(self.path))
            names, at_ms, lack = said["probes"], said["at_ms"], said["lack"]
            sound = said["format"] == FORMAT and said["bound_to"] == self._bound_to()
            named = isinstance(names, list) and bool(names) and all(isinstance(name, str) for name in names)
            in_time = type(at_ms) is int and 0 <= now_ms - at_ms < VALID_MS
            if not (sound and named and in_time and isinstance(lack, str)):
                return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        probes = tuple(Probe(name=name, held=True) for name in names)
        return SelfTest(provider=self.provider, at_ms=at_ms, probes=probes, lack=lack)

    def write(self, test: SelfTest) -> None:
        """Keep a green result in place of the last; take the last away if this one is not green."""
        with contextlib.suppress(OSError):
            if not test.green or fault(self.folder):
                self.path.unlink(missing_ok=True)
                return
            said = {
                "format": FORMAT,
                "at_ms": test.at_ms,
                "probes": [probe.name for probe in test.probes],
                "lack": test.lack,
                "bound_to": self._bound_to(),
            }
            put_file(self.path, json.dumps(said).encode())

    def _bound_to(self) -> dict[str, str]:
        """What a sandbox's holding depends on. Raises `OSError`."""
        system = os.uname()
        status = dict(line.partition(":")[::2] for line in _STATUS.read_text(encoding="ascii").splitlines())
        places = [str(Path("/proc/self/ns", name).readlink()) for name in _NAMESPACES]
        return {
            "boot": _BOOT.read_text(encoding="ascii").strip(),
            "kernel": f"{system.release} {system.version} {system.machine}",
            "place": " ".join([*places, *(status.get(name, "").strip() for name in _PRIVILEGES)]),
            "program": f"{self.binary} {_digest([self.binary])}",
            "package": f"{VERSION} {_digest(sorted(Path(__file__).parent.glob('*.py')))}",
            "interpreter": f"{sys.base_prefix} {sys.version}",
            "uid": str(os.geteuid()),
            "provider": self.provider,
        }


def fault(folder: Path) -> str:
    """Why nothing can be kept in a folder; empty if it exists and only this user writes there."""
    try:
        status = folder.stat()
    except OSError as error:
        return f"{folder}: {error.strerror}"
    if not stat.S_ISDIR(status.st_mode):
        return f"{folder} is not a folder"
    return "" if _is_ours(status) else f"others than its owner may write to {folder}"


def _is_ours(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _private_text(path: Path) -> str:
    """The text of a regular file that only this user writes. Raises `OSError`."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), encoding="ascii") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or not _is_ours(status) or status.st_size > FILE_BYTES_MAX:
            raise OSError(f"{path} is not a file of ours")
        return file.read(FILE_BYTES_MAX)


def _digest(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
