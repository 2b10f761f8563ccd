"""Is an archive taken in like the folder it holds, and refused where two readers could unpack it differently?"""

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from earnest.effects.hands.workspace.archive import take_submission
from earnest.effects.hands.workspace.snapshot import SnapshotLimits, take_snapshot
from earnest.foundation.errors import Refused

CONTENT = {"a.txt": b"hello\n", "sub/run.sh": b"#!/bin/sh\n", "sub/\u00fc/" + "n" * 120: b"\0\1" * 50_000, "empty": b""}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    given = tmp_path / "given"
    for name, data in CONTENT.items():
        path = given / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (given / "sub/run.sh").chmod(0o755)
    return given


def tar(*members: tuple[str, bytes] | tarfile.TarInfo, **pax: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT, pax_headers=pax) as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member, io.BytesIO(b"x" * member.size))
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1]))
    return buffer.getvalue()


def entry(
    name: str, kind: bytes = tarfile.REGTYPE, size: int = 0, link: str = "", pax: dict[str, str] | None = None
) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname, info.pax_headers = kind, size, link, pax or {}
    return info


def zipped(*members: tuple[str, bytes], mode: int = 0o100644, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in members:
            info = zipfile.ZipInfo(name)
            info.external_attr, info.compress_type = mode << 16, method
            archive.writestr(info, data)
    return buffer.getvalue()


def taken(tmp_path: Path, data: bytes, limits: SnapshotLimits | None = None) -> Sequence[str]:
    file = tmp_path / "archive"
    file.write_bytes(data)
    return [found.path for found in take_submission(file, tmp_path / "taken", limits).entries]


def refusal(tmp_path: Path, data: bytes, limits: SnapshotLimits | None = None) -> str:
    with pytest.raises(Refused) as caught:
        taken(tmp_path, data, limits)
    assert caught.value.code == "snapshot_refused"
    assert not list(tmp_path.parent.glob("evil*"))
    return str(caught.value)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_a_tar_is_the_folder_it_holds(folder: Path, tmp_path: Path, pack: Callable[[bytes], bytes], form: int) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        archive.add(folder, arcname=".")
    (tmp_path / "archive").write_bytes(pack(buffer.getvalue()))
    assert take_submission(tmp_path / "archive", tmp_path / "1").digest == take_snapshot(folder, tmp_path / "2").digest


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_zip_is_the_folder_it_holds(folder: Path, tmp_path: Path, method: int) -> None:
    with zipfile.ZipFile(tmp_path / "archive", "w", method) as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder))
    assert take_submission(tmp_path / "archive", tmp_path / "1").digest == take_snapshot(folder, tmp_path / "2").digest


def test_a_zip_written_as_a_stream_is_taken_in(tmp_path: Path) -> None:
    class Pipe(io.RawIOBase):
        data = b""

        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            self.data += bytes(data)  # type: ignore[call-overload]
            return len(bytes(data))  # type: ignore[call-overload]

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", b"a" * 1000)
        archive.writestr("b", b"b")
    assert taken(tmp_path, pipe.data) == ["a", "b"]


def test_an_archive_within_an_archive_is_a_file(tmp_path: Path) -> None:
    assert taken(tmp_path, tar(("in.zip", zipped(("../evil", b""))))) == ["in.zip"]


