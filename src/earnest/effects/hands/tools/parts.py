"""What each stretch of a command line's output is worth, and each file that it wrote: by the ends of its processes.

A *leader* is the first program below shells and whatever else only runs what it is told; what comes of a leader is its
own business. Leaders joined by pipes are one *part*. What appeared while a leader lived that could write there belongs
to its part. The rest is the shell's own: typed, or made of what the shell read from a leader before. No word of the
line is looked at, so that no spelling of it deceives; only the words with which a program was started say whether it
was given a program to run, and which files it was told to read.
"""

import codecs
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, takewhile
from pathlib import PurePosixPath
from signal import SIGPIPE
from typing import Final

from earnest.effects.hands.sandbox.api import WORK_DIR, Process

RECORDED_MAX: Final = 400
SHELLS: Final = frozenset({"ash", "bash", "busybox", "dash", "ksh", "mksh", "rbash", "sh", "zsh"})
RUNNERS: Final = frozenset(
    {"chrt", "env", "find", "flock", "ionice", "nice", "nohup", "parallel", "script", "setsid", "stdbuf", "taskset"}
    | {"time", "timeout", "watch", "xargs"}
)
"""What is no more than a shell as soon as something runs under it."""
ANSWERS: Final = frozenset({"[", "cmp", "comm", "diff", "egrep", "expr", "fgrep", "grep", "test", "which"})
"""What says no by ending with 1."""
SEARCHES: Final = frozenset({"ack", "ag", "egrep", "fd", "fdfind", "fgrep", "grep", "locate", "plocate", "rg"})
"""What says by ending with 1 that it has found nothing."""
WALKS: Final = frozenset({"fd", "fdfind", "find"})
"""What says so by printing nothing and ending with 0."""
_OF_A_PLACE: Final = frozenset({"egrep", "fgrep", "grep"})
"""What reads stdin unless it is told where to search."""
TYPES: Final = frozenset({"echo", "printf", "yes"})
WRITES_NOTHING: Final = ANSWERS | frozenset(
    {"cat", "cut", "du", "file", "head", "ls", "mkdir", "readlink", "rm", "rmdir", "sleep", "stat", "tail", "wc"}
)
"""What has made no file, unless a descriptor of it led there."""
_OWN_PLACES: Final = (f"{WORK_DIR}/", "/tmp/", "/dev/shm/")  # noqa: S108 - where whatever runs inside can write
_INTERPRETERS: Final = re.compile(r"(?:python|perl|ruby|node|php|lua)[\d.]*")
_AWKS: Final = frozenset({"awk", "gawk", "mawk", "nawk"})
_INLINE: Final = re.compile(r"-\w*[ceEr]|-?")
_TYPED: Final = "it only says what it was told to say"
_TOO_MANY: Final = "too many processes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Characters of an output. `against` says why they prove nothing, `note` why at least no success; or are empty."""

    start: int
    end: int
    against: str = ""
    note: str = ""


