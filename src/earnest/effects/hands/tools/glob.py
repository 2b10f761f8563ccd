"""The tool that finds files by pattern."""

import asyncio
import fnmatch
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from earnest.effects.hands.tools.api import Leave, Tool, ToolPlace
from earnest.effects.hands.tools.arguments import normal_path, path_faults, text, text_faults, texts_schema
from earnest.effects.hands.tools.failures import of_os_error
from earnest.effects.hands.tools.record import RawResult, ToolCall
from earnest.effects.hands.workspace.tree import FOLDER_FLAGS
from earnest.foundation.canonical import JsonObject

PATTERN_BYTES_MAX: Final = 512
RESULTS_MAX: Final = 10_000
VISITED_MAX: Final = 200_000
DEPTH_MAX: Final = 64


class Glob(Tool):
    """`glob {pattern}`: paths of files and links, sorted, one a line, in the workspace and its inputs.

    `*`, `?` and `[…]` stay within a name, `**` spans folders; a pattern without `/` is looked for at every depth. Links
    are listed, never followed. At `RESULTS_MAX` paths or `VISITED_MAX` names the list ends and stderr says so.
    """

    name = "glob"
    reads_only = True
    leave = Leave.NONE
    purpose = "Find files of the workspace by name; `**` goes over folders."
    args_schema = texts_schema(pattern="")

    def args_faults(self, args: JsonObject) -> list[str]:
        """See `Tool`."""
        return text_faults(args, {"pattern": PATTERN_BYTES_MAX}) or path_faults(text(args, "pattern"))

    def target(self, args: JsonObject) -> str:
        """The pattern, relative to /work."""
        return normal_path(text(args, "pattern"))

    async def run(self, call: ToolCall, place: ToolPlace) -> RawResult:
        """See `Tool`."""
        return await asyncio.to_thread(_find, self.target(call.args), place)


def _find(pattern: str, place: ToolPlace) -> RawResult:
    search = _Search(Pattern(pattern), {normal_path(mount.target): mount.source for mount in place.inputs})
    try:
        paths = sorted(search.files(place.folder))
    except OSError as error:
        return RawResult(failure=of_os_error(error, pattern))
    note = "" if search.complete else "the list is not complete: there is more than can be listed"
    return RawResult(stdout="\n".join(map(_shown, paths)).encode(errors="replace"), stderr=note.encode())


def _shown(path: str) -> str:
    """A name with control characters is quoted, so that it cannot pass for several."""
    return path if path.isprintable() else json.dumps(path)


States: TypeAlias = frozenset[int]


class Pattern:
    """A pattern as a small automaton over names, so that no pattern takes longer than its length times the names.

    A state is the number of the part that comes next. A search carries the states down the folders and need not enter
    a folder in which none is left.
    """

    def __init__(self, pattern: str) -> None:
        parts = pattern.split("/")
        if len(parts) == 1:
            parts = ["**", *parts]
        self._parts = [None if part == "**" else re.compile(fnmatch.translate(part)) for part in parts]
        self.start = self._skipping({0})

    def step(self, states: States, name: str) -> States:
        """The states after `name`."""
        after = set[int]()
        for state in states:
            if state == len(self._parts):
                continue
            part = self._parts[state]
            if part is None:
                after |= {state, state + 1} if state + 1 == len(self._parts) else {state}
            elif part.match(name):
                after.add(state + 1)
        return self._skipping(after)

    def accepts(self, states: States) -> bool:
        """True if the names so far are a match."""
        return len(self._parts) in states

    def _skipping(self, states: set[int]) -> States:
        """Add the states reached because `**` may stand for no folder at all."""
        for state in range(len(self._parts) - 1):
            if state in states and self._parts[state] is None:
                states.add(state + 1)
        return frozenset(states)


class _Search:
    """One walk over the workspace and its inputs. `complete` is False once a limit ended it."""

    def __init__(self, pattern: Pattern, inputs: Mapping[str, Path]) -> None:
        self.complete = True
        self._pattern = pattern
        self._inputs = inputs
        self._visited = 0
        self._found = 0

    def files(self, folder: Path) -> Iterator[str]:
        """Matching paths, in no order."""
        yield from self._below(folder, "", self._pattern.start)
        for target, source in self._inputs.items():
            states = self._pattern.start
            for name in target.split("/"):
                states = self._pattern.step(states, name)
            if source.is_dir():
                yield from self._below(source, target + "/", states)
            elif self._pattern.accepts(states):
                yield target

    def _below(self, folder: Path, prefix: str, states: States) -> Iterator[str]:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield from self._listed(descriptor, prefix, states, 1)
        finally:
            os.close(descriptor)

    def _listed(self, folder: int, prefix: str, states: States, depth: int) -> Iterator[str]:
        with os.scandir(folder) as listing:
            for entry in listing:
                path = prefix + entry.name
                if path in self._inputs:
                    continue
                self._visited += 1
                if self._visited > VISITED_MAX or self._found >= RESULTS_MAX or depth > DEPTH_MAX:
                    self.complete = False
                    return
                after = self._pattern.step(states, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    yield from self._inside(entry.name, folder, path, after, depth)
                elif self._pattern.accepts(after):
                    self._found += 1
                    yield path

    def _inside(self, name: str, folder: int, path: str, states: States, depth: int) -> Iterator[str]:
        if not states:
            return
        try:
            inner = os.open(name, FOLDER_FLAGS, dir_fd=folder)
        except OSError:  # a folder that this user may not read holds nothing that a tool could use
            return
        try:
            yield from self._listed(inner, path + "/", states, depth + 1)
        finally:
            os.close(inner)
