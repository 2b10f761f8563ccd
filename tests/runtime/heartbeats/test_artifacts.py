"""Is only that handed in which a program left in its folder as a file?"""

import os
from io import FileIO
from pathlib import Path

import pytest

from earnest.foundation.canonical import digest_bytes
from earnest.foundation.errors import Refused
from earnest.runtime.heartbeats.artifacts import ARTIFACT_BYTES_MAX, ARTIFACTS_MAX, artifacts_left, read_artifact


@pytest.fixture
def turn(tmp_path: Path) -> Path:
    (tmp_path / "turn" / "artifacts").mkdir(parents=True)
    (tmp_path / "secret").write_text("key")
    return tmp_path / "turn"


def test_files_are_named_by_path_and_digest(turn: Path) -> None:
    (turn / "artifacts" / "b").mkdir()
    (turn / "artifacts" / "b" / "two.txt").write_bytes(b"two")
    (turn / "artifacts" / "a.txt").write_bytes(b"one")
    assert artifacts_left(turn) == (
        (("a.txt", digest_bytes(b"one")), ("b/two.txt", digest_bytes(b"two"))),
        (),
    )
    assert read_artifact(turn, "b/two.txt") == b"two"


def test_what_is_no_file_is_left_and_named(turn: Path) -> None:
    folder = turn / "artifacts"
    (folder / "link").symlink_to(turn.parent / "secret")
    (folder / "folder").symlink_to(turn.parent)
    (folder / "inside").symlink_to("ok")
    os.mkfifo(folder / "pipe")
    (folder / "empty").touch()
    (folder / "control\n").write_text("x")
    Path(os.fsdecode(bytes(folder) + b"/\xff")).write_text("x")
    (folder / "ok").write_text("x")
    found = artifacts_left(turn)
    assert [path for path, _ in found.artifacts] == ["ok"]
    names = ["link", "folder", "inside", "pipe", "empty", "control\\n", "\\udcff"]
    assert sorted(note.split("'")[1] for note in found.notes) == sorted(names)
    for path in ("link", "folder/secret", "../../secret"):
        with pytest.raises((OSError, Refused)):
            read_artifact(turn, path)


def test_a_folder_that_was_put_in_the_place_of_ours_is_not_followed(turn: Path) -> None:
    (turn / "artifacts").rmdir()
    (turn / "artifacts").symlink_to(turn.parent)
    assert artifacts_left(turn).artifacts == ()
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        read_artifact(turn, "secret")


def test_there_are_bounds_and_what_is_beyond_them_is_named(turn: Path) -> None:
    folder = turn / "artifacts"
    for number in range(ARTIFACTS_MAX + 2):
        (folder / f"{number:02}").write_text("x")
    with (folder / "00").open("wb") as file:
        file.truncate(ARTIFACT_BYTES_MAX + 1)
    (folder / ("d" * 100) / ("d" * 100)).mkdir(parents=True)
    (folder / ("d" * 100) / ("d" * 100) / "long").write_text("x")
    found = artifacts_left(turn)
    assert [path for path, _ in found.artifacts] == [f"{number:02}" for number in range(1, ARTIFACTS_MAX + 1)]
    assert [note.partition(":")[0].strip("'")[:3] for note in found.notes] == ["00", "21", "ddd"]


def test_what_is_too_much_in_all_is_left(turn: Path) -> None:
    for number in range(5):
        with (turn / "artifacts" / f"{number}").open("wb") as file:
            file.truncate(ARTIFACT_BYTES_MAX)
    (turn / "artifacts" / "5").write_text("x")
    found = artifacts_left(turn)
    assert ([path for path, _ in found.artifacts], len(found.notes)) == (["0", "1", "2", "3"], 2)


def test_nothing_is_handed_in_from_a_folder_that_is_gone(turn: Path) -> None:
    (turn / "artifacts").rmdir()
    turn.rmdir()
    assert artifacts_left(turn) == ((), ("artifacts: No such file or directory",))


def test_a_maze_of_folders_is_not_walked_to_its_end(turn: Path) -> None:
    deep = os.open(turn / "artifacts", os.O_RDONLY)
    for _ in range(150):
        os.mkdir("d", dir_fd=deep)
        deeper = os.open("d", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = deeper
    os.close(deep)
    assert ["deeper" in note for note in artifacts_left(turn).notes] == [True]
    for number in range(1_001):
        (turn / "artifacts" / f"e{number}").mkdir()
    assert artifacts_left(turn).notes[0].startswith("more than 1000 files and folders")


class NeverRead(FileIO):
    def read(self, size: int | None = -1, /) -> bytes:
        raise AssertionError(f"{size} bytes are read")


def test_what_is_too_large_is_not_even_read(turn: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (turn / "artifacts" / "a").open("wb") as file:
        file.truncate(ARTIFACT_BYTES_MAX + 1)
    monkeypatch.setattr(os, "fdopen", NeverRead)
    assert artifacts_left(turn) == ((), (f"'a': not handed in: an artifact has 1 to {ARTIFACT_BYTES_MAX} bytes",))
