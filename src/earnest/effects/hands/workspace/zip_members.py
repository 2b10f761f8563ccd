"""Zip archives: directory and members must tell the same story, without gaps and overlaps.

APPNOTE.TXT 6.3: stored and deflated members. ZIP64 is for more than is ever taken in.
"""

import os
import re
import stat
import struct
import zlib
from collections.abc import Iterator
from typing import IO, Final, NamedTuple

from earnest.effects.hands.workspace.members import CHUNK_BYTES, ArchiveMember, check_flood, refused
from earnest.effects.hands.workspace.snapshot import SnapshotLimits

_END: Final = struct.Struct("<4s4H2LH")
_CENTRAL: Final = struct.Struct("<4s6H3L5H2L")
_LOCAL: Final = struct.Struct("<4s5H3L2H")
_END_MAGIC: Final = b"PK\5\6"
_COMMENT_BYTES_MAX: Final = 65_535
_DIRECTORY_BYTES_MAX: Final = 32 * 1024 * 1024
_DESCRIPTOR_BYTES_MAX: Final = 24
_ENCRYPTED: Final = 1 | 1 << 6 | 1 << 13
_DESCRIBED_AFTERWARDS: Final = 1 << 3
_UTF8: Final = 1 << 11
_STORED, _DEFLATED = 0, 8
_ZIP64: Final = 0xFFFFFFFF
_SECOND_NAME: Final = 0x7075
_DOS_FOLDER: Final = 0x10


class _Entry(NamedTuple):
    """What the directory says about a member."""

    name: bytes
    flags: int
    method: int
    crc: int
    packed_bytes: int
    size_bytes: int
    attributes: int
    offset: int


def is_zip(head: bytes) -> bool:
    """True if a file that begins like this is a zip archive, perhaps an empty one."""
    return head.startswith((b"PK\3\4", _END_MAGIC))


def zip_members(file: IO[bytes], limits: SnapshotLimits) -> Iterator[ArchiveMember]:
    """The members in order of place. Raises `Refused` for whatever is not plain, where it stands."""
    entries, directory_at = _directory(file)
    unpacked_bytes = 0
    ends_at, slack = 0, 0
    for entry in sorted(entries, key=lambda entry: entry.offset):
        if not ends_at <= entry.offset <= ends_at + slack:
            raise refused("its members overlap, or there is something between them")
        data_at = _data_at(file, entry)
        ends_at, slack = data_at + entry.packed_bytes, _DESCRIPTOR_BYTES_MAX * bool(entry.flags & _DESCRIBED_AFTERWARDS)
        if ends_at > directory_at:
            raise refused("a member reaches into the directory")
        unpacked_bytes += entry.size_bytes
        check_flood(unpacked_bytes, ends_at, limits.size_bytes)
        yield _member(file, entry, data_at)
    if not ends_at <= directory_at <= ends_at + slack:
        raise refused("there is something between its members and its directory")


def _member(file: IO[bytes], entry: _Entry, data_at: int) -> ArchiveMember:
    name = _name(entry)
    mode = entry.attributes >> 16
    is_folder = name.endswith("/")
    kind = stat.S_IFMT(mode)
    if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
        raise refused(f"{name!r} is {'a symbolic link' if kind == stat.S_IFLNK else 'no regular file'}")
    if is_folder != (kind == stat.S_IFDIR or bool(entry.attributes & _DOS_FOLDER)) and not (is_folder and kind == 0):
        raise refused(f"{name!r} is a file to some and a folder to others")
    if is_folder and entry.size_bytes:
        raise refused(f"the folder {name!r} has content")
    return ArchiveMember(name, is_folder, bool(mode & 0o100), entry.size_bytes, _content(file, entry, data_at))


def _content(file: IO[bytes], entry: _Entry, data_at: int) -> Iterator[bytes]:
    """The bytes, as many as announced and with the right checksum."""
    inflate = zlib.decompressobj(-15) if entry.method == _DEFLATED else None
    left, size_bytes, crc = entry.packed_bytes, 0, 0
    file.seek(data_at)
    waiting = b""
    while waiting or left or (inflate is not None and not inflate.eof):
        if not waiting and left:
            waiting = file.read(min(left, CHUNK_BYTES))
            left -= len(waiting)
        try:
            chunk = waiting if inflate is None else inflate.decompress(waiting, CHUNK_BYTES)
        except zlib.error as error:
            raise refused(f"it is damaged: {error}") from None
        if inflate is not None and not chunk and not left and not inflate.eof and not inflate.unconsumed_tail:
            raise refused("a member ends too early")
        waiting = b"" if inflate is None else inflate.unconsumed_tail
        size_bytes += len(chunk)
        crc = zlib.crc32(chunk, crc)
        if size_bytes > entry.size_bytes or (inflate is not None and (inflate.unused_data or (inflate.eof and left))):
            raise refused("a member is larger than it says")
        yield chunk
    if size_bytes != entry.size_bytes or crc != entry.crc:
        raise refused("a member is not what the directory says")