NAMES = ["../evil", "a/../../evil", "/evil", "C:/evil", "a\\..\\evil", "a\x01", "a/./b", "a//b", "a.", "a /b", "a/"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    for at, data in enumerate((tar((name, b"x")), zipped((name, b"x")))):
        (tmp_path / str(at)).mkdir()
        assert refusal(tmp_path / str(at), data)


@pytest.mark.parametrize(
    ("first", "second"),
    [("a", "a"), ("a", "A"), ("\u00e9", "e\u0301"), ("\ufb01x", "fix"), ("A/x", "a/y"), ("a", "a/b"), ("a/b", "a")],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_names_for_one_file_are_refused(tmp_path: Path, first: str, second: str) -> None:
    for at, data in enumerate((tar((first, b"1"), (second, b"2")), zipped((first, b"1"), (second, b"2")))):
        (tmp_path / str(at)).mkdir()
        assert refusal(tmp_path / str(at), data)


@pytest.mark.parametrize(
    ("member", "told"),
    [
        (entry("l", tarfile.SYMTYPE, link="/etc/passwd"), "a symbolic link"),
        (entry("l", tarfile.LNKTYPE, link="a"), "a hard link"),
        (entry("d", tarfile.CHRTYPE), "a device"),
        (entry("d", tarfile.BLKTYPE), "a device"),
        (entry("p", tarfile.FIFOTYPE), "a FIFO"),
        (entry("s", tarfile.GNUTYPE_SPARSE), "a sparse file"),
        (entry("c", tarfile.CONTTYPE), "of the type"),
        (entry("x", pax={"GNU.sparse.realsize": "1000000000000"}), "sets 'GNU.sparse.realsize'"),
        (entry("x", size=1, pax={"size": "3"}), "sets 'size'"),
        (entry("x", pax={"linkpath": "/etc/passwd"}), "sets 'linkpath'"),
        (entry("x", pax={"hdrcharset": "BINARY"}), "sets 'hdrcharset'"),
        (entry("x", pax={"comment": "x" * 100_000}), "a header has more than"),
    ],
)
def test_what_is_no_plain_file_of_a_tar_is_refused(tmp_path: Path, member: tarfile.TarInfo, told: str) -> None:
    assert told in refusal(tmp_path, tar(("a", b"a"), member))


def test_a_path_for_all_members_is_refused(tmp_path: Path) -> None:
    assert "sets 'path'" in refusal(tmp_path, tar(("a", b"a"), path="../evil"))


def test_a_tar_that_is_damaged_or_goes_on_is_refused(tmp_path: Path) -> None:
    good = tar(("a", b"a" * 600))
    rows = {
        "cut": (good[:800], "ends too early"),
        "sum": (good[:10] + b"x" + good[11:], "a header is damaged"),
        "more": (good + tar(("b", b"b")), "data after its end"),
        "name": (_resummed(b"a\0b" + good[3:]), "goes on after its end"),
        "huge": (_resummed(good[:124] + b"\x80" + b"\xff" * 11 + good[136:]), "not octal"),
        "gzip": (gzip.compress(good, mtime=0)[:-20], "damaged"),
    }
    for name, (data, told) in rows.items():
        (tmp_path / name).mkdir()
        assert told in refusal(tmp_path / name, data), name


def _resummed(data: bytes) -> bytes:
    total = sum(data[:148]) + 256 + sum(data[156:512])
    return data[:148] + f"{total:06o}\0 ".encode() + data[156:]


@pytest.mark.slow
def test_bombs_are_refused_before_they_go_off(tmp_path: Path) -> None:
    zeros = bytes(40 * 1024 * 1024)
    small = SnapshotLimits(files=5, size_bytes=1000)
    rows = {
        "tar": (gzip.compress(tar(("a", zeros))), None, "100 times"),
        "pad": (gzip.compress(tar(("a", b"")) + zeros), None, "100 times"),
        "zip": (zipped(("a", zeros)), None, "100 times"),
        "size": (tar(("a", bytes(1001))), small, "more than 1000 bytes"),
        "sum": (zipped(*((f"{at}", bytes(300)) for at in range(4))), small, "more than 1000 bytes"),
        "many": (tar(*((f"{at}", b"") for at in range(6))), small, "more than 5 members"),
        "deep": (tar(("a/" * 40 + "b", b"")), None, "deeper than 32"),
        "long": (tar(("a/" + "b" * 2000, b"")), None, "longer than 1024"),
    }
    for name, (data, limits, told) in rows.items():
        (tmp_path / name).mkdir()
        assert told in refusal(tmp_path / name, data, limits), name


def test_a_zip_whose_parts_tell_two_stories_is_refused(tmp_path: Path) -> None:
    good = zipped(("aaaa", b"a" * 500), ("bbbb", b"b" * 500))
    end = good.rindex(b"PK\5\6")
    directory = struct.unpack_from("<L", good, end + 16)[0]
    second = good.index(b"PK\1\2", directory + 1)
    rows = {
        "other name": (good.replace(b"aaaa", b"cccc", 1), "contradict each other"),
        "encrypted": (_patched(good, directory + 8, b"\1"), "encrypted"),
        "method": (_patched(good, directory + 10, b"\x0e"), "unusual method"),
        "checksum": (_patched(good, directory + 16, b"\0\0\0\0"), "contradict"),
        "larger": (_patched(_patched(good, directory + 24, b"\0\1"), 22, b"\0\1"), "larger than it says"),
        "overlap": (_patched(good, second + 42, b"\0\0\0\0"), "overlap"),
        "zip64 size": (_patched(good, directory + 24, b"\xff" * 4), "ZIP64"),
        "zip64 end": (_patched(good, end + 16, b"\xff" * 4), "ZIP64"),
        "count": (_patched(good, end + 8, b"\1\0\1\0"), "another number of members"),
        "before": (b"PK\3\4" + good, "not where it should be"),
        "after": (good + b"x", "no end"),
        "two ends": (_patched(good, end + 20, b"\x16\0") + b"PK\5\6" + bytes(18), "more than one"),
        "cut": (good[:-30], "no end"),
    }
    for name, (data, told) in rows.items():
        (tmp_path / name).mkdir()
        assert told in refusal(tmp_path / name, data), name


def _patched(data: bytes, at: int, part: bytes) -> bytes:
    return data[:at] + part + data[at + len(part) :]


def test_links_and_ambiguous_names_of_a_zip_are_refused(tmp_path: Path) -> None:
    rows = {
        "link": (zipped(("a", b"/etc/passwd"), mode=0o120777), "a symbolic link"),
        "device": (zipped(("a", b""), mode=0o020666), "no regular file"),
        "folder": (zipped(("a", b""), mode=0o040755), "a file to some and a folder to others"),
        "content": (zipped(("a/", b"x"), mode=0o040755), "has content"),
        "nul": (zipped(("aXb", b"")).replace(b"aXb", b"a\0b"), "control character"),
        "cp437": (zipped(("aXb", b"")).replace(b"aXb", b"a\x81b"), "neither ASCII nor marked"),
    }
    for name, (data, told) in rows.items():
        (tmp_path / name).mkdir()
        assert told in refusal(tmp_path / name, data), name


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "neither a folder nor"),
        (b"hello", "neither a folder nor"),
        (b"\x28\xb5\x2f\xfd" + bytes(20), "Zstandard"),
        (gzip.compress(b"hello", mtime=0), "ends too early"),
    ],
)
def test_what_is_no_archive_is_refused(tmp_path: Path, data: bytes, told: str) -> None:
    assert told in refusal(tmp_path, data)


def test_an_archive_is_not_followed_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(tar(("a", b"a")))
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(Refused, match="not a folder"):
        take_submission(tmp_path / "link", tmp_path / "taken")
