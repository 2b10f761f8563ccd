"""Do `earnest jobs` and `earnest wallet` take a job from its posting to its pay?"""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from earnest.agents.job_files import amount_of, micro_of
from earnest.client.credentials import Credentials, save_credentials
from earnest.foundation.errors import Refused
from earnest.surfaces.cli.in_the_name_of import client_of
from earnest.testing.served import PROGRAM, ServedPlatform, served

ENVIRONMENT = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
EXAMPLE = Path(__file__).parents[3] / "examples" / "verify"


@dataclass
class Person:
    """Somebody at a terminal."""

    environment: dict[str, str]

    def run(self, *arguments: str | Path, exit_code: int = 0) -> str:
        command = [*PROGRAM, *map(str, arguments)]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        assert done.returncode == exit_code, done.stdout + done.stderr
        return done.stdout if exit_code == 0 else done.stderr

    def json(self, *arguments: str | Path) -> Any:
        return json.loads(self.run(*arguments, "--json"))


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[ServedPlatform]:
    with served(tmp_path / "home", ENVIRONMENT) as found:
        found.become_operator()
        yield found


@pytest.mark.slow
def test_a_job_goes_from_a_spec_to_its_pay_by_commands_alone(platform: ServedPlatform, tmp_path: Path) -> None:
    keys = {"ann": platform.agent("ann", usd_micro=100_000_000)["live"], "bob": platform.agent("bob")["live"]}
    ann = Person({**ENVIRONMENT, "EARNEST_URL": platform.url, "EARNEST_KEY": keys["ann"]})
    save_credentials(tmp_path / "bob", Credentials(handle="bob", url=platform.url, key=keys["bob"]))
    bob = Person({**ENVIRONMENT, "EARNEST_HOME": str(tmp_path / "bob")})

    spec = EXAMPLE / "spec.yaml"
    terms = ("--amount", "2.50", "--currency", "USD", "--category", "writing")
    mistake = ann.json("jobs", "post", spec, *terms)["job_id"]
    assert ann.run("jobs", "withdraw", mistake) == f"{mistake} is withdrawn\n"
    posted = ann.json("jobs", "post", spec, *terms)
    assert posted["amount_micro"] == 2_500_000
    job_id = posted["job_id"]
    assert f"{job_id}  open" in bob.run("jobs", "list")
    assert bob.json("jobs", "list")["job_id"] == job_id
    assert "release.json gives version" in bob.run("jobs", "show", job_id)
    claim = bob.json("jobs", "claim", job_id)
    assert "job_already_claimed" in bob.run("jobs", "claim", job_id, exit_code=3)
    bob.run("jobs", "submit", job_id, EXAMPLE / "good")
    found = platform.ask_until(f"/claims/{claim['claim_id']}", lambda claim: bool(claim["ended_at"]), key=keys["bob"])
    assert (found["verdict"], found["state"]) == ("verified", "released")
    money = {one["currency"]: one for one in bob.json("wallet", "--entries", "5")["balances"]}
    assert money["USD"]["balance_micro"] == 2_375_000
    assert "2.375" in bob.run("wallet")


@pytest.mark.slow
def test_the_creator_decides_by_a_command(platform: ServedPlatform, tmp_path: Path) -> None:
    ann = platform.agent("ann", usd_micro=100_000_000)
    bob = platform.agent("bob")
    person = Person({**ENVIRONMENT, "EARNEST_URL": platform.url, "EARNEST_KEY": ann["live"]})
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "format: earnest-spec-v1\ntitle: A poem\ntext: Write one.\nacceptance: buyer\n"
        "criteria:\n  - {id: C1, text: it moves}\n"
    )
    job_id = person.json(
        "jobs", "post", spec, "--amount", "1", "--currency", "USD", "--category", "writing", "--hand-in", "poem.txt"
    )["job_id"]
    platform.ask("POST", f"/jobs/{job_id}/claim", key=bob["live"])
    (tmp_path / "work").mkdir()
    seller = Person({**ENVIRONMENT, "EARNEST_URL": platform.url, "EARNEST_KEY": bob["live"]})
    assert "poem.txt" in seller.run("jobs", "submit", job_id, tmp_path / "work", exit_code=3)
    (tmp_path / "work" / "poem.txt").write_text("roses")
    seller.run("jobs", "submit", job_id, tmp_path / "work")
    decided = person.run("jobs", "review", job_id, "--approve", "--reason", "it does")
    assert "releas" in decided


@pytest.mark.parametrize(("amount", "micro"), [("2.50", 2_500_000), ("0", 0), ("0.000001", 1), ("1e2", 100_000_000)])
def test_an_amount_is_exact(amount: str, micro: int) -> None:
    assert micro_of(amount) == micro
    assert micro_of(amount_of(micro)) == micro


@pytest.mark.parametrize(
    "amount", ["", "two", "-1", "0.0000001", "NaN", "sNaN", "Infinity", "1,50", "1e99999", "1e999999"]
)
def test_what_is_no_amount_is_refused(amount: str) -> None:
    with pytest.raises(Refused):
        micro_of(amount)


def test_a_key_is_not_shown_to_another_platform(tmp_path: Path) -> None:
    save_credentials(tmp_path, Credentials(handle="bob", url="https://one.example", key="ern_live_x"))
    home = {"EARNEST_HOME": str(tmp_path)}
    with client_of("", home) as client:
        assert client.url == "https://one.example"
    with pytest.raises(Refused, match="another platform"):
        client_of("", {**home, "EARNEST_URL": "https://two.example"})


def test_who_has_several_agents_says_which(tmp_path: Path) -> None:
    home = {"EARNEST_HOME": str(tmp_path)}
    with pytest.raises(Refused, match="EARNEST_KEY"):
        client_of("", home)
    for handle in ("ann", "bob"):
        save_credentials(tmp_path, Credentials(handle=handle, url="https://one.example", key="ern_live_x"))
    with pytest.raises(Refused, match="ann, bob"):
        client_of("", home)
    client_of("ann", home).close()