def _directory(file: IO[bytes]) -> tuple[list[_Entry], int]:
    """All entries, and where the directory begins."""
    size_bytes = file.seek(0, os.SEEK_END)
    tail_at = max(0, size_bytes - _COMMENT_BYTES_MAX - _END.size)
    file.seek(tail_at)
    tail = file.read()
    ends = [found.start() for found in re.finditer(_END_MAGIC, tail) if _ends_here(tail, found.start())]
    if len(ends) != 1 or tail.count(_END_MAGIC, ends[0]) != 1:
        raise refused("it has no end, or more than one")
    _, disk, first_disk, here, count, directory_bytes, directory_at, _ = _END.unpack_from(tail, ends[0])
    if disk or first_disk or here != count:
        raise refused("it is a part of several")
    if count == 0xFFFF or _ZIP64 in {directory_bytes, directory_at} or directory_bytes > _DIRECTORY_BYTES_MAX:
        raise refused("it is larger than is taken in (ZIP64)")
    if directory_at + directory_bytes != tail_at + ends[0]:
        raise refused("its directory is not where it should be")
    file.seek(directory_at)
    return _entries(file.read(directory_bytes), count), directory_at


def _ends_here(tail: bytes, at: int) -> bool:
    return at + _END.size <= len(tail) and at + _END.size + _END.unpack_from(tail, at)[-1] == len(tail)


def _entries(data: bytes, count: int) -> list[_Entry]:
    entries: list[_Entry] = []
    at = 0
    while at < len(data):
        if len(data) - at < _CENTRAL.size or data[at : at + 4] != b"PK\1\2":
            raise refused("its directory is damaged")
        row = _CENTRAL.unpack_from(data, at)
        (_, _, _, flags, method, _, _, crc, packed_bytes, size_bytes) = row[:10]
        name_bytes, extra_bytes, comment_bytes, disk, _, attributes, offset = row[10:]
        at += _CENTRAL.size
        name, extra = data[at : at + name_bytes], data[at + name_bytes : at + name_bytes + extra_bytes]
        at += name_bytes + extra_bytes + comment_bytes
        if disk or at > len(data) or _ZIP64 in {packed_bytes, size_bytes, offset}:
            raise refused("its directory is damaged, or larger than is taken in (ZIP64)")
        if _has_second_name(extra):
            raise refused(f"{name!r} has a second name")
        entries.append(_Entry(name, flags, method, crc, packed_bytes, size_bytes, attributes, offset))
    if len(entries) != count:
        raise refused("its directory has another number of members than it says")
    return entries


def _has_second_name(extra: bytes) -> bool:
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<2H", extra)
        if kind == _SECOND_NAME:
            return True
        extra = extra[4 + size :]
    return False


def _data_at(file: IO[bytes], entry: _Entry) -> int:
    """Where the bytes of a member begin, if its own header agrees with the directory."""
    file.seek(entry.offset)
    header = file.read(_LOCAL.size)
    if len(header) != _LOCAL.size or not header.startswith(b"PK\3\4"):
        raise refused("a member is not where the directory says")
    row = _LOCAL.unpack(header)
    (_, _, flags, method, _, _, crc, packed_bytes, size_bytes, name_bytes, extra_bytes) = row
    name, extra = file.read(name_bytes), file.read(extra_bytes)
    header_bytes = len(header) + len(name) + len(extra)
    if flags & _ENCRYPTED or entry.flags & _ENCRYPTED:
        raise refused(f"{entry.name!r} is encrypted")
    if entry.method not in {_STORED, _DEFLATED}:
        raise refused(f"{entry.name!r} is packed by the unusual method {entry.method}")
    said = (crc, packed_bytes, size_bytes) == (entry.crc, entry.packed_bytes, entry.size_bytes)
    same = (name, flags, method) == (entry.name, entry.flags, entry.method) and not _has_second_name(extra)
    if not same or not (said or entry.flags & _DESCRIBED_AFTERWARDS):
        raise refused(f"{entry.name!r} and the directory contradict each other")
    return entry.offset + header_bytes


def _name(entry: _Entry) -> str:
    try:
        return entry.name.decode("utf-8" if entry.flags & _UTF8 else "ascii")
    except UnicodeDecodeError:
        raise refused(f"the name {entry.name!r} is neither ASCII nor marked as UTF-8") from None
