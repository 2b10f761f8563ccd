"""Does `earnest keys` take an agent from its registration to a rotated key, and is no key lost?"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from earnest.client.credentials import Credentials, load_credentials, save_credentials
from earnest.testing.served import PROGRAM, RefusedByPlatform, ServedPlatform, served
from surfaces.conftest import Earnest

ENVIRONMENT = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}


def keys(environment: dict[str, str], *arguments: str, exit_code: int = 0) -> str:
    """What `earnest keys` prints; its complaints where it is refused."""
    command = [*PROGRAM, "keys", *arguments]
    done = subprocess.run(command, env={**ENVIRONMENT, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == exit_code, done.stdout + done.stderr
    return done.stdout if exit_code == 0 else done.stderr


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[ServedPlatform]:
    with served(tmp_path / "platform", ENVIRONMENT) as found:
        found.become_operator()
        yield found


@pytest.mark.slow
def test_an_agent_comes_to_its_keys_by_commands_alone(platform: ServedPlatform, tmp_path: Path) -> None:
    home = tmp_path / "home"
    mine = {"EARNEST_HOME": str(home)}
    told = keys(mine, "register", "maya", "--url", f"{platform.url}/", "--description", "writes")
    first = load_credentials(home, "maya")
    assert (first.url, first.claim_url) == (platform.url, told.split()[-1])
    assert first.key not in told
    assert platform.ask("GET", "/agents/me", key=first.key)["description"] == "writes"
    assert "onboarding_required" in keys(mine, "new", "--scope", "live", exit_code=3)

    body = {"secret": first.claim_url.rpartition("/")[2], "mail": "maya@example.org"}
    platform.ask("POST", "/operator/agents", body, key=platform.operator_key)
    told = keys(mine, "new", "--scope", "live", "--label", "main", "--save")
    live = load_credentials(home, "maya")
    assert live.key.startswith("ern_live_")
    assert live.key not in told
    assert (live.id, live.claim_url) == (first.id, first.claim_url)

    made = json.loads(keys(mine, "new", "--scope", "hb", "--json"))
    assert platform.ask("GET", "/agents/me", key=made["key"])["key"]["scope"] == "hb"
    assert load_credentials(home, "maya") == live

    rotated = json.loads(keys(mine, "rotate", "--as", "maya", "--json"))
    assert (rotated["key"], rotated["scope"], rotated["label"]) == (None, "live", "main")
    new = load_credentials(home, "maya")
    assert new.key != live.key
    assert platform.ask("GET", "/agents/me", key=new.key)["key"]["key_id"] == rotated["key_id"]

    listed = [json.loads(line) for line in keys(mine, "list", "--json").splitlines()]
    assert sorted(key["scope"] for key in listed) == ["hb", "live", "live", "reg"]
    assert "revoked" in keys(mine, "revoke", made["key_id"])
    (line,) = (line for line in keys(mine, "list").splitlines() if made["key_id"] in line)
    assert "revoked 2" in line
    with pytest.raises(RefusedByPlatform):
        platform.ask("GET", "/agents/me", key=made["key"])

    by_key = {"EARNEST_URL": platform.url, "EARNEST_KEY": new.key, "EARNEST_HOME": str(tmp_path / "empty")}
    assert "no_credentials" not in keys(by_key, "list")
    assert "ern_live_" in keys(by_key, "rotate")
    assert not (tmp_path / "empty").exists()
    assert load_credentials(home, "maya") == new
    assert "handle_taken" in keys({**by_key, "EARNEST_KEY": ""}, "register", "maya", exit_code=3)


def test_registering_does_not_overwrite_a_key(earnest: Earnest, home: Path) -> None:
    old = Credentials(handle="maya", url="https://one.example", key="ern_live_x")
    save_credentials(home, old)
    ended = earnest("keys", "register", "maya", "--url", "https://two.example")
    assert ended.code == 3
    assert "maya has a key already" in ended.err
    assert load_credentials(home, "maya") == old


@pytest.mark.parametrize("handle", ["../maya", "Maya", "", "-"])
def test_what_is_no_handle_makes_no_folder(handle: str, earnest: Earnest, tmp_path: Path) -> None:
    assert earnest("keys", "register", "--url", "http://127.0.0.1:9", "--", handle).code == 3
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.parametrize(
    ("arguments", "key", "message"),
    [
        (("--scope", "hb"), "", "an hb key makes no others"),
        (("--scope", "live"), "ern_live_y", "say --as HANDLE"),
        (("--scope", "op"), "", "'op' is not one of"),
    ],
)
def test_a_key_that_cannot_be_kept_is_not_made(
    arguments: tuple[str, ...],
    key: str,
    message: str,
    earnest: Earnest,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    save_credentials(home, Credentials(handle="maya", url="http://127.0.0.1:9", key="ern_live_x"))
    monkeypatch.setenv("EARNEST_KEY", key)
    ended = earnest("keys", "new", "--save", *arguments)
    assert ended.code == 3
    assert message in ended.err
