"""Tar archives, read strictly: what has no plain meaning (links, devices, sparse files) is refused.

POSIX.1-2017 `ustar` and `pax`, and the long names of GNU tar.
"""

from collections.abc import Iterator
from typing import Final

from earnest.effects.hands.workspace.members import CHUNK_BYTES, ArchiveMember, Metered, refused

_BLOCK: Final = 512
_EXTENSION_BYTES_MAX: Final = 64 * 1024
_FOLDER: Final = b"5"
_REFUSED_TYPES: Final = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a device",
    b"4": "a device",
    b"6": "a FIFO",
    b"S": "a sparse file",
}
_HARMLESS_KEYS: Final = frozenset({"mtime", "atime", "ctime", "uid", "gid", "uname", "gname", "comment"})
"""What pax headers may say beside the path: nothing that changes what a file is."""


def is_tar(head: bytes) -> bool:
    """True if an uncompressed file that begins like this is a tar archive."""
    return head[257:262] == b"ustar"


def tar_members(stream: Metered) -> Iterator[ArchiveMember]:
    """The members in order. Raises `Refused` for whatever is not plain, where it stands."""
    names: list[str] = []  # that extension headers gave the member that follows
    while any(block := _exactly(stream, _BLOCK)):
        _check_sum(block)
        name, size_bytes, kind = _field_text(block, 0, 100), _number(block[124:136]), block[156:157]
        if kind in {b"x", b"g", b"L"}:
            _extend(names, kind, _extension(stream, size_bytes))
            continue
        if kind in _REFUSED_TYPES or kind not in {b"0", b"\0", _FOLDER}:
            raise refused(f"{name!r} is {_REFUSED_TYPES.get(kind, f'of the type {kind!r}')}")
        prefix = _field_text(block, 345, 155) if block[257:263] == b"ustar\0" else ""
        if len(names) > 1:
            raise refused(f"{name!r} has more than one name")
        name = names.pop() if names else f"{prefix}/{name}" if prefix else name
        is_folder = kind == _FOLDER or (kind == b"\0" and name.endswith("/"))
        if is_folder and size_bytes:
            raise refused(f"the folder {name!r} has content")
        chunks = _content(stream, size_bytes)
        yield ArchiveMember(name, is_folder, bool(_number(block[100:108]) & 0o100), size_bytes, chunks)
        for _ in chunks:
            """Whatever the reader left."""
    if names:
        raise refused("it ends after a name")
    while data := stream.read(CHUNK_BYTES):
        if any(data):
            raise refused("there is data after its end")


def _exactly(stream: Metered, count: int) -> bytes:
    data = stream.read(count)
    if len(data) != count:
        raise refused("it ends too early")
    return data


def _content(stream: Metered, size_bytes: int) -> Iterator[bytes]:
    left = size_bytes
    while left:
        chunk = _exactly(stream, min(left, CHUNK_BYTES))
        left -= len(chunk)
        yield chunk
    _exactly(stream, -size_bytes % _BLOCK)


def _extension(stream: Metered, size_bytes: int) -> bytes:
    if size_bytes > _EXTENSION_BYTES_MAX:
        raise refused(f"a header has more than {_EXTENSION_BYTES_MAX} bytes")
    return b"".join(_content(stream, size_bytes))


def _extend(names: list[str], kind: bytes, data: bytes) -> None:
    if kind == b"L":
        names.append(_decoded(data.removesuffix(b"\0")))
        return
    for key, value in _pax_records(data):
        if key == "path" and kind == b"x":
            names.append(_decoded(value))
        elif key not in _HARMLESS_KEYS:
            raise refused(f"a header sets {key[:80]!r}")


def _pax_records(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Records `LENGTH KEY=VALUE\\n`, where the length counts itself."""
    while data:
        digits, _, _ = data.partition(b" ")
        length = int(digits) if digits.isdigit() and len(digits) < 8 else 0
        record, data = data[:length], data[length:]
        key, equals, value = record[len(digits) + 1 : -1].partition(b"=")
        if not equals or record[-1:] != b"\n" or len(record) != length:
            raise refused("a header is damaged")
        yield _decoded(key), value


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise refused(f"the name {data[:80]!r} is not UTF-8") from None


def _field_text(block: bytes, start: int, size: int) -> str:
    """A field's text up to the first NUL; anything but NUL after it could be read by somebody else."""
    text, _, rest = block[start : start + size].partition(b"\0")
    if any(rest):
        raise refused(f"the name {text[:80]!r} goes on after its end")
    return _decoded(text)


def _number(data: bytes) -> int:
    digits = data.strip(b" \0")
    if not digits:
        return 0
    try:
        return int(digits, 8)
    except ValueError:
        raise refused("a header's number is not octal") from None


def _check_sum(block: bytes) -> None:
    if _number(block[148:156]) != sum(block[:148]) + 8 * ord(" ") + sum(block[156:]):
        raise refused("a header is damaged")
