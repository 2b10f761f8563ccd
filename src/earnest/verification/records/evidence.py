"""What the recorded calls of one piece of work show: in whose words, and by how each of its processes ended."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import groupby
from typing import Final, NamedTuple

from earnest.effects.hands.tools.parts import CallParts, Stretch
from earnest.effects.hands.tools.programs import SHELLS, WRAPPERS
from earnest.effects.hands.tools.record import ToolRecord
from earnest.effects.hands.tools.shell_words import Unbalanced, Word, scan
from earnest.effects.hands.workspace.changes import Change
from earnest.effects.hands.workspace.tree import EntryKind
from earnest.verification.paths import texts_of
from earnest.verification.records.demands import is_named
from earnest.verification.visible import squeezed, without_unseen, words

KEPT_MAX: Final = 16
"""Of the forms of texts that are looked through again and again, once for each reference."""
_WORD_BY_WORD: Final = 8
"""Fewer letters than these are looked for as whole words: they stand within others by chance."""
_CUT: Final = re.compile(r"\n?\[… (\d+) characters left out …\]\n?")
_STDOUT: Final = "[stdout]\n"
_STDERR: Final = "[stderr]\n"
_RUN_OTHERS: Final = SHELLS | WRAPPERS.keys() | {"eval", "find", "xargs"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileText:
    """A file of the workspace as it is judged, and its digest."""

    digest: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRecords:
    """The calls of a piece of work, in the order in which they ended; a judge knows them as `c1`, `c2`, ….

    `texts` are the files that they changed, as far as these can be read, in the state that is judged. `inputs` are the
    folders and files of the workspace that no call can change, `former` the paths that other work of the run changed.
    `measured` are the judge's own calls, known as `m1`, `m2`, …; None where it could make none.
    """

    calls: tuple[ToolRecord, ...]
    texts: Mapping[str, FileText]
    inputs: tuple[str, ...] = ()
    former: frozenset[str] = frozenset()
    measured: tuple[ToolRecord, ...] | None = None

    def number(self, name: str) -> int | None:
        """The index of the call that a judge means, if there is one."""
        return next((at for at in range(len(self.calls)) if call_name(at) == name), None)

    def measurement(self, name: str) -> ToolRecord | None:
        """The judge's own call of that name, if there is one."""
        return {measurement_name(at): record for at, record in enumerate(self.measured or ())}.get(name)

    def is_input(self, path: str) -> bool:
        """True for what could only be read."""
        return any(f"{path.rstrip('/')}/".startswith(f"{name}/") for name in self.inputs)

    def is_former(self, name: str) -> bool:
        """True for what other work of the run has left to this one, which has not changed it."""
        return self.last_change(name) is None and any(is_named(path, name) for path in self.former)

    def last_change(self, name: str, *, or_mode: bool = False) -> tuple[int, Change] | None:
        """The last change of a file that a criterion may mean by `name`, and the index of its call.

        An old file that was only made executable is no new one, unless just that is asked for (`or_mode`).
        """
        changes = ((at, change) for at, call in enumerate(self.calls) for change in call.changed)
        meant = ((at, one) for at, one in changes if is_named(one.path, name) and (or_mode or not one.is_same))
        return max(meant, key=lambda pair: pair[0], default=None)

    def written(self, at: int) -> Iterator[tuple[str, str]]:
        """Path and text of each file that is still as this call left it."""
        for change in self.calls[at].changed:
            found = self.texts.get(change.path)
            if change.kind is EntryKind.FILE and not change.is_same and found and found.digest == change.digest:
                yield change.path, found.text

    def is_own_word(self, quote: str, at: int) -> bool:
        """True if the executor itself put the words into the arguments of this call or of an earlier one."""
        return any(says(arguments(call), quote) for call in self.calls[: at + 1])


def call_name(at: int) -> str:
    """How a judge names the call with this index."""
    return f"c{at + 1}"


def measurement_name(at: int) -> str:
    """How a judge names its own call with this index."""
    return f"m{at + 1}"


def arguments(record: ToolRecord) -> str:
    """Every text that the executor gave to the call."""
    return "\n".join(texts_of(record.args))


def mentions(record: ToolRecord, name: str) -> bool:
    """True if the call's arguments name the file or folder, or it changed it."""
    bare = name.rstrip("/").rpartition("/")[2]
    return bare in arguments(record) or any(is_named(change.path, name) for change in record.changed)


@lru_cache(KEPT_MAX)
def folded(text: str) -> str:
    """The text as it is compared: nothing unseen, single spaces."""
    return squeezed(without_unseen(text))


def says(text: str, quote: str) -> bool:
    """True if the words of a quotation stand in `text` one after the other, whatever stands between them."""
    wanted = _letters(quote)
    if len(wanted) < _WORD_BY_WORD:
        return f" {_words(quote)} " in f" {_words(text)} "
    return wanted in _letters(text)


@lru_cache(KEPT_MAX)
def _letters(text: str) -> str:
    return "".join(character for character in without_unseen(text).casefold() if character.isalnum())


@lru_cache(KEPT_MAX)
def _words(text: str) -> str:
    return " ".join(words(text))


class Piece(NamedTuple):
    """`text` stands within `around`, a recorded piece of stdout; `against` is why it proves nothing."""

    text: str
    around: str
    against: str


def pieces(record: ToolRecord, *, measures: bool = False) -> Iterator[Piece]:
    """What was recorded of stdout, taken apart where its worth changes. `measures`: success is asked for."""
    if record.tool != "shell" or not record.processes:
        yield from (Piece(text, text, _unseen(record)) for _, text in _shown(record))
        return
    stretches = _parts(record).stretches()
    for start, text in _shown(record):
        inside = [one for one in stretches if one.start < start + len(text) and start < one.end]
        for against, group in groupby(inside, key=partial(_against, measures=measures)):
            run = list(group)
            yield Piece(text[max(0, run[0].start - start) : run[-1].end - start], text, against)


def against_file(record: ToolRecord, path: str) -> str:
    """Why what the call left at a path proves nothing; empty if whoever wrote it succeeded."""
    if record.tool != "shell" or not record.processes:
        return _unseen(record)
    return _parts(record).against_file(path)


def _unseen(record: ToolRecord) -> str:
    return "" if record.tool != "shell" or is_one_program(record) else "nobody saw how its parts ended"


def is_one_program(record: ToolRecord) -> bool:
    """True for a command line whose status is that of the only program in it."""
    try:
        line = scan(str(record.args.get("command", "")).strip())
    except Unbalanced:
        return False
    tokens = [token.text for token in line.tokens if isinstance(token, Word)]
    one = len(tokens) == len(line.tokens) > 0 and not line.substitutions
    return one and tokens[0] != "!" and tokens[0].rpartition("/")[2] not in _RUN_OTHERS


def _against(stretch: Stretch, *, measures: bool) -> str:
    return stretch.against or (f"before it, {stretch.note}" if measures and stretch.note else "")


def _parts(record: ToolRecord) -> CallParts:
    return CallParts(record.processes, tuple(change.path for change in record.changed))


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
