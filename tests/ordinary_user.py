"""Programs of the tests in a child with another uid: what holds for root is to hold for an ordinary user too."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ORDINARY = 12_345
PROJECT = Path(__file__).parents[1]


def run_as(uid: int, program: Path, *arguments: str, timeout_s: int = 60) -> str:
    """What the program prints. It must end with 0, and skips the test if it prints SKIP."""
    interpreter = sys.executable if os.geteuid() == uid else reachable_interpreter()
    paths = [str(PROJECT / "src"), *(path for path in sys.path if path.endswith("site-packages"))]
    done = subprocess.run(
        [interpreter, str(program), *arguments],
        env={"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin"},
        user=uid,
        group=uid,
        extra_groups=[],
        cwd="/",
        capture_output=True,
        timeout=timeout_s,
        check=False,
    )
    if b"SKIP" in done.stdout:
        pytest.skip(done.stdout.decode())
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def reachable_interpreter() -> str:
    """This interpreter if an ordinary user can execute it, else the system's of the same version."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, shutil.which(version, path="/usr/bin:/usr/local/bin")):
        if candidate and all(parent.stat().st_mode & 0o001 for parent in Path(candidate).resolve().parents):
            return candidate
    pytest.skip("no interpreter that an ordinary user can reach")
