"""Does an ordinary user get the same answers as root? The hostile programs again, in a child with another uid."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ORDINARY = 12_345
PROJECT = Path(__file__).parents[3]
ESSENTIALS = Path(__file__).with_name("sandbox_as_user.py")


@pytest.mark.skipif(os.geteuid() != 0, reason="the whole suite runs as an ordinary user already")
def test_an_ordinary_user_gets_the_same_verdicts() -> None:
    interpreter = _reachable_interpreter()
    paths = [str(PROJECT / "src"), *(path for path in sys.path if path.endswith("site-packages"))]
    done = subprocess.run(
        [interpreter, str(ESSENTIALS)],
        env={"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin"},
        user=ORDINARY,
        group=ORDINARY,
        extra_groups=[],
        cwd="/",
        capture_output=True,
        timeout=60,
        check=False,
    )
    if b"SKIP" in done.stdout:
        pytest.skip(done.stdout.decode())
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().splitlines()[-1] == "all kept"


def _reachable_interpreter() -> str:
    """This interpreter if that user can execute it, else the system's of the same version."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, shutil.which(version, path="/usr/bin:/usr/local/bin")):
        if candidate and all(parent.stat().st_mode & 0o001 for parent in Path(candidate).resolve().parents):
            return candidate
    pytest.skip("no interpreter that an ordinary user can reach")
