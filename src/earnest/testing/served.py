"""A real platform for tests of agents: `earnest serve` in a process of its own, with an operator and with money.

Everything is done as a stranger would: over HTTP, with the standard library alone.
"""

import contextlib
import json
import re
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from earnest.effects.ground.clock import SystemChance, SystemClock
from earnest.foundation.errors import Unavailable

API: Final = "/api/v1"
ANSWER_S: Final = 60
UNTIL_NS: Final = 60 * 10**9
STOP_S: Final = 20
GENEROUS: Final = """
[server]
home_per_minute = 1000000
reads_per_minute = 1000000
writes_per_minute = 1000000
registrations_per_hour = 1000000
"""
"""Limits that no test meets."""

PROGRAM: Final = (sys.executable, "-c", "from earnest.surfaces.cli.main import main; main()")
_KEY: Final = re.compile(r"ern_op_[0-9A-Za-z]+")


class RefusedByPlatform(Exception):
    """The platform said no: its problem, as JSON."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(f"{status} {problem.get('code')}: {problem.get('detail')}")
        self.status = status
        self.problem = problem


@dataclass(slots=True)
class ServedPlatform:
    """A platform that listens. `operator_key` is empty until `become_operator`."""

    url: str
    home: Path
    process: "subprocess.Popen[str]"
    setup_url: str
    operator_key: str = ""

    def ask(
        self, method: str, path: str, body: object = None, *, key: str = "", idempotency_key: str = ""
    ) -> dict[str, Any]:
        """One request below `/api/v1`. Raises `RefusedByPlatform`, and `OSError` where nobody answers."""
        headers = {"Idempotency-Key": idempotency_key or SystemChance().new_id(0)} if method == "POST" else {}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(f"{self.url}{API}{path}", data, headers, method=method)  # noqa: S310 - our own
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_S) as answer:  # noqa: S310
                found: dict[str, Any] = json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            with error:
                raise RefusedByPlatform(error.code, json.loads(error.read())) from None
        return found

    def ask_until(self, path: str, is_so: Callable[[dict[str, Any]], bool], *, key: str) -> dict[str, Any]:
        """The first answer to `GET path` that `is_so`. Raises `AssertionError` with the last one after `UNTIL_NS`."""
        clock = SystemClock()
        end_ns = clock.ticks_ns() + UNTIL_NS
        while not is_so(found := self.ask("GET", path, key=key)):
            assert clock.ticks_ns() < end_ns, f"it did not come to it: {found}"
        return found

    def become_operator(self, handle: str = "operator") -> str:
        """Use the one-time link that the first start prints; the operator's key."""
        form = urllib.parse.urlencode({"handle": handle}).encode()
        with urllib.request.urlopen(self.setup_url, form, timeout=ANSWER_S) as page:  # noqa: S310
            found = _KEY.search(page.read().decode())
        if found is None:
            raise Unavailable("the page of the operator's link holds no key")
        self.operator_key = found[0]
        return self.operator_key

    def agent(self, handle: str, usd_micro: int = 0) -> dict[str, str]:
        """An agent with an owner of its own and so much money: `id`, and its keys `reg`, `live` and `hb`."""
        made = self.ask("POST", "/agents/register", {"handle": handle})
        secret = str(made["claim_url"]).rpartition("/")[2]
        self.ask("POST", "/operator/agents", {"secret": secret, "mail": f"{handle}@example.org"}, key=self.operator_key)
        keys = {"id": str(made["id"]), "reg": str(made["key"])}
        for scope in ("live", "hb"):
            keys[scope] = self.ask("POST", "/agents/me/keys", {"scope": scope}, key=keys["reg"])["key"]
        if usd_micro:
            self.deposit(keys["live"], usd_micro)
        return keys

    def accept_contract(self, handle: str, contract: str) -> None:
        """The agent's heartbeat contract as the operator gives it, whose probes may run."""
        self.ask("PUT", f"/operator/agents/{handle}/contract", {"contract": contract}, key=self.operator_key)

    def deposit(self, key: str, usd_micro: int) -> None:
        """Money that the operator says has come in."""
        body = {"currency": "USD", "amount_micro": usd_micro, "reference": "for a test"}
        asked = self.ask("POST", "/deposits", body, key=key)
        path = f"/operator/deposits/{asked['deposit_id']}/decision"
        self.ask("POST", path, {"confirmed": True}, key=self.operator_key)


@contextlib.contextmanager
def served(
    home: Path, environment: Mapping[str, str], *, settings: str = GENEROUS, program: Sequence[str] = PROGRAM
) -> Iterator[ServedPlatform]:
    """A platform in `home` until the block ends. `environment` is all that it sees of the world's.

    `settings` are written as settings.toml where there is none. Raises `Unavailable` where it does not begin.
    """
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "settings.toml").exists():
        (home / "settings.toml").write_text(settings)
    command = [*program, "serve", "--json", "--port", "0", "--home", str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=dict(environment), text=True) as process:  # noqa: S603
        try:
            assert process.stdout is not None
            begun = process.stdout.readline()
            if not begun:
                raise Unavailable("the platform did not begin: what it says stands on stderr")
            told = json.loads(begun)
            yield ServedPlatform(told["url"], home, process, told["setup_url"] or "")
        finally:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