@dataclass(frozen=True)
class CallParts:
    """The processes of one call, in the order in which they began, and the paths that it changed."""

    processes: Sequence[Process]
    changed: Collection[str] = ()

    def stretches(self) -> tuple[Stretch, ...]:
        """Every stretch of stdout, in order, without gaps."""
        edges = sorted({edge for each in self.processes for edge in each.out} | {0})
        return tuple(self._stretch(start, end) for start, end in pairwise(edges))

    @property
    def fault(self) -> str:
        """Why the line as a whole has not succeeded; empty if each of its parts has."""
        return self._first(self._units)

    @property
    def found_nothing(self) -> bool:
        """True if nothing ran but searches, none of which found anything; of a line that put nothing out."""
        return bool(self._units) and all(map(self._is_in_vain, self._units))

    def _is_in_vain(self, at: int) -> bool:
        name, code, given = self._program(at), self._end_of(at), self.processes[at].words.split("\0")[1:]
        if name in WALKS and code == 0:
            return self.processes[at].files[1] == "stdout"
        plain = [word for word in given if word and not word.startswith("-")]
        recursive = any(re.fullmatch(r"--recursive|-\w*[rR]\w*", word) for word in given)
        return name in SEARCHES and code == 1 and (name not in _OF_A_PLACE or recursive or len(plain) > 1)

    def against_file(self, path: str) -> str:
        """Why a file that the call left proves nothing; empty if whoever wrote it succeeded."""
        place = f"{WORK_DIR}/{path}"
        writers = {self._part[at] for at in self._leaders if place in self.processes[at].files[1:3]}
        wrote = [at for at in self._leaders if self._part[at] in writers]
        suspects = wrote or [at for at in self._units if self._name(at) not in WRITES_NOTHING]
        return self._first(suspects)

    def _stretch(self, start: int, end: int) -> Stretch:
        lived = [at for at in self._units if self._lived(at, start, end)]
        parts = {self._part.get(at, at) for at in lived}
        members = [at for at in self._units if self._part.get(at, at) in parts]
        earlier = [at for at in self._units if self.processes[at].out[0] <= start and at not in members]
        if members:
            typed = _TYPED if all(self._name(at) in TYPES for at in members) else ""
            note = self._first([at for at in earlier if at < members[0]]) if self._reads(members) else ""
            return Stretch(start=start, end=end, against=self._first(members) or typed, note=note)
        read = [at for at in earlier if self._is_read_by_shell(at)]
        against = self._first(read) if read else _TYPED
        return Stretch(start=start, end=end, against=against, note=self._first(earlier))

    def _lived(self, at: int, start: int, end: int) -> bool:
        began, ended = self.processes[at].out
        return began <= start and end <= ended and self.processes[at].holds[0]

    def _first(self, units: Collection[int]) -> str:
        return next((fault for at in units if (fault := self._faults[at])), "")

    @cached_property
    def _faults(self) -> dict[int, str]:
        return {at: self._fault(at) for at in self._units}

    def _reads(self, members: Collection[int]) -> bool:
        """True if one of them was told to read what this call changed."""
        given = [
            word for at in members for word in (*self.processes[at].words.split("\0"), self.processes[at].files[0])
        ]
        names = {PurePosixPath(path).name for path in self.changed}
        return any(PurePosixPath(word).name in names for word in given)

    def _is_read_by_shell(self, at: int) -> bool:
        """True if what it put out went into a pipe that no leader reads."""
        out = self.processes[at].files[1]
        return at not in self._leaders or (out.startswith("pipe:") and not self._readers(out))

    def _readers(self, pipe: str) -> list[int]:
        return [at for at in self._leaders if pipe in (self.processes[at].files[:1] + self.processes[at].files[3:])]

    @cached_property
    def _units(self) -> list[int]:
        """The leaders, and what else of the shells can have failed."""
        return [at for at in range(len(self.processes)) if at in self._leaders or self._is_failed_shell(at)]

    @cached_property
    def _leaders(self) -> frozenset[int]:
        reached = (at for at in range(len(self.processes)) if self._is_reached(at))
        return frozenset(at for at in reached if self.processes[at].program and not self._is_shell(at))

    @cached_property
    def _part(self) -> dict[int, int]:
        """The first leader of each leader's part."""
        part, pipes = {at: at for at in self._leaders}, dict[str, int]()
        for at in sorted(self._leaders):
            for pipe in (file for file in self.processes[at].files if file.startswith("pipe:")):
                first, other = sorted((part[at], part[pipes.setdefault(pipe, at)]))
                part = {leader: first if head == other else head for leader, head in part.items()}
        return part

    @cached_property
    def _opens(self) -> tuple[bool, ...]:
        """Whether what comes of each is looked at."""
        opens = list[bool]()
        for at, each in enumerate(self.processes):
            above = each.parent < 0 or opens[each.parent]
            opens.append(above and (not each.program or self._is_shell(at) or self._is_given_its_program(at)))
        return tuple(opens)

    def _is_reached(self, at: int) -> bool:
        parent = self.processes[at].parent
        return parent < 0 or self._opens[parent]

    def _is_shell(self, at: int) -> bool:
        name = self._program(at)
        return name in SHELLS or (name in RUNNERS and any(self._came_of(at)))

    def _is_given_its_program(self, at: int) -> bool:
        """True of an interpreter with its program on the command line, and of what may be anything under any name."""
        program, words = self.processes[at].program, self.processes[at].words.split("\0")
        name, options = self._program(at), [*takewhile(lambda word: word.startswith("-"), words[1:]), *words[1:2]]
        inline = _INTERPRETERS.fullmatch(name) and any(map(_INLINE.fullmatch, options))
        return program.startswith(_OWN_PLACES) or name in RUNNERS | _AWKS or bool(inline)

    def _came_of(self, at: int) -> Iterator[int]:
        """The images that came of one and have executed a program."""
        family = {at}
        for later, each in enumerate(self.processes[at + 1 :], start=at + 1):
            if each.parent in family:
                family.add(later)
                if each.program:
                    yield later

    def _program(self, at: int) -> str:
        """The name of the executable where nobody can change it, else nothing."""
        program = self.processes[at].program
        return "" if program.startswith(_OWN_PLACES) else program.rpartition("/")[2]

    def _name(self, at: int) -> str:
        words = self.processes[at].words.split("\0")
        return self._program(at) or words[0].rpartition("/")[2] or "a part of the shell"

    def _is_failed_shell(self, at: int) -> bool:
        """A fork of a shell that could not run its program, or a script that says it failed; not the line itself."""
        each = self.processes[at]
        if not self._is_reached(at) or each.exit_code in (None, 0, -SIGPIPE) or self._is_line(at):
            return False
        if not each.program:
            return each.exit_code != 1 and self._is_of_shell(at)
        script = "".join(each.words.split("\0")[1:2])
        says_no = script.startswith("-") or PurePosixPath(script).name in ANSWERS
        return self._program(at) in SHELLS and not (each.exit_code == 1 and says_no)

    def _is_line(self, at: int) -> bool:
        """True of the image that the whole line began with."""
        return at == 0 or (at == 1 and self.processes[1].parent == 0 and bool(self.processes[1].program))

    def _is_of_shell(self, at: int) -> bool:
        while at >= 0 and not self.processes[at].program:
            at = self.processes[at].parent
        return at < 0 or self._program(at) in SHELLS | RUNNERS

    def _fault(self, at: int) -> str:
        """Why a unit has not succeeded; what runs given programs has not unless these have."""
        code = self._end_of(at)
        answered = code == 1 and self._name(at) in ANSWERS and self._program(at) != ""
        if self._is_given_its_program(at) and at in self._leaders:
            inner = (each for each in self._came_of(at) if each in self._leaders and each > at)
            if fault := next((fault for each in inner if (fault := self._fault(each))), ""):
                return fault
        if code == 0 or answered or (code == -SIGPIPE and self._is_cut_short(at)):
            return ""
        if self.processes[at].words == _TOO_MANY:
            return "more processes ran than are recorded"
        return f"{self._name(at)} " + ("did not end" if code is None else f"ended with {code}")

    def _end_of(self, at: int) -> int | None:
        """How it ended, or what replaced it."""
        each = self.processes[at]
        heirs = (later for later, other in enumerate(self.processes) if other.parent == at and other.program)
        if each.exit_code is not None or (heir := next(heirs, None)) is None:
            return each.exit_code
        return self._end_of(heir)

    def _is_cut_short(self, at: int) -> bool:
        """True if whoever read from its pipe had enough and succeeded; the shell itself may."""
        return all(self.processes[reader].exit_code == 0 for reader in self._readers(self.processes[at].files[1]))


