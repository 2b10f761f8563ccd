"""Do locks between processes exclude, take turns, end with their holder, and name it?"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.locks import FileLock, WriteTurn, alone
from earnest.foundation.errors import Unavailable

HOLDER = """
import sys
from pathlib import Path
from earnest.effects.ground.locks import WriteTurn
WriteTurn(Path(sys.argv[1])).take()
print("taken", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process, whose turn it is."""
    words = [sys.executable, "-c", HOLDER, str(tmp_path / "books")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "taken\n"
        yield process
        process.kill()


def test_one_has_a_lock_or_several_share_it(tmp_path: Path) -> None:
    with ExitStack() as stack:
        one, other, third = (stack.enter_context(closing(FileLock(tmp_path / "lock"))) for _ in range(3))
        assert one.try_take()
        assert not other.try_take()
        assert not other.try_take(shared=True)
        one.give()
        assert other.try_take(shared=True)
        assert third.try_take(shared=True)
        assert not one.take(1)
    with closing(FileLock(tmp_path / "lock")) as later:
        assert later.try_take()


def test_a_turn_is_ones_own_and_nobody_who_waits_is_passed(tmp_path: Path) -> None:
    with closing(WriteTurn(tmp_path / "books")) as one, closing(WriteTurn(tmp_path / "books")) as other:
        assert one.try_take()
        assert not other.try_take()
        with closing(FileLock(tmp_path / "books.queue")) as waiter:
            assert waiter.try_take()
            one.give()
            assert not one.try_take()
        with other.taken():
            assert not one.try_take()
        assert one.try_take()


def test_a_stopped_holder_is_named_and_a_killed_one_holds_nobody_up(
    tmp_path: Path, holder: "subprocess.Popen[str]"
) -> None:
    with closing(WriteTurn(tmp_path / "books")) as turn:
        holder.send_signal(signal.SIGSTOP)
        for _ in range(2):  # who waited in vain has left the queue
            with pytest.raises(Unavailable, match=rf"books\.turn is held by .*pid {holder.pid}, which is stopped"):
                turn.take(20)
        holder.kill()
        turn.take()


async def test_a_lock_is_waited_for_beside_others_and_not_for_ever(tmp_path: Path) -> None:
    clock, path = SystemClock(), tmp_path / "locks" / "one"
    async with alone(path, clock, 0):
        with pytest.raises(Unavailable, match=f"pid {os.getpid()}"):
            async with alone(path, clock, 1):
                pass
    async with alone(path, clock, 0):
        pass
