"""Does a question to the auditor have its answer within three seconds, however long its log is?"""

import subprocess
import sys
from pathlib import Path

import pytest

from earnest.app.settings import read_settings
from earnest.audit.event import GENESIS, LogEvent, encode_line
from earnest.audit.snapshot import take_snapshot
from earnest.effects.ground.clock import SystemClock
from earnest.surfaces.cli.asking import Terminal
from earnest.surfaces.cli.conversation import Conversation

LINES = 200_000
NEW_LINES = 5_000
"""Of these nobody has reported yet."""
ANSWER_MS_MAX = 3_000
CLI = "from earnest.surfaces.cli.main import main; main()"


def _write(path: Path, first: int, last: int, head: str, end_ms: int) -> str:
    """Append these lines, one a millisecond up to `end_ms` for line `LINES`. Gives the new head."""
    with path.open("ab") as file:
        for seq in range(first, last + 1):
            at_ms = end_ms - LINES + seq
            run_id = f"run_{seq // 400}"
            said = LogEvent(seq, at_ms, run_id, f"{run_id}/{seq}", "dispatcher", "SubTask", None, "", {"round": 1})
            line, head = encode_line(said, head)
            file.write(line)
    return head


@pytest.fixture
def long_log(home: Path) -> Path:
    """As the auditor leaves it: with statistics of all but the newest lines."""
    path = home / "audit" / "audit.jsonl"
    path.parent.mkdir(parents=True)
    now_ms = SystemClock().now_ms()
    head = _write(path, 1, LINES - NEW_LINES, GENESIS, now_ms)
    take_snapshot(path)
    _write(path, LINES - NEW_LINES + 1, LINES, head, now_ms)
    return path


@pytest.mark.slow  # a log of 200,000 lines is written and read
async def test_an_answer_on_a_long_log_takes_less_than_three_seconds(
    long_log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = SystemClock()

    def took_ms(since_ns: int) -> int:
        return (clock.ticks_ns() - since_ns) // 1_000_000

    began_ns = clock.ticks_ns()
    done = subprocess.run([sys.executable, "-c", CLI, "audit", "report"], capture_output=True, text=True, check=True)  # noqa: ASYNC221
    assert took_ms(began_ns) < ANSWER_MS_MAX, "the start of the program included"
    assert f"log: {LINES} lines" in done.stdout

    async with Conversation(read_settings, Terminal()) as conversation:
        for line, observed in (("/audit", LINES // 400), ("/audit 1d", 50), ("/audit 1s", 0)):
            began_ns = clock.ticks_ns()
            assert await conversation.answer(line)
            assert took_ms(began_ns) < ANSWER_MS_MAX, line
            told = capsys.readouterr()
            assert told.err == ""
            assert f"log: {LINES} lines" in told.out
            (runs,) = (one for one in told.out.splitlines() if one.startswith("runs observed: "))
            assert abs(int(runs.removeprefix("runs observed: ")) - observed) <= 1, line
