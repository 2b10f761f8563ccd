"""How big is the base install, how soon does `earnest --help` answer, and a run on a terminal show its first line?"""

import contextlib
import json
import os
import pty
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

import earnest

HELP_RUNS = 15
PLAYBOOK = Path(__file__).resolve().parents[1] / "examples" / "01-inventory" / "playbook.yaml"


def closure(name: str, found: dict[str, metadata.Distribution]) -> dict[str, metadata.Distribution]:
    """The distribution and all that it needs here, extras left out."""
    distribution = metadata.distribution(name)
    if distribution.metadata["Name"] not in found:
        found[distribution.metadata["Name"]] = distribution
        for line in distribution.requires or ():
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                closure(needed.name, found)
    return found


def own_bytes() -> int:
    """What the package itself takes: an editable install, as here, does not count its files."""
    folder = Path(earnest.__file__).parent
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def size_bytes(distribution: metadata.Distribution) -> int:
    """What its files take, compiled ones included."""
    paths = (Path(str(file.locate())) for file in distribution.files or ())
    return sum(path.stat().st_size for path in paths if path.is_file())


def help_s() -> float:
    """The median time of a fresh process."""
    command = [str(Path(sys.executable).with_name("earnest")), "--help"]
    took: list[float] = []
    for _ in range(HELP_RUNS):
        begun = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        took.append(time.perf_counter() - begun)
    return statistics.median(took)


def first_line_s(home: Path) -> float:
    """The median time until a terminal shows the first line of a run, of which it then reads all."""
    took: list[float] = []
    for _ in range(HELP_RUNS):
        begun = time.perf_counter()
        child, screen = pty.fork()
        if not child:
            program = str(Path(sys.executable).with_name("earnest"))
            os.execve(program, [program, "run", "--new", str(PLAYBOOK)], {**os.environ, "EARNEST_HOME": str(home)})
        shown = b""
        while b"\n" not in shown:
            shown += os.read(screen, 4_096)
        took.append(time.perf_counter() - begun)
        with contextlib.suppress(OSError):  # how a terminal says that nobody writes any more
            while os.read(screen, 4_096):
                pass
        os.close(screen)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return statistics.median(took)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        first_s = first_line_s(Path(folder))
    base = closure("earnest", {})
    print(
        json.dumps(
            {
                "distributions": len(base),
                "size_mb": round((own_bytes() + sum(map(size_bytes, base.values()))) / 1e6, 1),
                "help_s": round(help_s(), 3),
                "first_line_s": round(first_s, 3),
            }
        )
    )
