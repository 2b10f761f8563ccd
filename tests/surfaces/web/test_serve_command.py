"""`earnest serve` and `earnest keys`, as processes."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

pytestmark = pytest.mark.slow
RUN = (sys.executable, "-c", "from earnest.surfaces.cli.main import main; main()")
ENDED_S = 30


def begin(home: Path) -> tuple["subprocess.Popen[str]", str]:
    """A platform that listens, and its address."""
    environment = {**os.environ, "EARNEST_HOME": str(home)}
    process = subprocess.Popen(
        [*RUN, "serve", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r"http://127\.0\.0\.1:\d+", line)
    assert found, line or process.communicate()[1]
    return process, found[0]


def end(process: "subprocess.Popen[str]") -> str:
    """Stop it as an operator does; what it said on the way."""
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=ENDED_S)
    assert process.returncode == 0, err
    return out + err


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[tuple["subprocess.Popen[str]", str, Path]]:
    process, url = begin(tmp_path)
    yield process, url, tmp_path
    if process.poll() is None:
        process.kill()
        process.communicate()


def run(home: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "EARNEST_HOME": str(home)}
    return subprocess.run(
        [*RUN, *arguments], capture_output=True, text=True, env=environment, timeout=ENDED_S, check=False
    )


def test_a_platform_begins_is_ready_and_stops(platform: tuple["subprocess.Popen[str]", str, Path]) -> None:
    process, url, home = platform
    assert httpx2.get(f"{url}/healthz").status_code == 200
    assert httpx2.get(f"{url}/readyz", timeout=ENDED_S).json() == {"status": "ready", "wrong": {}}
    registered = httpx2.post(f"{url}/api/v1/agents/register", json={"handle": "maya_r"})
    assert registered.headers.get_list("date") == [registered.headers["date"]], "one date, not two"
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as line:
        line.sendall(b"no request of anybody\r\n\r\n")
        assert line.recv(100).startswith(b"HTTP/1.1 400")
    beside = run(home, "serve", "--port", "0")
    assert beside.returncode == 3
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(6)]
    assert lines[2].startswith(f"{url}/setup/"), "the way in for the operator"
    assert lines[5] == f"{url}/skill.md\n"
    assert end(process) == "", "neither a key nor what a stranger sent"
    again, url = begin(home)
    me = httpx2.get(f"{url}/api/v1/agents/me", headers={"Authorization": f"Bearer {registered.json()['key']}"})
    assert me.json()["handle"] == "maya_r"
    end(again)


def test_a_link_made_beside_the_platform_lets_the_operator_in(
    platform: tuple["subprocess.Popen[str]", str, Path],
) -> None:
    process, url, home = platform
    made = run(home, "keys", "operator-link")
    assert made.returncode == 0, made.stderr
    link = made.stdout.strip()
    assert link.startswith(f"{url}/setup/"), "whatever port it listens at"
    page = httpx2.get(link)
    [style] = re.findall('rel="stylesheet" href="([^"]+)"', page.text)
    assert httpx2.get(url + style).headers["content-type"].startswith("text/css")
    assert "unsafe" not in page.headers["content-security-policy"]
    assert "ern_op_" in httpx2.post(link, data={"handle": "olga"}).text
    assert httpx2.post(link, data={"handle": "olga"}).status_code == 410
    beside = run(home, "serve", "--port", "0")
    assert beside.returncode == 3
    assert run(home, "keys", "operator-link").stdout.startswith(f"{url}/setup/"), "the other one never listened"
    end(process)
    assert run(home, "keys", "operator-link").stdout.startswith("http://127.0.0.1:8420/setup/")
    (home / "secrets" / "keys").unlink()
    refused = run(home, "serve", "--port", "0")
    assert refused.returncode == 3
    assert "missing" in refused.stderr


def test_a_port_that_is_taken_is_said_so(platform: tuple["subprocess.Popen[str]", str, Path], tmp_path: Path) -> None:
    _, url, _ = platform
    refused = run(tmp_path / "other", "serve", "--port", url.rpartition(":")[2])
    assert refused.returncode == 3
    assert "cannot be listened on" in refused.stderr