def recorded(processes: Sequence[Process], stdout: bytes, stderr: bytes) -> tuple[Process, ...]:
    """What of the processes is kept: what `CallParts` looks at, in characters of the decoded output, up to a bound."""
    parts = CallParts(processes)
    kept = [at for at in range(len(processes)) if parts._is_reached(at)]  # noqa: SLF001
    number = {old: new for new, old in enumerate(kept)}
    out, err = _characters(stdout, [p.out for p in processes]), _characters(stderr, [p.err for p in processes])
    found = [
        replace(
            processes[at],
            parent=number.get(processes[at].parent, -1),
            out=(out[processes[at].out[0]], out[processes[at].out[1]]),
            err=(err[processes[at].err[0]], err[processes[at].err[1]]),
        )
        for at in kept
    ]
    if len(found) <= RECORDED_MAX:
        return tuple(found)
    first = found[RECORDED_MAX]
    ends = (max(out.values()), max(err.values()))
    beyond = Process(
        parent=-1, words=_TOO_MANY, exit_code=255, out=(first.out[0], ends[0]), err=(first.err[0], ends[1])
    )
    return (*found[:RECORDED_MAX], beyond)


def _characters(output: bytes, spans: Sequence[tuple[int, int]]) -> dict[int, int]:
    """How many characters stand before each of these places in an output."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    counted, count = {0: 0}, 0
    for before, at in pairwise(sorted({edge for span in spans for edge in span} | {0, len(output)})):
        count += len(decoder.decode(output[before:at], final=at >= len(output)))
        counted[at] = count
    return counted
