"""Is a folder taken in whole, each file with its bytes, its right and its digest, and refused where it is too large?"""

import os
from pathlib import Path

import pytest

from earnest.effects.hands.edits import taking
from earnest.effects.hands.edits.taking import BATCH, take_in
from earnest.effects.hands.workspace.tree import TreeLimits, identity_of
from earnest.foundation.canonical import digest_bytes
from earnest.foundation.errors import Refused

MANY = 3 * BATCH + 7


def make(folder: Path) -> dict[str, bytes]:
    """Folders of few and of many files, some empty, some longer than what is read at once."""
    files = {f"many/{number}": str(number).encode() * (number % 5) for number in range(MANY)}
    files |= {"few/long": os.urandom(2 * 1024**2 + 1), "few/even": bytes(1024**2), "few/in/one": b"x"}
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return files


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_everything_is_copied_whole_and_known_by_its_digest(tmp_path: Path, umask: int) -> None:
    files = make(source := tmp_path / "source")
    (source / "many" / "1").chmod(0o755)
    (source / "many" / "link").symlink_to("2")
    (source / "many" / "out").symlink_to("/etc/hosts")
    before = os.umask(umask)
    try:
        taken = take_in(source, target := tmp_path / "target", tmp_path / "git")
    finally:
        os.umask(before)
    assert {path: (target / path).read_bytes() for path in files} == files
    assert taken.seen == {
        path: (identity_of((target / path).stat()), digest_bytes(data)) for path, data in files.items()
    }
    assert {path.stat().st_mode & 0o777 for path in target.glob("many/[0-9]*") if path.name != "1"} == {0o644}
    assert (target / "many" / "1").stat().st_mode & 0o777 == 0o755
    assert (target / "many" / "link").readlink() == Path("2")
    assert taken.left_out == ("many/out: a link that may lead outside",)


@pytest.mark.parametrize("limits", [TreeLimits(entries=MANY), TreeLimits(size_bytes=1024**2), TreeLimits(depth=2)])
def test_what_is_too_large_is_refused(tmp_path: Path, limits: TreeLimits, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "source")
    monkeypatch.setattr(taking, "EDIT_LIMITS", limits)
    with pytest.raises(Refused) as caught:
        take_in(tmp_path / "source", tmp_path / "target", tmp_path / "git")
    assert caught.value.code == "edit_too_large"


def test_a_file_of_holes_is_not_written_out(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    with (tmp_path / "source" / "sparse").open("wb") as file:
        file.truncate(taking.EDIT_LIMITS.size_bytes + 1)
    with pytest.raises(Refused, match="GiB in all"):
        take_in(tmp_path / "source", tmp_path / "target", tmp_path / "git")


def test_holes_stay_holes(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    with (tmp_path / "source" / "sparse").open("wb") as file:
        file.write(b"begin")
        file.truncate(32 * 1024**2)
    taken = take_in(tmp_path / "source", tmp_path / "target", tmp_path / "git")
    copy = tmp_path / "target" / "sparse"
    assert copy.stat().st_size == 32 * 1024**2
    assert copy.stat().st_blocks * 512 < 4 * 1024**2
    assert taken.seen["sparse"][1] == digest_bytes(copy.read_bytes())


def test_what_no_verdict_could_stand_beside_is_left_out_and_named(tmp_path: Path) -> None:
    for name in (b"two\nlines", b"caf\xe9", b"README", b"readme", "caf\u00e9".encode()):
        path = os.fsencode(tmp_path) + b"/source/in/" + name
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120 - a name of bytes
        os.close(os.open(path, os.O_CREAT))
    taken = take_in(tmp_path / "source", target := tmp_path / "target", tmp_path / "git")
    assert {path.name for path in (target / "in").iterdir()} == {"README", "caf\u00e9"}
    assert [told.partition("' ")[2] for told in taken.left_out] == [
        "has a name that is not UTF-8",
        "cannot be told from 'in/README' everywhere",
        "has a control character in its name",
    ]
