"""The newest lines of the audit log, without reading the rest."""

import os
from pathlib import Path
from typing import IO

from earnest.audit.event import decode_line
from earnest.audit.files import opened
from earnest.audit.reading import BLOCK_BYTES
from earnest.foundation.instants import rfc3339


def newest_lines(path: Path, number: int) -> list[bytes]:
    """The last `number` whole lines, oldest first; fewer if there are fewer. None of them is checked."""
    with opened(path) as log:
        lines: list[bytes] = []
        for file in log.newest_first():
            lines = _newest(file, number - len(lines)) + lines
            if len(lines) >= number:
                break
    return lines


def _newest(file: IO[bytes], number: int) -> list[bytes]:
    end, ends = file.seek(0, os.SEEK_END), 0
    blocks: list[bytes] = []
    while end and ends <= number:
        start = max(0, end - BLOCK_BYTES)
        file.seek(start)
        blocks.append(file.read(end - start))
        ends += blocks[-1].count(b"\n")
        end = start
    text = b"".join(reversed(blocks))
    whole = text[: text.rfind(b"\n") + 1].splitlines()
    return whole[-number:]


def summary(line: bytes) -> str:
    """A line for people. Raises `ValueError` if it was changed."""
    event = decode_line(line).event
    told = "  ".join(f"{name}={value}" for name, value in event.fields.items())
    marks = "".join(f"  [{mark}]" for mark in (event.violation, "repeat" if event.repeat else "") if mark)
    return f"{event.seq}  {rfc3339(event.at_ms)}  {event.sender:<10} {event.kind:<16} {event.id}  {told}{marks}"
