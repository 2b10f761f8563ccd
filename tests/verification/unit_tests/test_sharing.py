"""What of a test's temporary folder a submission may touch: what a call named, and nothing beside it."""

import base64
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from earnest.verification.unit_tests.library import Malformed
from earnest.verification.unit_tests.sharing import Shelf

DATA = base64.b64encode(b"forged").decode()


@pytest.fixture
def folder() -> Iterator[Path]:
    with TemporaryDirectory(dir="/tmp") as name:
        path = Path(name)
        (path / "in.csv").write_text("in")
        (path / "expected.csv").write_text("expected")
        yield path


@pytest.mark.parametrize("named", ["in.csv", "out.csv", "new/out.csv"])
@pytest.mark.parametrize("content", [DATA, False, None])
def test_a_forged_share_changes_no_neighbour(folder: Path, named: str, content: object) -> None:
    shelf = Shelf()
    shelf.add(str(folder / named))
    with pytest.raises(Malformed):
        shelf.apply([[str(folder / "expected.csv"), content]], anywhere=False)
    assert (folder / "expected.csv").read_text() == "expected"


@pytest.mark.parametrize("named", ["in.csv", "out.csv", "new/out.csv"])
def test_a_neighbour_is_not_sent_along(folder: Path, named: str) -> None:
    shelf = Shelf()
    shelf.add(str(folder / named))
    assert str(folder / "expected.csv") not in {change[0] for change in shelf.changes()}  # type: ignore[index]


def test_a_file_that_is_named_before_it_is_there_comes_back_with_its_folders(folder: Path) -> None:
    shelf = Shelf()
    shelf.add(str(folder / "new" / "deep" / "out.csv"))
    shelf.apply([[str(folder / "new"), None], [str(folder / "new" / "deep" / "out.csv"), DATA]], anywhere=False)
    assert (folder / "new" / "deep" / "out.csv").read_bytes() == b"forged"


def test_a_named_path_may_become_a_folder_with_files(folder: Path) -> None:
    shelf = Shelf()
    shelf.add(str(folder / "out"))
    shelf.apply([[str(folder / "out"), None], [str(folder / "out" / "a.txt"), DATA]], anywhere=False)
    assert (folder / "out" / "a.txt").read_bytes() == b"forged"


def test_the_folder_around_a_named_file_stays(folder: Path) -> None:
    shelf = Shelf()
    shelf.add(str(folder / "new" / "out.csv"))
    (folder / "new").mkdir()
    shelf.apply([[str(folder / "new"), False]], anywhere=False)
    assert (folder / "new").is_dir()


def test_a_named_folder_is_shared_with_all_below_it(folder: Path) -> None:
    shelf = Shelf()
    shelf.add(str(folder))
    shelf.apply([[str(folder / "expected.csv"), False]], anywhere=False)
    assert not (folder / "expected.csv").exists()
