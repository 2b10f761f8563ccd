"""Files that a check's config may name, and how they are read."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Final

from earnest.contracts.node import Node
from earnest.contracts.reader import NodeReader
from earnest.effects.hands.workspace.snapshot import Snapshot, SnapshotEntry
from earnest.foundation.canonical import JsonValue, digest_bytes
from earnest.foundation.errors import Broken, Refused
from earnest.verification.strict_json import JSON_BYTES_MAX, NotStrictJson, strict_json

BESIDE_BYTES_MAX: Final = 16 * 1024 * 1024
GLOB_SEGMENTS_MAX: Final = 32
NAME_BYTES_MAX: Final = 255
PATH_CHARACTERS_MAX: Final = 1_024
TEXT_BYTES_MAX: Final = 4 * 1024 * 1024
_SHA256: Final = re.compile(r"(sha256:)?[0-9a-f]{64}", re.ASCII)
_HOMES: Final = frozenset({"~", "$HOME", "${HOME}"})
_OUTSIDE: Final = re.compile(
    r"""(?<![\w./~\\-])(~(?=/|$)|\$HOME\b|\$\{HOME\}|/(?:home|root|Users|mnt|media|srv|var|data|Volumes)/[\w.])"""
)
"""Where a home, or a place of the user's data, is named in a command."""


def path_fault(path: str) -> str | None:
    """What is wrong with a path that must lie below some folder, or None."""
    parts = path.split("/")
    if any(ord(character) < 32 or ord(character) == 127 for character in path):
        return f"{path!r} must have no control characters"
    if any(len(part.encode()) > NAME_BYTES_MAX for part in parts):
        return f"{path[:80]!r} has a part of more than {NAME_BYTES_MAX} bytes, which no file is called"
    if parts[0] in _HOMES:
        return f"{path!r} names the home, which is outside the work: use the check kind 'outside'"
    if not path or PurePosixPath(path).is_absolute() or any(part in {"", ".", ".."} for part in parts):
        return f"{path!r} must be a relative path without empty parts, '.' and '..'"
    return None


def is_match(path: str, pattern: str) -> bool:
    """True if a path matches: `*`, `?` and `[…]` within a part, a part `**` for any number of parts."""
    names, parts = path.split("/"), pattern.split("/")
    reached = {0}
    for part in parts:
        if part == "**":
            reached = set(range(min(reached), len(names) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(names) and fnmatchcase(names[at], part)}
        if not reached:
            return False
    return len(names) in reached


def read_entry(snapshot: Snapshot, entry: SnapshotEntry) -> bytes:
    """The bytes of a file that was taken in. Raises `Broken` if they are no longer what was taken in."""
    handle = os.open(snapshot.folder / entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        data = file.read(entry.size_bytes + 1)
    if digest_bytes(data) != entry.digest:
        raise Broken(f"the copy of {entry.path} is not what was taken in")
    return data


def read_beside(base_folder: Path | None, name: str) -> bytes:
    """The bytes of a file beside the spec or playbook.

    Raises `Refused("bad_check_file")` if there is no such folder or file, or it lies elsewhere, or has more than
    `BESIDE_BYTES_MAX`.
    """
    if base_folder is None:
        raise Refused("bad_check_file", f"{name!r} is a file beside the spec, and the spec has no folder")
    base = base_folder.resolve()
    path = (base / name).resolve()
    if not path.is_relative_to(base) or not path.is_file():
        raise Refused("bad_check_file", f"there is no file {name!r} beside the spec")
    with path.open("rb") as file:
        data = file.read(BESIDE_BYTES_MAX + 1)
    if len(data) > BESIDE_BYTES_MAX:
        raise Refused("bad_check_file", f"{name!r} has more than {BESIDE_BYTES_MAX} bytes")
    return data


def beside_fault(
    base_folder: Path | None, name: str, read: Callable[[Path | None, str], object] = read_beside
) -> str | None:
    """What is wrong with a file beside the spec, as `read` tells; where the spec has no folder, with its name alone."""
    fault = path_fault(name)
    if fault is None and base_folder is not None:
        try:
            read(base_folder, name)
        except Refused as refused:
            return str(refused)
    return fault


def read_path(reader: NodeReader, node: Node | None) -> str:
    """A config's path of one file in the work; what is wrong with it is noted."""
    path = reader.text(node, at_most=PATH_CHARACTERS_MAX)
    fault = path_fault(path) if path else None
    if node is not None and fault:
        reader.fault(node, fault)
    return path


def read_text(snapshot: Snapshot, path: str) -> str:
    """The text of a file that was taken in. Raises `ValueError` saying why there is none, as the end of a sentence."""
    entry = snapshot.entry(path)
    if entry is None:
        raise ValueError("is missing")
    if entry.size_bytes > TEXT_BYTES_MAX:
        raise ValueError(f"has more than {TEXT_BYTES_MAX} bytes and was not looked into")
    try:
        return read_entry(snapshot, entry).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8 text") from None


def read_json(snapshot: Snapshot, path: str) -> JsonValue:
    """The value of a file that was taken in. Raises `NotStrictJson`."""
    entry = snapshot.entry(path)
    if entry is None:
        raise NotStrictJson("there is no such file")
    if entry.size_bytes > JSON_BYTES_MAX:
        raise NotStrictJson(f"more than {JSON_BYTES_MAX} bytes")
    return strict_json(read_entry(snapshot, entry))


def read_sha256(reader: NodeReader, node: Node | None) -> str:
    """A config's SHA-256 of a file, in digits alone; empty if it names none."""
    text = reader.text(node, at_most=80).lower()
    if node is not None and text and not _SHA256.fullmatch(text):
        reader.fault(node, "must be 64 hexadecimal digits")
    return text.removeprefix("sha256:")


def check_inside(reader: NodeReader, node: Node | None) -> None:
    """Note every text of a command that names a place outside the work: absence there would pass for a fact."""
    for text in texts_of(node.json()) if node is not None else ():
        if node is not None and (found := _OUTSIDE.search(text)):
            why = "a check sees only the work; for what lies outside there is the check kind 'outside'"
            reader.fault(node, f"names {found[1]!r}: {why}")


def texts_of(value: JsonValue) -> Iterator[str]:
    """Every text in a config: whatever names a file is among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for child in value.values():
            yield from texts_of(child)
    elif isinstance(value, Sequence):
        for child in value:
            yield from texts_of(child)
