"""What a worker takes on, and what it needs to begin."""

from pathlib import Path

import pytest

from earnest.app.settings import Settings
from earnest.app.worker import KINDS, kinds_of, open_worker
from earnest.effects.hands.sandbox.api import SelfTest
from earnest.foundation.errors import Refused, Unavailable
from earnest.verification.sandboxes import NoSandbox


def test_kinds_are_a_list_with_commas_each_once() -> None:
    assert kinds_of("verify") == ("verify",)
    assert kinds_of(" heartbeats, verify,verify") == ("heartbeats", "verify")
    assert set(kinds_of(",".join(KINDS))) == set(KINDS)


@pytest.mark.parametrize("text", ["", "execute", "verify,heartbeat", "verify,"])
def test_what_a_worker_does_not_work_at_is_refused(text: str) -> None:
    with pytest.raises(Refused, match=r"a worker does not work at .*verify, heartbeats"):
        kinds_of(text)


class Untested(NoSandbox):
    """A sandbox that does not hold."""

    async def self_test(self, valid_ms: int = 0) -> SelfTest:
        return SelfTest(provider="none", at_ms=0, probes=(), problem=f"there is none ({valid_ms})")

    async def close(self) -> None:
        return


async def test_without_a_sandbox_a_worker_does_not_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it judged would be unclear, and another worker could have judged it."""

    async def opened(*_: object) -> Untested:
        return Untested()

    monkeypatch.setattr("earnest.app.worker.open_sandbox_in", opened)
    with pytest.raises(Unavailable, match=r"code cannot be run safely here: .*there is none"):
        async with open_worker(Settings(home=tmp_path / "home"), ["verify"]):
            raise AssertionError("it has begun")
