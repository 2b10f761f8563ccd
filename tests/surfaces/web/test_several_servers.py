"""Two servers and a worker over one PostgreSQL, each restarted in turn, gently and by force, while agents work."""

import shutil
import signal
import threading
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

import postgresql
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.place import ServerBooks
from earnest.effects.ground.storage.reader import ReadPool
from earnest.journal.verify import verify_journal
from earnest.runtime.recompute import recompute
from earnest.runtime.simulation.invariants import broken
from earnest.testing.served import RefusedByPlatform, ServedPlatform, served

from .cluster import LAST_S, Balancer, Pair, await_more, loaded, members, states, verdicts
from .test_serve_faults import environment_in

PAIRS = 3


@pytest.mark.slow  # two servers and a worker, each begun three times
@pytest.mark.timeout(600)
def test_a_rolling_restart_loses_no_request_and_a_kill_no_acknowledged_write(tmp_path: Path) -> None:
    with ExitStack() as stack:
        address = stack.enter_context(postgresql.database(stack.enter_context(postgresql.server())))
        first, second, worker = stack.enter_context(members(tmp_path, address))
        platform = ServedPlatform(first.url, first.home, first.process, first.told["setup_url"])  # type: ignore[arg-type]
        platform.become_operator()
        balancer = Balancer([first, second], threading.Event())
        buyers = [platform.agent(f"buyer{n}", 10**9)["live"] for n in range(PAIRS)]
        sellers = [platform.agent(f"seller{n}")["live"] for n in range(PAIRS)]
        pairs = [Pair(balancer, f"p{n}", buyers[n], sellers[n]) for n in range(PAIRS)]
        with loaded(pairs, balancer):
            await_more(pairs)
            for member in (first, second, worker):
                assert member.end(signal.SIGTERM) == 0
                member.begin()
                await_more(pairs)
            cut = list(balancer.cut)
            for member in (first, second, worker):
                member.end(signal.SIGKILL)
                await_more(pairs)
                member.begin()
                await_more(pairs)
        assert [pair.failed for pair in pairs] == [[] for _ in pairs]
        assert cut == [], "a restart that was asked for cuts nobody off"
        pool = stack.enter_context(closing(ReadPool.open_reader(ServerBooks(address, tmp_path / "reading"))))
        for _ in range(LAST_S * 4):
            if not pool.read_sync(states)["submitted"]:
                break
            threading.Event().wait(0.25)
        handed_in = [claim for pair in pairs for claim in pair.claims]
        found = pool.read_sync(states)
        assert found["submitted"] == 0, found
        judged = pool.read_sync(verdicts)
        assert len(judged) == len(handed_in)
        assert set(judged.values()) == {1}, "each submission is judged once"
        kept = {job for (job,) in pool.read_sync(lambda reader: reader.execute("SELECT id FROM jobs").fetchall())}
        assert {job for pair in pairs for job in pair.jobs.values()} <= kept
        for member in (first, second, worker):
            assert member.end(signal.SIGTERM) == 0
        assert pool.read_sync(lambda reader: list(broken(reader))) == []
        assert pool.read_sync(lambda reader: verify_journal(reader, [])).intact
        assert pool.read_sync(lambda reader: recompute(reader, SystemClock())).differences == ()
        leases = pool.read_sync(lambda reader: reader.execute("SELECT count(*) FROM leases").fetchone())
        assert leases == (0,), "whoever leaves gives its leases back"


@pytest.mark.slow  # two servers
def test_a_stranger_who_goes_from_server_to_server_has_one_limit(tmp_path: Path) -> None:
    with ExitStack() as stack:
        address = stack.enter_context(postgresql.database(stack.enter_context(postgresql.server())))
        known = {**environment_in(tmp_path), "EARNEST_DATABASE": address}
        homes, limit = [tmp_path / "first", tmp_path / "second"], "[server]\nregistrations_per_hour = 30\n"
        first = stack.enter_context(served(homes[0], known, settings=limit))
        shutil.copytree(homes[0] / "secrets", homes[1] / "secrets")
        second = stack.enter_context(served(homes[1], known, settings=limit))
        for number in range(25):
            first.ask("POST", "/agents/register", {"handle": f"first{number}"})
        let_in, status = 0, 200
        while status == 200 and let_in < 31:
            try:
                second.ask("POST", "/agents/register", {"handle": f"second{let_in}"})
                let_in += 1
            except RefusedByPlatform as refused:
                status = refused.status
            threading.Event().wait(0.5)
        assert status == 429
        assert 5 <= let_in < 20, "alone it would have let in 30"
        pool = stack.enter_context(closing(ReadPool.open_reader(ServerBooks(address, tmp_path / "reading"))))
        told = pool.read_sync(lambda reader: reader.execute("SELECT counts FROM request_counts").fetchall())
        assert "register" in str(told)
        assert "127.0.0.1" not in str(told)
