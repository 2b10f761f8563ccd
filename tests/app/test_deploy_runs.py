"""What `deploy/` begins, as processes: healthy by the checks that stand there, and ended in the time it is given."""

import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from earnest.testing.served import PROGRAM
from surfaces.web.test_serve_faults import environment_in

from .test_deploy import DEPLOY, documents

PORT, ANY, LOOPBACK = "8080", "0.0.0.0", "127.0.0.1"
LAST_S = 120


class Container:
    """A service of compose, as a process on a port of its own."""

    def __init__(self, service: dict[str, Any], home: Path, environment: dict[str, str]) -> None:
        with socket.create_server((LOOPBACK, 0)) as listener:
            self.port = str(listener.getsockname()[1])
        self._check = service["healthcheck"].get("test", [])
        self.grace_s = int(service["stop_grace_period"].removesuffix("s"))
        command = [*PROGRAM, *self._here(service["command"])[1:]]
        self.process = subprocess.Popen(command, env={**environment, "EARNEST_HOME": str(home)})

    def _here(self, words: list[str]) -> list[str]:
        return [word.replace(ANY, LOOPBACK).replace(PORT, self.port) for word in words]

    def is_healthy(self) -> bool:
        kind, _, *words = self._here(self._check)
        assert kind == "CMD"
        return subprocess.run([sys.executable, *words], capture_output=True, check=False).returncode == 0

    def await_health(self) -> None:
        for _ in range(LAST_S * 4):
            if self.is_healthy():
                return
            assert self.process.poll() is None, "it ended"
            threading.Event().wait(0.25)
        raise AssertionError("it is never healthy")

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(self.grace_s)


@pytest.mark.slow  # two servers and a worker
@pytest.mark.timeout(600)
def test_servers_and_worker_of_compose_begin_are_healthy_and_end_in_time(
    tmp_path: Path, postgresql_address: str
) -> None:
    services = documents(DEPLOY / "compose.yaml")[0]["services"]
    environment = {**environment_in(tmp_path), "EARNEST_DATABASE": postgresql_address}
    with ExitStack() as stack:

        def begun(name: str) -> Container:
            container = Container(services[name], tmp_path / name, environment)
            stack.callback(container.process.wait)
            stack.callback(container.process.kill)
            return container

        first = begun("server-1")
        first.await_health()
        shutil.copytree(tmp_path / "server-1" / "secrets", tmp_path / "server-2" / "secrets")  # a volume of both
        second, worker = begun("server-2"), begun("worker")
        second.await_health()
        stateful = next(
            one for one in documents(DEPLOY / "kubernetes" / "servers.yaml") if one["kind"] == "StatefulSet"
        )
        pod = stateful["spec"]["template"]["spec"]
        (server,) = pod["containers"]
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            path = server[probe]["httpGet"]["path"]
            with urllib.request.urlopen(f"http://{LOOPBACK}:{second.port}{path}", timeout=30) as answer:
                assert answer.status == 200, probe
        assert server["command"] == services["server-1"]["command"], "what is tried here is what both begin"
        assert pod["terminationGracePeriodSeconds"] >= first.grace_s
        assert first.end() == 0
        assert not first.is_healthy()
        assert second.is_healthy(), "one server goes, the other answers"
        assert (worker.end(), second.end()) == (0, 0)
