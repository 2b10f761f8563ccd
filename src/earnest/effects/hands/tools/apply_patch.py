"""The tool that applies a unified diff to files of the workspace: all of it, or nothing."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final

from earnest.effects.hands.tools.arguments import normal_path, path_faults, text, texts_schema
from earnest.effects.hands.tools.failures import logical
from earnest.effects.hands.tools.files import TEXT_BYTES_MAX, Changing, beside, read_whole, write_whole
from earnest.effects.hands.tools.record import RawResult
from earnest.foundation.canonical import JsonObject

NOWHERE: Final = "/dev/null"
_HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")


class Unfit(ValueError):
    """Why a patch cannot be applied, in words."""


@dataclass(slots=True)
class _Hunk:
    at: int
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _File:
    source: str
    target: str
    hunks: list[_Hunk] = field(default_factory=list)


class ApplyPatch(Changing):
    """`apply_patch {patch}`: a unified diff of texts; line numbers may be off as long as the lines stand there once."""

    name = "apply_patch"
    purpose = "Apply a unified diff, whole or not at all."
    args_schema = texts_schema(patch="")
    _sizes: ClassVar[dict[str, int]] = {"patch": TEXT_BYTES_MAX}
    _paths = ()

    def paths(self, args: JsonObject) -> tuple[str, ...]:
        """See `Changing`."""
        files = read_patch(text(args, "patch"))
        return tuple(normal_path(path) for file in files for path in (file.source, file.target) if path)

    def args_faults(self, args: JsonObject) -> list[str]:
        """See `Tool`."""
        if faults := super().args_faults(args):
            return faults
        try:
            files = read_patch(text(args, "patch"))
        except Unfit as unfit:
            return [str(unfit)]
        return [fault for file in files for path in (file.source, file.target) if path for fault in path_faults(path)]

    def target(self, args: JsonObject) -> str:
        """The paths that the patch changes, relative to /work."""
        return " ".join(dict.fromkeys(self.paths(args)))

    def _act(self, args: JsonObject, folder: Path) -> RawResult:
        changed: dict[str, bytes | None] = {}
        try:
            for file in read_patch(text(args, "patch")):
                source, target = (normal_path(path) if path else "" for path in (file.source, file.target))
                former = changed.get(source) if source in changed else read_whole(folder, source) if source else b""
                is_there = not source and os.path.lexists(folder / target)
                after = patched((former or b"").decode(), file.hunks, source or target, is_there=is_there)
                if source and source != target:
                    changed[source] = None
                if target:
                    changed[target] = after.encode()
        except UnicodeDecodeError:
            return RawResult(failure=logical("patch_failed", "a file is no UTF-8 text; nothing was changed"))
        except Unfit as unfit:
            return RawResult(failure=logical("patch_failed", f"{unfit}; nothing was changed"))
        for path, data in changed.items():
            if data is None:
                beside(folder, path).unlink()
            else:
                write_whole(folder, path, data)
        return RawResult(stdout=f"patched {', '.join(changed)}".encode())


def read_patch(patch: str) -> list[_File]:
    """The files of a patch. Raises `Unfit`, with the line."""
    files: list[_File] = []
    lines = iter(enumerate(patch.splitlines(keepends=True), start=1))
    source: str | None = None
    for number, line in lines:
        if line.startswith("--- "):
            source = _path(line, "a/")
        elif line.startswith("+++ ") and source is not None:
            files.append(_File(source, _path(line, "b/")))
            source = None
        elif (found := _HUNK.match(line)) and files:
            files[-1].hunks.append(_hunk(found, lines, number))
        elif line.startswith("@@"):
            raise Unfit(f"line {number} of the patch is no hunk header after --- and +++: {line.strip()[:80]!r}")
    if not any(file.hunks for file in files) or any(not (file.source or file.target) for file in files):
        raise Unfit("this is no unified diff: it needs --- a/PATH, +++ b/PATH and @@ -1,3 +1,4 @@")
    return files


def patched(before: str, hunks: Sequence[_Hunk], path: str, *, is_there: bool = False) -> str:
    """The text after all hunks. Raises `Unfit` for the first that does not fit, and for a new file that is there."""
    if is_there:
        raise Unfit(f"{path}: is there already")
    lines = before.splitlines(keepends=True)
    shift = 0
    for number, hunk in enumerate(hunks, start=1):
        guess = max(0, hunk.at - 1 if hunk.before else hunk.at) + shift
        size = len(hunk.before)
        if lines[guess : guess + size] != hunk.before:
            places = [at for at in range(len(lines) - size + 1) if lines[at : at + size] == hunk.before]
            if len(places) != 1:
                wanted = hunk.before[0].rstrip() if hunk.before else ""
                raise Unfit(f"{path}: the lines of hunk {number}, from {wanted!r} on, stand there {len(places)} times")
            guess = places[0]
        lines[guess : guess + size] = hunk.after
        shift += len(hunk.after) - size
    return "".join(lines)


def _path(line: str, prefix: str) -> str:
    """Empty for nothing."""
    path = line[4:].split("\t", maxsplit=1)[0].strip()
    return "" if path == NOWHERE else path.removeprefix(prefix)


def _hunk(found: re.Match[str], lines: Iterator[tuple[int, str]], number: int) -> _Hunk:
    hunk = _Hunk(int(found[1]))
    old, new = (int(found[2] or 1), int(found[3] or 1))
    last: list[list[str]] = []
    while len(hunk.before) < old or len(hunk.after) < new:
        number, line = next(lines, (number, ""))
        mark, rest = line[:1], line[1:]
        if line in ("\n", "\r\n"):
            mark, rest = " ", line
        if mark == "\\":
            for side in last:
                side[-1] = side[-1].rstrip("\n")
            continue
        if mark not in (" ", "-", "+"):
            raise Unfit(f"line {number} of the patch: the hunk has fewer lines than its header says")
        last = [hunk.before, hunk.after] if mark == " " else [hunk.before] if mark == "-" else [hunk.after]
        for side in last:
            side.append(rest)
    return hunk
