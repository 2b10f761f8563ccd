"""What does a resident agent take that has nothing to do: CPU of a look, memory? Prints one JSON object."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from earnest.client.credentials import Credentials, save_credentials
from earnest.testing.served import GENEROUS, PROGRAM, served

ENVIRONMENT = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
LOOKS = 20


@contextmanager
def living(folder: Path, graph: str) -> Iterator["subprocess.Popen[str]"]:
    environment = {**ENVIRONMENT, "EARNEST_HOME": str(folder), "USE_LANGGRAPH": graph}
    command = [*PROGRAM, "agent", "--exec", "true", "--every", "1", "--as", "idle"]
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def looked(process: "subprocess.Popen[str]", times: int) -> None:
    assert process.stdout is not None
    for _ in range(times):
        assert "idle" in process.stdout.readline()


def cpu_ms(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1_000 / os.sysconf("SC_CLK_TCK")


def rss_mb(pid: int) -> float:
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1_000


def measured(folder: Path, graph: str) -> dict[str, float]:
    with living(folder, graph) as process:
        looked(process, 3)
        began = cpu_ms(process.pid)
        looked(process, LOOKS)
        return {"look_cpu_ms": (cpu_ms(process.pid) - began) / LOOKS, "rss_mb": rss_mb(process.pid)}


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with served(folder / "platform", ENVIRONMENT, settings=GENEROUS) as platform:
            platform.become_operator()
            keys = platform.agent("idle")
            save_credentials(folder, Credentials(handle="idle", url=platform.url, key=keys["live"], id=keys["id"]))
            print(json.dumps({"plain": measured(folder, "0"), "graph": measured(folder, "1")}, indent=1))


if __name__ == "__main__":
    main()
