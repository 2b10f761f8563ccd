"""Are the newest lines of an audit log found without reading the rest, however many are asked for?"""

from pathlib import Path

import pytest

from earnest.audit.reading import BLOCK_BYTES, newest_lines
from earnest.effects.ground.clock import SystemClock

LINES = 100_000
MS_MAX = 2_000


@pytest.mark.parametrize("number", [1, 2, 999, 1_000, 1_001])
@pytest.mark.parametrize("width", [1, 500, BLOCK_BYTES - 1])
def test_the_last_lines_come_whole_and_oldest_first(tmp_path: Path, width: int, number: int) -> None:
    lines = [str(seq).encode().ljust(width, b".") for seq in range(1_000 if width < BLOCK_BYTES - 1 else 5)]
    log = tmp_path / "audit.jsonl"
    log.write_bytes(b"\n".join(lines) + b"\ntorn")
    assert newest_lines(log, number) == lines[-number:]


def test_an_empty_log_has_none(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    log.touch()
    assert newest_lines(log, 20) == []


@pytest.mark.slow
def test_what_a_hundred_thousand_lines_take_grows_with_their_number_and_not_its_square(tmp_path: Path) -> None:
    line = b"." * 500
    log = tmp_path / "audit.jsonl"
    log.write_bytes((line + b"\n") * LINES)
    clock = SystemClock()
    began_ns = clock.ticks_ns()
    lines = newest_lines(log, LINES)
    assert (clock.ticks_ns() - began_ns) // 1_000_000 < MS_MAX
    assert len(lines) == LINES
    assert set(lines) == {line}
