"""The truth about a submission: a plain run of its tests, in a process of their own, with the work in place."""

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from earnest.foundation.canonical import digest_bytes
from earnest.testing.check_conformance import write

AT_ONCE: Final = 2
CPU_S: Final = 10
WALL_SHARE: Final = 6
"""So much longer may it take by the clock, beside others."""
_PYTEST: Final = re.compile(rb"^\s*(?:import|from)\s+pytest\b|^def\s+test", re.M)
_PLAIN: Final = """
import resource, runpy, sys
resource.setrlimit(resource.RLIMIT_CPU, 2 * (int(sys.argv.pop(1)),))
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 26, 1 << 26))
sys.path.insert(0, "")
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""


class Truth(StrEnum):
    """What came of the plain run."""

    PASSES = "passes"
    FAILS = "fails"
    HANGS = "hangs"


@dataclass(frozen=True, slots=True)
class Plain:
    """The plain runs, each made once: `kept` is a file in which they are remembered."""

    kept: Path
    slots: asyncio.Semaphore
    known: dict[str, str]

    @classmethod
    def open(cls, kept: Path) -> "Plain":
        """With what is known already."""
        known: dict[str, str] = {}
        with contextlib.suppress(OSError, ValueError):
            known = json.loads(kept.read_text(encoding="ascii"))
        return cls(kept, asyncio.Semaphore(AT_ONCE), known)

    async def truth(self, tests: Mapping[str, bytes], work: Mapping[str, bytes], cpu_s: int = CPU_S) -> Truth:
        """Do the tests pass on this work?"""
        files = {**work, **tests}
        content = b"\0".join(part for name in sorted(files) for part in (name.encode(), files[name]))
        key = digest_bytes(sys.version.encode() + content)
        if key not in self.known:
            async with self.slots:
                self.known[key] = (await _run(files, sorted(tests), cpu_s)).value
        return Truth(self.known[key])

    def keep(self) -> None:
        """Remember what was found."""
        self.kept.parent.mkdir(parents=True, exist_ok=True)
        self.kept.write_text(json.dumps(self.known, indent=0), encoding="ascii")


async def _run(files: Mapping[str, bytes], tests: list[str], cpu_s: int) -> Truth:
    runner = "pytest" if any(_PYTEST.search(files[name]) for name in tests) else "unittest"
    named = [name for name in tests if re.search(r"(^|/)test_\w*\.py$|_test\.py$", name)]
    options = ["-qx", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir=."] if runner == "pytest" else ["-f"]
    environment = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    with tempfile.TemporaryDirectory(prefix="corpora-") as folder:
        write(Path(folder), files)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", _PLAIN, str(cpu_s), runner, *options, *named),
            cwd=folder,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            code = await asyncio.wait_for(process.wait(), WALL_SHARE * cpu_s)
        except TimeoutError:
            code = -signal.SIGKILL
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if code in {-signal.SIGKILL, -signal.SIGXCPU}:
        return Truth.HANGS
    return Truth.FAILS if code else Truth.PASSES
