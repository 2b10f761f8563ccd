"""Does an auditor elsewhere log what was said here, and does a run keep its word where the bus is away?"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nats_server import NatsServer, nats_server
from runtime.processes import eventually

from .conftest import EXAMPLES, Earnest

PLAYBOOK = EXAMPLES / "02-access-log" / "playbook.yaml"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    with nats_server(tmp_path) as running:
        yield running


@contextmanager
def following(home: Path, server: NatsServer) -> Iterator[None]:
    """`earnest audit follow` with a data directory of its own, stopped at the end as a service is."""
    environment = {**os.environ, "EARNEST_HOME": str(home), "EARNEST_BUS": server.address("auditor")}
    with subprocess.Popen([sys.executable, "-m", "earnest", "audit", "follow"], env=environment) as process:
        try:
            yield
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def logged(home: Path) -> list[dict[str, Any]]:
    """What an auditor saw, without its own notes and without what its place in a log or a stream adds."""
    path = home / "audit" / "audit.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    for line in lines:
        line["fields"].pop("place", None)
        for name in ("seq", "prev", "hash"):
            del line[name]
    return [line for line in lines if line["sender"] != "auditor"]


@pytest.mark.slow
def test_an_auditor_elsewhere_logs_what_the_one_here_does(
    earnest: Earnest, home: Path, server: NatsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    monkeypatch.setenv("EARNEST_BUS", server.address("engine"))
    with following(elsewhere, server):
        assert earnest("run", "--quiet", PLAYBOOK).code == 0
        here = logged(home)
        assert eventually(lambda: len(logged(elsewhere)) >= len(here))
    assert logged(elsewhere) == here
    assert list((home / "bus").iterdir()) == []
    monkeypatch.setenv("EARNEST_HOME", str(elsewhere))
    assert earnest("audit", "verify").code == 0
    report = earnest("audit", "report", "--json").json
    assert (report["tasks_observed"], report["boundary_violations"], report["anomalies"]) == (1, [], [])


@pytest.mark.slow  # it waits for a bus that is not there
def test_a_run_does_not_need_the_bus_and_its_messages_follow_later(
    earnest: Earnest, home: Path, server: NatsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EARNEST_BUS", server.address("engine"))
    server.kill()
    assert earnest("run", "--quiet", PLAYBOOK).code == 0
    missing = logged(home)
    told = earnest("doctor", "--json").json["bus"]
    assert not told["well"]
    assert "1 runs" in told["detail"]
    assert "of-engine" not in told["detail"]
    server.start()
    with following(tmp_path / "elsewhere", server):
        assert earnest("run", "--quiet", "--new", PLAYBOOK).code == 0
        run_id = next(line["run_id"] for line in missing if line["run_id"])
        of_run = [line for line in missing if line["run_id"] == run_id]
        assert eventually(
            lambda: len([line for line in logged(tmp_path / "elsewhere") if line["run_id"] == run_id]) >= len(of_run)
        )
    assert [line for line in logged(tmp_path / "elsewhere") if line["run_id"] == run_id] == of_run
    told = earnest("doctor", "--json").json["bus"]
    assert told["well"]  # who ended while it caught up may have left its note
    assert told["detail"].startswith(f"127.0.0.1:{server.port} answers")


@pytest.mark.parametrize(
    ("address", "why"),
    [("", "no bus is named"), ("nats://auditor@127.0.0.1:1", "an auditor of its own")],
    ids=["no bus", "books"],
)
def test_following_needs_a_bus_and_a_data_directory_of_its_own(
    earnest: Earnest, worked: Path, monkeypatch: pytest.MonkeyPatch, address: str, why: str
) -> None:
    monkeypatch.setenv("EARNEST_BUS", address)
    ended = earnest("audit", "follow")
    assert ended.code == 3
    assert why in ended.err


def test_an_address_of_another_kind_is_named_without_its_password(
    earnest: Earnest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EARNEST_BUS", "http://engine:secret@127.0.0.1")
    ended = earnest("runs")
    assert ended.code == 3
    assert "bus must be text that begins with nats:// or tls://" in ended.err
    assert "secret" not in ended.err
