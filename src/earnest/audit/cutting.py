"""The part of an audit log that goes with a copy of the books: nothing in it speaks of facts that the copy lacks."""

from pathlib import Path

from earnest.audit.event import LINE_BYTES_MAX, decode_line


def bytes_up_to(log: Path, certain_bytes: int, last_seq: int) -> int:
    """How many bytes, in whole lines, come before the first head that a later fact than `last_seq` holds.

    `certain_bytes` were there before the books were copied, and are not read. Every line that a head in the copy knows
    of comes before: it was on the disk when that head was recorded. Raises `OSError`.
    """
    with log.open("rb") as file:
        end = max(0, certain_bytes - LINE_BYTES_MAX)
        file.seek(end)
        lines = file.read(certain_bytes - end)
        end += lines.rfind(b"\n") + 1
        file.seek(end)
        while (line := file.readline(LINE_BYTES_MAX)).endswith(b"\n"):
            if _size_in(line) >= last_seq:
                break
            end += len(line)
    return end


def _size_in(line: bytes) -> int:
    """Of how many facts the line's head is; -1 for a line that holds none. That head is the fact after them."""
    try:
        event = decode_line(line[:-1]).event
    except ValueError:
        return -1
    size = event.fields.get("size")
    return size if event.kind == "TreeHead" and isinstance(size, int) else -1
