"""Programs on a leash: gone within seconds, with all that they started, whoever of the three is killed first."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from earnest.effects.ground.leash import leashed

OWNER = """
import subprocess, sys, time
from earnest.effects.ground.leash import leashed
process = subprocess.Popen(leashed(["sh", "-c", "sleep MARK & sleep MARK"]), start_new_session=True)
print(process.pid, flush=True)
process.wait()
"""
GONE_S_MAX = 2.0
PROBE = """
import asyncio, sys
from earnest.effects.ground.clock import SystemClock
from earnest.effects.outside.probes.measuring import OperatorProbes
from earnest.effects.outside.probes.spec import Expectation, ProbeSpec
command = ["sh", "-c", "sleep 600; sleep 600"]
spec = ProbeSpec(kind="command", config={"command": command}, expectation=Expectation(equals=0), wall_s=300)
asyncio.run(OperatorProbes({"p": spec}, SystemClock(), {}).measure("p"))
"""
PAGE = """
import asyncio
from earnest.effects.outside.web.fetching import FetchedPage
from earnest.effects.outside.web.text import text_of
body = b"<p>" + b"<a href='/x'>a</a> <b>b</b>" * 400_000
asyncio.run(text_of(FetchedPage(url="https://a.org/", status=200, content_type="text/html", body=body, digest="")))
"""
WAITS = "try:\n{}\nexcept Exception as e: print(e, file=sys.stderr)\nfinally: sys.stdin.read()\n"


def running(mark: str) -> list[int]:
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                words = (place / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if mark.encode() in words and b"sleep" in words[0]:
                found.append(int(place.name))
    return found


def within(seconds: float, holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("first", ["owner", "leash"])
def test_nothing_outlives_whoever_is_killed(first: str) -> None:
    mark = f"86400.{time.time_ns()}"
    owner = subprocess.Popen([sys.executable, "-c", OWNER.replace("MARK", mark)], stdout=-1, text=True)
    assert owner.stdout is not None
    leash = int(owner.stdout.readline())
    assert within(20, lambda: len(running(mark)) == 2)
    if first == "owner":
        owner.kill()
        assert within(GONE_S_MAX, lambda: not running(mark))
    else:
        shell = _parent(running(mark)[0])
        subprocess.run(["kill", "-9", str(leash)], check=True)
        assert within(GONE_S_MAX, lambda: not Path(f"/proc/{shell}").exists())
        subprocess.run(["kill", "-9", *map(str, running(mark))], check=False)  # those are their starter's to end
    owner.kill()
    owner.communicate()


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])


@pytest.mark.parametrize(("command", "code"), [("exit 7", 7), ("kill -9 $$", -signal.SIGKILL), ("exit 0", 0)])
def test_a_leash_ends_as_its_program_does(command: str, code: int) -> None:
    ended = subprocess.run(
        leashed(["sh", "-c", f"echo said; {command}"]), start_new_session=True, stdout=-1, check=False
    )
    assert (ended.returncode, ended.stdout) == (code, b"said\n")


def test_a_program_that_is_not_there_cannot_be_started() -> None:
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        leashed(["no-such-program"])


def test_a_relative_name_is_that_of_a_program_in_the_folder_where_it_begins(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\npwd\n")
    tool.chmod(0o755)
    command = leashed(["./tool"], folder=tmp_path)
    ended = subprocess.run(command, cwd=tmp_path, start_new_session=True, stdout=-1, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, f"{tmp_path}\n")
    with pytest.raises(FileNotFoundError):
        leashed(["./tool"], folder=tmp_path.parent)


def marked(mark: str) -> Iterator[tuple[int, str]]:
    """Whoever has this in their environment, and their command line."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if f"MARK={mark}".encode() in (place / "environ").read_bytes().split(b"\0"):
                yield int(place.name), (place / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:  # it has ended
            continue


@pytest.mark.slow
@pytest.mark.parametrize("first", ["owner", "leash", "worker"])
@pytest.mark.parametrize(("asks", "last"), [(PROBE, "sleep 600"), (PAGE, "earnest.effects.outside.web.worker")])
def test_no_probe_and_no_reader_of_pages_outlives_whoever_is_killed(asks: str, last: str, first: str) -> None:
    mark = str(time.time_ns())
    script = "import sys\n" + WAITS.format("\n".join(f"  {line}" for line in asks.strip().splitlines()))
    with subprocess.Popen([sys.executable, "-c", script], stdin=-1, env={**os.environ, "MARK": mark}) as owner:

        def others() -> dict[str, int]:
            return {("leash" if "leash.py" in line else line): pid for pid, line in marked(mark) if pid != owner.pid}

        try:
            assert within(30, lambda: any(line.startswith(last) or f"-m {last}" in line for line in others()))
            assert "leash" in others()
            worker = next(pid for line, pid in others().items() if "worker" in line)
            os.kill({"owner": owner.pid, "leash": others()["leash"], "worker": worker}[first], 9)
            assert within(GONE_S_MAX, lambda: not others()), others()
        finally:
            owner.kill()
