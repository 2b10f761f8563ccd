"""The items of grown libraries: each file of their published tests, with the installed library as the submission."""

import re
from collections.abc import Iterator
from importlib.metadata import Distribution
from pathlib import Path, PurePosixPath
from typing import Final

from .sources import Files, Item, unpacked

LOCK: Final = Path(__file__).with_name("libraries.lock")
"""Each with the digests of what is installed and of what holds the tests."""
LIMITS: Final = {"wall_s": 180, "cpu_s": 60, "memory_mb": 512}
_TESTS: Final = re.compile(r"test_\w*\.py|\w*_test\.py", re.ASCII)


def missing(folder: Path) -> str:
    """Why there are no libraries, or nothing."""
    gone = [name for name, version in _named() if not _source(folder, name, version).is_file()]
    return f"no {', '.join(gone)} in {folder}: `make libraries` fetches them" if gone else ""


def items(folder: Path) -> list[Item]:
    """All of them, from the folder that `make libraries` fills."""
    return [
        item
        for name, version in _named()
        for item in _library(name, _installed(folder / "installed", name), unpacked(_source(folder, name, version)))
    ]


def _named() -> list[tuple[str, str]]:
    return re.findall(r"^([\w-]+)==([\w.]+)", LOCK.read_text(encoding="ascii"), re.M)


def _file_name(name: str) -> str:
    return name.replace("-", "_")


def _source(folder: Path, name: str, version: str) -> Path:
    return folder / "sources" / f"{_file_name(name)}-{version}.tar.gz"


def _installed(folder: Path, name: str) -> dict[str, bytes]:
    (distribution,) = Distribution.discover(name=name, path=[str(folder)])
    listed = distribution.files or []
    paths = [PurePosixPath(each) for each in listed if ".." not in each.parts and each.suffix != ".pyc"]
    return {str(path): (folder / path).read_bytes() for path in paths if path.parts[0] != "bin"}


def _library(name: str, installed: Files, published: Files) -> Iterator[Item]:
    """With each file of tests stands all that is beside it but other tests."""
    package = _file_name(name)
    tests = {path: data for path, data in published.items() if path.startswith("tests/")}
    beside = {path: data for path, data in tests.items() if not _TESTS.fullmatch(PurePosixPath(path).name)}
    own = [path for path in installed if path.startswith(f"{package}/") and path.endswith(".py")]
    for path in sorted(tests.keys() - beside.keys()):
        place = max(own, key=lambda each: (PurePosixPath(each).stem in path, len(installed[each])))
        yield Item(
            corpus=name,
            name=path.removeprefix("tests/").removesuffix(".py"),
            module=package,
            tests={**beside, path: tests[path]},
            place=place,
            reference=installed[place],
            wrong={},
            beside={each: data for each, data in installed.items() if each != place},
            limits=LIMITS,
        )
