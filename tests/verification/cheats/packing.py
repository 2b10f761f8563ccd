"""How do the files of a case get onto the disk or into an archive, odd ones too?"""

import base64
import io
import os
import stat
import tarfile
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

Content: TypeAlias = str | Mapping[str, Any]
"""Text; or {base64}, {repeat, times}; or, in a folder only, {link}, {hard_link}, {fifo: true}, {folder: true}."""
Member: TypeAlias = Mapping[str, Any]
"""Of an archive: a name with a content, or with a link; in a tar also with a type."""

_TYPES: Final = {
    "file": tarfile.REGTYPE,
    "link": tarfile.SYMTYPE,
    "hard_link": tarfile.LNKTYPE,
    "device": tarfile.CHRTYPE,
    "fifo": tarfile.FIFOTYPE,
    "folder": tarfile.DIRTYPE,
}


def content_bytes(content: Content) -> bytes:
    """The bytes of a regular file."""
    match content:
        case str():
            return content.encode()
        case {"base64": data}:
            return base64.b64decode(data)
        case {"repeat": text, "times": times}:
            return str(text).encode() * int(times)
        case _:
            raise ValueError(f"no content of a file: {content!r}")


def put(folder: Path, name: str, content: Content) -> None:
    """One entry of a submission's folder; a name may hold bytes that are not UTF-8, as surrogates."""
    place = folder / os.fsdecode(name.encode("utf-8", "surrogateescape"))
    place.parent.mkdir(parents=True, exist_ok=True)
    match content:
        case {"link": target}:
            place.symlink_to(target)
        case {"hard_link": other}:
            place.hardlink_to(folder / other)
        case {"fifo": True}:
            os.mkfifo(place)
        case {"folder": True}:
            place.mkdir()
        case _:
            place.write_bytes(content_bytes(content))


def write(place: Path, data: bytes) -> None:
    """A file, with its folders."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)


def packed(name: str, members: Sequence[Member]) -> bytes:
    """An archive of the kind that its name says; members are taken as they are given, whatever is wrong with them."""
    held = io.BytesIO()
    if name.endswith(".zip"):
        _zip(held, members)
    else:
        _tar(held, Path(name).suffix, members)
    return held.getvalue()


def _zip(held: io.BytesIO, members: Sequence[Member]) -> None:
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of two members with one name
        for member in members:
            info = zipfile.ZipInfo(member["name"])
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = ((stat.S_IFLNK if "link" in member else stat.S_IFREG) | 0o644) << 16
            archive.writestr(info, member["link"] if "link" in member else content_bytes(member["content"]))


def _tar(held: io.BytesIO, suffix: str, members: Sequence[Member]) -> None:
    mode = {".gz": "w:gz", ".bz2": "w:bz2", ".xz": "w:xz"}.get(suffix, "w:")
    with tarfile.open(fileobj=held, mode=mode) as archive:  # type: ignore[call-overload]
        for member in members:
            data = content_bytes(member.get("content", ""))
            entry = tarfile.TarInfo(member["name"])
            entry.type = _TYPES[member.get("type", "file")]
            entry.linkname = member.get("link", "")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
