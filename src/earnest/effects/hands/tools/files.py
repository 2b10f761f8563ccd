"""Tools that read and change files of the workspace: whole files, exact replacement, deletion, another name."""

import asyncio
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Final

from earnest.effects.ground.beneath import opened_beneath
from earnest.effects.hands.tools.api import Leave, Tool, ToolPlace
from earnest.effects.hands.tools.arguments import (
    PATH_BYTES_MAX,
    TEXT,
    normal_path,
    object_schema,
    path_faults,
    text,
    text_faults,
    texts_schema,
)
from earnest.effects.hands.tools.failures import environmental, logical, of_os_error
from earnest.effects.hands.tools.record import RawResult, ToolCall
from earnest.foundation.canonical import JsonObject

TEXT_BYTES_MAX: Final = 1024 * 1024
READ_BYTES_MAX: Final = 1024 * 1024
WRITE_BYTES_MAX: Final = 8 * 1024 * 1024


class ReadFile(Tool):
    """`read_file {path, from?, to?}`: a file of at most `READ_BYTES_MAX`, of the workspace or of an input, as it is.

    With `from` or `to`, the first and last line, only these, each with its number.
    """

    name = "read_file"
    version = "2"
    reads_only = True
    leave = Leave.NONE
    purpose = "Read a text file, or some numbered lines of it."
    args_schema = object_schema({"path": TEXT, "from": {"type": "integer"}, "to": {"type": "integer"}}, ("path",))

    def args_faults(self, args: JsonObject) -> list[str]:
        """See `Tool`."""
        lines = {name: args[name] for name in ("from", "to") if name in args}
        rest = {name: value for name, value in args.items() if name not in lines}
        faults = text_faults(rest, {"path": PATH_BYTES_MAX}) or path_faults(text(rest, "path"))
        wrong = [name for name, line in lines.items() if type(line) is not int or line < 1]
        return faults + [f"{name} must be the number of a line, from 1" for name in wrong]

    def target(self, args: JsonObject) -> str:
        """The path, relative to /work."""
        return normal_path(text(args, "path"))

    async def run(self, call: ToolCall, place: ToolPlace) -> RawResult:
        """See `Tool`."""
        path = self.target(call.args)
        raw = await asyncio.to_thread(_caught, lambda: _read(path, place), path)
        if raw.failure is not None or not {"from", "to"} & call.args.keys():
            return raw
        first, last = call.args.get("from", 1), call.args.get("to", sys.maxsize)
        assert isinstance(first, int)
        assert isinstance(last, int)
        lines = raw.stdout.splitlines(keepends=True)
        if first > max(1, len(lines)):
            return RawResult(failure=logical("no_such_line", f"{path} has {len(lines)} lines"))
        numbers = range(first, min(last, len(lines)) + 1)
        return RawResult(stdout=b"".join(b"%d\t%s" % (number, lines[number - 1]) for number in numbers))


class Changing(Tool):
    """What these tools have in common. `_paths` are the arguments that name a path, the first of them the target."""

    reads_only = False
    leave = Leave.NONE
    _sizes: ClassVar[dict[str, int]] = {}
    _paths: tuple[str, ...] = ("path",)

    def args_faults(self, args: JsonObject) -> list[str]:
        """See `Tool`."""
        faults = text_faults(args, {name: size for name, size in self._sizes.items() if name != "all" or name in args})
        return faults or [fault for name in self._paths for fault in path_faults(text(args, name))]

    def target(self, args: JsonObject) -> str:
        """The path, relative to /work."""
        return normal_path(text(args, self._paths[0]))

    def paths(self, args: JsonObject) -> tuple[str, ...]:
        """All that it touches, relative to /work."""
        return tuple(normal_path(text(args, name)) for name in self._paths)

    async def run(self, call: ToolCall, place: ToolPlace) -> RawResult:
        """See `Tool`."""
        for path in self.paths(call.args):
            if place.root_of(path)[2]:
                return RawResult(failure=environmental("erofs", f"{path}: inputs are read-only"))
        return await asyncio.to_thread(_caught, lambda: self._act(call.args, place.folder), self.target(call.args))

    def _act(self, args: JsonObject, folder: Path) -> RawResult:
        raise NotImplementedError


class WriteFile(Changing):
    """`write_file {path, content}`: at most `WRITE_BYTES_MAX` of UTF-8, over what was there; folders are made."""

    name = "write_file"
    purpose = "Write a whole text file, over what was there."
    args_schema = texts_schema(path="", content="")
    _sizes: ClassVar[dict[str, int]] = {"path": PATH_BYTES_MAX, "content": WRITE_BYTES_MAX}

    def _act(self, args: JsonObject, folder: Path) -> RawResult:
        path, content = self.target(args), text(args, "content").encode()
        write_whole(folder, path, content)
        return RawResult(stdout=f"wrote {len(content)} bytes to {path}".encode())


