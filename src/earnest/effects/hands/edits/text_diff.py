"""A change of one file as people read it: a unified diff, or a line about what is no text."""

import difflib
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from earnest.foundation.canonical import digest_bytes

TEXT_BYTES_MAX: Final = 1024 * 1024
LINES_MAX: Final = 20_000
CONTEXT_LINES: Final = 3


class LineCount(NamedTuple):
    """Lines that were added and removed."""

    added: int
    removed: int


def text_lines(content: bytes | None) -> list[str] | None:
    """The lines of a text, none for nothing; None for what is no text or too much of it to be compared."""
    if content is None:
        return []
    if len(content) > TEXT_BYTES_MAX or b"\0" in content:
        return None
    try:
        *lines, last = content.decode().split("\n")
    except UnicodeDecodeError:
        return None
    whole = [line + "\n" for line in lines] + [last] * bool(last)
    return whole if len(whole) <= LINES_MAX else None


def changed_lines(before: bytes | None, after: bytes | None) -> LineCount | None:
    """How many lines differ; None where one of the two is no text."""
    old, new = text_lines(before), text_lines(after)
    if old is None or new is None:
        return None
    head, tail = _alike(old, new)
    matcher = difflib.SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail])
    codes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    return LineCount(added=sum(c[4] - c[3] for c in codes), removed=sum(c[2] - c[1] for c in codes))


def unified(path: str, before: bytes | None, after: bytes | None) -> Iterator[str]:
    """The lines of a unified diff, without line ends, as `git apply` and `patch -p1` read them."""
    old_name, new_name = ("/dev/null" if before is None else f"a/{path}", "/dev/null" if after is None else f"b/{path}")
    old, new = text_lines(before), text_lines(after)
    if old is None or new is None:
        yield f"binary {path}: {_told(before)} → {_told(after)}"
        return
    for line in difflib.unified_diff(old, new, old_name, new_name, n=CONTEXT_LINES):
        text = line.removesuffix("\n")
        yield text
        if text == line and line[:1] in {"+", "-", " "} and not line.startswith(("+++ ", "--- ")):
            yield "\\ No newline at end of file"


def _alike(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many lines two texts share at their beginning and at their end."""
    shorter = min(len(old), len(new))
    head = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    tail = next((at for at in range(shorter - head) if old[-1 - at] != new[-1 - at]), shorter - head)
    return head, tail


def _told(content: bytes | None) -> str:
    return "nothing" if content is None else f"{len(content)} bytes {digest_bytes(content)[:19]}"
