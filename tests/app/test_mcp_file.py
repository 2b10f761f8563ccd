"""Is `mcp.json` read as others write it, and everything wrong with it named?"""

import json
from pathlib import Path
from typing import Any

import pytest

from earnest.app.mcp import described, read_servers, sources_of
from earnest.effects.hands.mcp.api import ServerSpec
from earnest.foundation.errors import Diagnostic


def read(home: Path, content: Any, **environment: str) -> tuple[tuple[ServerSpec, ...], list[str]]:
    faults: list[Diagnostic] = []
    (home / "mcp.json").write_text(content if isinstance(content, str) else json.dumps(content))
    servers = read_servers(home, environment, faults)
    return servers, [str(fault).removeprefix(f"{home}/mcp.json: ") for fault in faults]


def of(**server: Any) -> dict[str, Any]:
    return {"mcpServers": {"one": server}}


def test_without_the_file_there_are_no_servers(tmp_path: Path) -> None:
    assert read_servers(tmp_path, {}, []) == ()


def test_programs_and_addresses_are_read_with_what_the_environment_keeps_secret(tmp_path: Path) -> None:
    content = {
        "mcpServers": {
            "files-1": {"command": "npx", "args": ["-y", "${PACKAGE}"], "env": {"TOKEN": "${KEY}"}, "type": "stdio"},
            "there": {"url": "https://a.org/mcp", "headers": {"Authorization": "Bearer ${KEY}"}, "trusted": True},
        }
    }
    servers, faults = read(tmp_path, content, PACKAGE="files", KEY="very-secret")
    assert faults == []
    assert servers == (
        ServerSpec(name="files-1", command="npx", args=("-y", "files"), env={"TOKEN": "very-secret"}),
        ServerSpec(
            name="there", url="https://a.org/mcp", headers={"Authorization": "Bearer very-secret"}, trusted=True
        ),
    )
    assert "very-secret" not in repr(servers) + described(servers)
    assert set(sources_of(servers)) == {"mcp:files-1/", "mcp:there/"}


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', "not JSON: an object has a key twice"),
        ("x" * 300_000, "not JSON: larger than"),
        ([], "must be"),
        ({"servers": {}}, "must be"),
        ({"mcpServers": {str(number): {"command": "x"} for number in range(17)}}, "must be"),
        ({"mcpServers": {"a": {"command": "x"}, "A": {"command": "x"}}}, "two servers have names"),
        ({"mcpServers": {"a/b": {"command": "x"}}}, "server 'a/b' a name is"),
        ({"mcpServers": {"a": 3}}, "server 'a' must be an object"),
        (of(), "server 'one' needs either"),
        (of(command="x", url="http://a.org/"), "server 'one' needs either"),
        (of(command="x", type="http"), "server 'one' needs either"),
        (of(url="http://a.org/", type="sse"), "server 'one' needs either"),
        (of(url="http://a.org/", args=["x"]), "server 'one' has args"),
        (of(command="x", trusted="yes"), "server 'one' trusted must be"),
        (of(command="x", shell=True), "server 'one' has unknown keys: shell"),
        (of(command="x", args="y"), "server 'one' args must be a list"),
        (of(command="x", args=["a\nb"]), "server 'one' args must be a text"),
        (of(command="x", env={"A": 1}), "server 'one' env must be a text"),
        (of(command="x", env={"A": "${MISSING}"}), "server 'one' env needs the environment variable MISSING"),
        (of(command=""), "server 'one' command and url must say something"),
        (of(url="ftp://a.org/"), "server 'one' url must be"),
        (of(url="http://user:word@a.org/"), "server 'one' url must be"),
        (of(url="http://[/"), "server 'one' url must be"),
    ],
)
def test_what_is_wrong_is_named_and_the_server_left_out(content: Any, fault: str, tmp_path: Path) -> None:
    servers, faults = read(tmp_path, content)
    assert faults
    assert faults[0].startswith(fault)
    assert not [server for server in servers if server.name == "one"]