class EditFile(Changing):
    """`edit_file {path, old, new, all?}`: `old`, which must stand there exactly once, is replaced; `all` "yes": all."""

    name = "edit_file"
    purpose = "Replace a text that stands in a file exactly once."
    args_schema = object_schema(
        {"path": TEXT, "old": TEXT, "new": TEXT, "all": {**TEXT, "description": '"yes": wherever it stands'}},
        ("path", "old", "new"),
    )
    _sizes: ClassVar[dict[str, int]] = {"path": PATH_BYTES_MAX, "old": TEXT_BYTES_MAX, "new": TEXT_BYTES_MAX, "all": 3}

    def _act(self, args: JsonObject, folder: Path) -> RawResult:
        path, old, new = self.target(args), text(args, "old").encode(), text(args, "new").encode()
        before = read_whole(folder, path)
        count = before.count(old) if old else 0
        if not count or (count > 1 and args.get("all") != "yes"):
            advice = "nothing was changed; read the file again" if not count else 'give more of it, or all: "yes"'
            return RawResult(failure=logical("no_single_match", f"old stands {count} times in {path}: {advice}"))
        write_whole(folder, path, before.replace(old, new))
        return RawResult(stdout=f"replaced {count} in {path}".encode())


class Delete(Changing):
    """`delete {path}`: a file, a link or a folder with all that is in it."""

    name = "delete"
    purpose = "Delete a file or folder."
    args_schema = texts_schema(path="")
    _sizes: ClassVar[dict[str, int]] = {"path": PATH_BYTES_MAX}

    def _act(self, args: JsonObject, folder: Path) -> RawResult:
        path = self.target(args)
        place = beside(folder, path)
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink()
        return RawResult(stdout=f"deleted {path}".encode())


class MoveFile(Changing):
    """`move {path, to}`: another name or folder for a file or folder; nothing is overwritten, folders are made."""

    name = "move"
    purpose = "Move a file or folder; never over another."
    args_schema = texts_schema(path="", to="")
    _sizes: ClassVar[dict[str, int]] = {"path": PATH_BYTES_MAX, "to": PATH_BYTES_MAX}
    _paths = ("path", "to")

    def _act(self, args: JsonObject, folder: Path) -> RawResult:
        path, to = self.target(args), normal_path(text(args, "to"))
        source = beside(folder, path)
        source.lstat()
        if os.path.lexists(folder / to):
            return RawResult(failure=logical("already_there", f"{to} is there already: nothing was moved"))
        beside(folder, to, make=True)
        source.rename(folder / to)
        return RawResult(stdout=f"moved {path} to {to}".encode())


def _read(path: str, place: ToolPlace) -> RawResult:
    root, inner, _ = place.root_of(path)
    data = _beginning(root, inner, READ_BYTES_MAX + 1)
    if len(data) > READ_BYTES_MAX:
        return RawResult(
            failure=logical("too_large", f"{path}: over {READ_BYTES_MAX} bytes; read a part of it instead")
        )
    return RawResult(stdout=data)


def _beginning(folder: Path, path: str, bytes_max: int) -> bytes:
    with opened_beneath(folder, path, os.O_RDONLY) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as file:
        return file.read(bytes_max)


def read_whole(folder: Path, path: str) -> bytes:
    """The file's bytes. Raises `OSError`, `EFBIG` for more than may be written."""
    data = _beginning(folder, path, WRITE_BYTES_MAX + 1)
    if len(data) > WRITE_BYTES_MAX:
        raise OSError(27, "File too large")
    return data


def write_whole(folder: Path, path: str, data: bytes) -> None:
    """Write the file over what was there; folders are made, the mode stays. Raises `OSError`."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with (
        opened_beneath(folder, path, flags, make_parents=True) as descriptor,
        os.fdopen(descriptor, "wb", closefd=False) as file,
    ):
        file.write(data)


def beside(folder: Path, path: str, *, make: bool = False) -> Path:
    """The place, if no folder on the way to it is a link, which might lead out. Raises `OSError`."""
    place = folder
    for part in path.split("/")[:-1]:
        place /= part
        if place.is_symlink():
            raise OSError(18, "a link is on the way")
        if make:
            place.mkdir(exist_ok=True)
    return folder / path


def _caught(act: Callable[[], RawResult], path: str) -> RawResult:
    try:
        return act()
    except OSError as error:
        return RawResult(failure=of_os_error(error, path))
