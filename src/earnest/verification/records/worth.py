"""What of a recorded call may prove something, by how each of its processes ended."""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final, NamedTuple

from earnest.effects.hands.tools.parts import CallParts, Stretch
from earnest.effects.hands.tools.programs import SHELLS, WRAPPERS
from earnest.effects.hands.tools.record import ToolRecord
from earnest.effects.hands.tools.shell_words import Unbalanced, Word, scan

_CUT: Final = re.compile(r"\n?\[… (\d+) characters left out …\]\n?")
_STDOUT: Final = "[stdout]\n"
_STDERR: Final = "[stderr]\n"
_RUN_OTHERS: Final = SHELLS | WRAPPERS.keys() | {"eval", "find", "xargs"}
UNSEEN: Final = "nobody saw how its parts ended"


class Piece(NamedTuple):
    """`text` stands within `around`, a recorded piece of stdout; `against` is why it proves nothing."""

    text: str
    around: str
    against: str


def pieces(record: ToolRecord, *, measures: bool = False) -> Iterator[Piece]:
    """What was recorded of stdout, taken apart where its worth changes. `measures`: success is asked for."""
    if record.tool != "shell" or not record.processes:
        against = "" if record.tool != "shell" or is_one_program(record) else UNSEEN
        yield from (Piece(text, text, against) for _, text in _shown(record))
        return
    stretches = CallParts(record.processes, _changed(record)).stretches()
    for start, text in _shown(record):
        inside = [one for one in stretches if one.start < start + len(text) and start < one.end]
        for against, group in groupby(inside, key=lambda one: _against(one, measures=measures)):
            run = list(group)
            yield Piece(text[max(0, run[0].start - start) : run[-1].end - start], text, against)


def against_file(record: ToolRecord, path: str) -> str:
    """Why what the call left at a path proves nothing; empty if whoever wrote it succeeded."""
    if record.tool != "shell":
        return ""
    if not record.processes:
        return "" if is_one_program(record) else UNSEEN
    return CallParts(record.processes, _changed(record)).against_file(path)


def is_one_program(record: ToolRecord) -> bool:
    """True for a command line whose status is that of the only program in it."""
    try:
        line = scan(str(record.args.get("command", "")).strip())
    except Unbalanced:
        return False
    words = [token.text for token in line.tokens if isinstance(token, Word)]
    one = len(words) == len(line.tokens) > 0 and not line.substitutions
    return one and words[0] != "!" and words[0].rpartition("/")[2] not in _RUN_OTHERS


def _against(stretch: Stretch, *, measures: bool) -> str:
    return stretch.against or (f"before it, {stretch.note}" if measures and stretch.note else "")


def _changed(record: ToolRecord) -> tuple[str, ...]:
    return tuple(change.path for change in record.changed)


def _shown(record: ToolRecord) -> list[tuple[int, str]]:
    """The recorded pieces of stdout and where they begin. Where an output imitates our marks, less of it counts."""
    shown = record.output_excerpt
    if shown.startswith(_STDERR):
        return []
    if shown.startswith(_STDOUT):
        shown = shown.removeprefix(_STDOUT).partition(f"\n{_STDERR}")[0]
    if not record.processes:
        return [(0, text) for text in _CUT.sub("\0", shown).split("\0")]
    total = max(process.out[1] for process in record.processes)
    for mark in _CUT.finditer(shown):
        head, tail = shown[: mark.start()], shown[mark.end() :]
        if len(head) + int(mark[1]) + len(tail) == total:
            return [(0, head), (total - len(tail), tail)]
    return [(0, _CUT.sub("\0", shown).partition("\0")[0])]
