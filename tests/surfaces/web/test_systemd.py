"""The platform under a service manager: it says when it is ready, takes settings anew without a break, and drains."""

import signal
import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from earnest.testing.served import GENEROUS, ServedPlatform, served

from .test_serve_faults import environment_in

DEPLOY = Path(__file__).parents[3] / "deploy"


class Manager:
    """Hears what a service says, as systemd does."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.settimeout(60)
        self._socket.bind(str(path))

    def heard(self) -> str:
        return self._socket.recv(4_096).decode()

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    hearing = Manager(tmp_path / "notify")
    yield hearing
    hearing.close()


def quota(platform: ServedPlatform) -> int:
    with urllib.request.urlopen(f"{platform.url}/api/v1/meta/limits", timeout=60) as answer:
        return int(answer.headers["X-RateLimit-Limit"])


@pytest.mark.slow  # a platform of its own, begun three times
def test_readiness_reload_and_the_end_are_told_and_wrong_settings_change_nothing(
    tmp_path: Path, manager: Manager
) -> None:
    environment = {**environment_in(tmp_path), "NOTIFY_SOCKET": str(manager.path)}
    settings = tmp_path / "home" / "settings.toml"
    with served(tmp_path / "home", environment) as platform:
        assert manager.heard() == "READY=1"
        before = quota(platform)
        settings.write_text(GENEROUS.replace("reads_per_minute = 1000000", "reads_per_minute = 77"))
        platform.process.send_signal(signal.SIGHUP)
        assert manager.heard().startswith("RELOADING=1\nMONOTONIC_USEC=")
        assert quota(platform) in {before, 77}  # whoever asks meanwhile waits, and is answered
        assert manager.heard() == "READY=1"
        assert quota(platform) == 77 != before
        settings.write_text("nonsense = 1\n")
        platform.process.send_signal(signal.SIGHUP)
        assert quota(platform) == 77
        platform.process.send_signal(signal.SIGTERM)
        assert manager.heard() == "STOPPING=1"
        assert platform.process.wait(60) == 0


def test_the_units_name_commands_and_options_that_there_are() -> None:
    from click.testing import CliRunner

    from earnest.surfaces.cli.commands import program

    started = [
        line.partition("=")[2].split()
        for unit in sorted(DEPLOY.glob("*.service"))
        for line in unit.read_text().splitlines()
        if line.startswith("ExecStart=")
    ]
    assert len(started) == len(list(DEPLOY.glob("*.service"))) > 0
    for file, command, *rest in started:
        assert file.endswith("/earnest")
        help_text = CliRunner().invoke(program, [command, "--help"]).output
        assert all(word in help_text for word in rest if word.startswith("--")), (command, help_text)
    assert "Type=notify\nExecReload=/bin/kill -HUP $MAINPID" in (DEPLOY / "earnest.service").read_text()
