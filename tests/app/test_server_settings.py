"""The table [server] of the settings."""

from pathlib import Path

import pytest

from earnest.app.server_settings import ServerSettings
from earnest.app.settings import read_settings
from earnest.foundation.errors import Faulty
from earnest.surfaces.web.serving import quotas_of, url_of


def read(home: Path, text: str) -> ServerSettings:
    (home / "settings.toml").write_text(text, encoding="utf-8")
    return read_settings({"EARNEST_HOME": str(home)}).server


def test_everything_can_be_set(tmp_path: Path) -> None:
    text = """[server]
host = "::1"
port = 0
url = "https://earnest.example.org"
proxies = ["10.0.0.0/8", "::1"]
stop_s = 5
home_per_minute = 7
reads_per_minute = 8
writes_per_minute = 9
registrations_per_hour = 1
exports_per_hour = 2
"""
    settings = read(tmp_path, text)
    assert settings.proxies == ("10.0.0.0/8", "::1")
    quotas = quotas_of(settings)
    assert [quota.count for quota in quotas.all()] == [7, 8, 9, 1, 2]
    assert url_of(settings, 80) == "https://earnest.example.org"
    assert url_of(ServerSettings(host="::1"), 80) == "http://[::1]:80"


@pytest.mark.parametrize(
    "line",
    [
        'host = ""',
        "host = 1",
        "port = 65536",
        "port = true",
        'url = "earnest.example.org"',
        'url = "https://earnest.example.org/"',
        'url = "https://user:pass@earnest.example.org"',
        'url = "https://earnest.example.org:x"',
        'url = "https://earnest.example.org:0"',
        'proxies = ["anywhere"]',
        'proxies = "127.0.0.1"',
        "writes_per_minute = 0",
        "reads = 5",
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, line: str) -> None:
    with pytest.raises(Faulty) as faulty:
        read(tmp_path, f"[server]\n{line}\n")
    (diagnostic,) = faulty.value.diagnostics
    assert diagnostic.line == 2
    assert line.partition(" ")[0] in diagnostic.message
