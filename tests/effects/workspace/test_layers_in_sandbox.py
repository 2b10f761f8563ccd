"""Does a command in a layer do what it would do in a copy, as root and as an ordinary user?"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ORDINARY = 12_345
PROJECT = Path(__file__).parents[3]
PROGRAM = Path(__file__).with_name("layer_programs.py")


@pytest.mark.parametrize("uid", [0, ORDINARY], ids=["root", "ordinary user"])
def test_a_command_in_a_layer_changes_what_it_would_change_in_a_copy(uid: int) -> None:
    if os.geteuid() != 0 and uid == 0:
        pytest.skip("only root can be root")
    interpreter = sys.executable if os.geteuid() == uid else _reachable_interpreter()
    paths = [str(PROJECT / "src"), *(path for path in sys.path if path.endswith("site-packages"))]
    with tempfile.TemporaryDirectory() as place:
        os.chown(place, uid, uid)
        done = subprocess.run(
            [interpreter, str(PROGRAM), place],
            env={"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin"},
            user=uid,
            group=uid,
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
