"""Is what was handed in taken in once, whole, and without anything that is no plain file?"""

import os
import socket
import threading
from pathlib import Path

import pytest

from earnest.effects.hands.workspace.snapshot import SnapshotLimits, is_intact, take_snapshot
from earnest.foundation.canonical import digest_bytes
from earnest.foundation.errors import Refused


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    given = tmp_path / "given"
    (given / "sub").mkdir(parents=True)
    (given / "a.txt").write_bytes(b"a")
    (given / "sub" / "run.sh").write_bytes(b"#!/bin/sh\n")
    (given / "sub" / "run.sh").chmod(0o755)
    return given


def refusal(folder: Path, tmp_path: Path, limits: SnapshotLimits | None = None) -> str:
    with pytest.raises(Refused) as caught:
        take_snapshot(folder, tmp_path / "copy", limits)
    assert caught.value.code == "snapshot_refused"
    return str(caught.value)


def test_every_file_is_listed_and_copied(folder: Path, tmp_path: Path) -> None:
    (folder / "empty").mkdir()
    snapshot = take_snapshot(folder, tmp_path / "copy")
    assert [(entry.path, entry.size_bytes, entry.mode_executable) for entry in snapshot.entries] == [
        ("a.txt", 1, False),
        ("sub/run.sh", 10, True),
    ]
    assert snapshot.entries[0].digest == digest_bytes(b"a")
    assert (snapshot.folder / "sub" / "run.sh").read_bytes() == b"#!/bin/sh\n"
    assert os.access(snapshot.folder / "sub" / "run.sh", os.X_OK)
    assert is_intact(snapshot)


def test_the_digest_depends_on_content_names_and_modes_alone(folder: Path, tmp_path: Path) -> None:
    first = take_snapshot(folder, tmp_path / "1").digest
    os.utime(folder / "a.txt", (1, 1))
    assert take_snapshot(folder, tmp_path / "2").digest == first
    (folder / "a.txt").chmod(0o755)
    assert take_snapshot(folder, tmp_path / "3").digest != first
    (folder / "a.txt").chmod(0o644)
    (folder / "a.txt").rename(folder / "b.txt")
    assert take_snapshot(folder, tmp_path / "4").digest != first


@pytest.mark.parametrize("change", ["append", "add", "remove", "mode", "link"])
def test_a_swap_after_the_intake_is_noticed(folder: Path, tmp_path: Path, change: str) -> None:
    snapshot = take_snapshot(folder, tmp_path / "copy")
    copy = snapshot.folder / "a.txt"
    match change:
        case "append":
            copy.write_bytes(b"b")
        case "add":
            (snapshot.folder / "new").write_bytes(b"")
        case "remove":
            copy.unlink()
        case "mode":
            copy.chmod(0o700)
        case "link":
            copy.unlink()
            copy.symlink_to(folder / "a.txt")
    assert not is_intact(snapshot)


def test_links_devices_fifos_and_sockets_are_all_named(folder: Path, tmp_path: Path, monkeypatch: object) -> None:
    (folder / "link").symlink_to("/etc/hostname")
    (folder / "sub" / "loop").symlink_to("..")
    os.mkfifo(folder / "fifo")
    os.link(folder / "a.txt", folder / "twin")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(folder)  # a socket's path is short
        try:
            listener.bind("socket")
        finally:
            os.chdir(here)
        message = refusal(folder, tmp_path)
    for name, word in [
        ("link", "symbolic link"),
        ("sub/loop", "symbolic link"),
        ("fifo", "FIFO"),
        ("socket", "socket"),
        ("twin", "hard link"),
        ("a.txt", "hard link"),
    ]:
        assert any(line.startswith(repr(name)) and word in line for line in message.split("; ")), message


@pytest.mark.parametrize(
    ("one", "other"),
    [("a", "A"), ("é", "e\u0301"), ("ﬁle", "file"), ("ß", "ss"), ("K", "\u212a")],
)
def test_names_that_look_alike_are_refused(tmp_path: Path, one: str, other: str) -> None:
    given = tmp_path / "given"
    given.mkdir()
    (given / one).write_bytes(b"")
    (given / other).write_bytes(b"")
    if len(list(given.iterdir())) == 2:
        assert "everywhere: rename one of them" in refusal(given, tmp_path)


def test_names_that_are_not_text_are_refused(folder: Path, tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff")).write_bytes(b"")
    (folder / "new\nline").write_bytes(b"")
    message = refusal(folder, tmp_path)
    assert "not UTF-8" in message
    assert "control character" in message


@pytest.mark.parametrize(
    ("limits", "part"),
    [
        (SnapshotLimits(files=2), "more than 2 files"),
        (SnapshotLimits(size_bytes=10), "more than 10 bytes"),
        (SnapshotLimits(depth=1), "deeper than 1"),
        (SnapshotLimits(path_bytes=6), "longer than 6 bytes"),
    ],
)
def test_every_limit_is_kept(folder: Path, tmp_path: Path, limits: SnapshotLimits, part: str) -> None:
    assert part in refusal(folder, tmp_path, limits)


def test_what_is_no_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    assert "not a folder" in refusal(folder / "a.txt", tmp_path)
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(Refused, match="not a folder"):
        take_snapshot(tmp_path / "link", tmp_path / "other")


def test_a_link_swapped_in_while_we_read_never_leads_outside(folder: Path, tmp_path: Path) -> None:
    """The swapper runs as fast as it can; whatever the intake catches, it is never the secret."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "run.sh").write_bytes(b"SECRET")
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            (folder / "sub").rename(folder / "hidden")
            (folder / "sub").symlink_to(secret)
            (folder / "sub").unlink()
            (folder / "hidden").rename(folder / "sub")

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for at in range(50):
            copy = tmp_path / f"copy{at}"
            try:
                take_snapshot(folder, copy)
            except Refused:
                continue
            finally:
                assert all(path.read_bytes() != b"SECRET" for path in copy.rglob("*") if path.is_file())
    finally:
        done.set()
        swapper.join()
