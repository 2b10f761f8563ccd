"""The items of the three corpora: tests, reference, stub or buggy program, as the archives hold them."""

import gzip
import json
import os
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

VARIABLE: Final = "EARNEST_CORPORA"
BESIDE: Final = Path(__file__).resolve().parents[4] / "shared" / "corpus" / "tests"
NAMES: Final = ("exercism", "quixbugs", "humaneval")

Files = Mapping[str, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One exercise, or one file of a library's tests.

    `tests` are the hidden files, `place` is where the solution lies, `beside` what is handed in too.

    `wrong` is what is known not to be a solution, by its kind.
    """

    corpus: str
    name: str
    module: str
    tests: Files
    place: str
    reference: bytes
    wrong: Files
    beside: Files
    limits: Mapping[str, int] = field(default_factory=dict)

    def work(self, solution: bytes) -> dict[str, bytes]:
        """The files of a submission."""
        return {**self.beside, self.place: solution}


def folder() -> Path:
    """Where the archives lie: `EARNEST_CORPORA`, or beside the checkout."""
    return Path(os.environ.get(VARIABLE) or BESIDE)


def missing() -> str:
    """Why there are no corpora, or nothing."""
    gone = [name for name in NAMES if not (folder() / f"{name}.tar.xz").is_file()]
    return f"no {', '.join(gone)} in {folder()}; {VARIABLE} says where the archives lie" if gone else ""


def items() -> list[Item]:
    """All of them, in order."""
    exercism, quixbugs, humaneval = (unpacked(folder() / f"{name}.tar.xz") for name in NAMES)
    return [*_exercism(exercism), *_quixbugs(quixbugs), *_humaneval(humaneval)]


def unpacked(archive_path: Path) -> dict[str, bytes]:
    """The files of an archive, without the folder that holds all of them."""
    with tarfile.open(archive_path) as archive:
        return {
            member.name.partition("/")[2]: file.read()
            for member in archive
            if member.isfile() and (file := archive.extractfile(member)) is not None
        }


def _exercism(files: Files) -> Iterator[Item]:
    for path in sorted(files):
        at = PurePosixPath(path)
        if at.match("exercises/*/*/.meta/config.json"):
            kind, name = at.parts[-4], at.parts[-3]
            yield _exercise(kind, name, f"{at.parents[1]}/", files, json.loads(files[path])["files"])


def _exercise(kind: str, name: str, root: str, files: Files, named: Mapping[str, list[str]]) -> Item:
    place = named["solution"][0]
    (example,) = named.get("example") or named["exemplar"]
    python = {path.removeprefix(root): data for path, data in files.items() if path.startswith(root)}
    python = {path: data for path, data in python.items() if path.endswith(".py") and "/" not in path}
    return Item(
        corpus=f"exercism-{kind}",
        name=name,
        module=place.removesuffix(".py"),
        tests={path: data for path, data in python.items() if path != place},
        place=place,
        reference=files[root + example],
        wrong={"stub": python[place]},
        beside={path: python[path] for path in named.get("editor", [])},
    )


def _quixbugs(files: Files) -> Iterator[Item]:
    """The published tests read an option of their conftest; without it they ask `python_programs`."""
    for path in sorted(files):
        at = PurePosixPath(path)
        if not at.match("python_testcases/test_*.py"):
            continue
        name = at.stem.removeprefix("test_")
        beside = ("conftest.py", "python_testcases/load_testdata.py", "python_testcases/node.py")
        tests = (path, *beside, f"json_testcases/{name}.json")
        yield Item(
            corpus="quixbugs",
            name=name,
            module=f"python_programs.{name}",
            tests={each: files[each] for each in tests if each in files},
            place=f"python_programs/{name}.py",
            reference=files[f"correct_python_programs/{name}.py"],
            wrong={"buggy": files[f"python_programs/{name}.py"]},
            beside={},
        )


def _humaneval(files: Files) -> Iterator[Item]:
    """Published as `check(candidate)`, to be run in the namespace of prompt and solution: a test case calls it."""
    for line in gzip.decompress(files["data/HumanEval.jsonl.gz"]).splitlines():
        given = json.loads(line)
        prompt, entry = given["prompt"], given["entry_point"]
        names = dict.fromkeys([entry, *_functions(prompt)])
        test = "\n".join(
            [
                "import unittest",
                f"from solution import {', '.join(names)}",
                given["test"],
                "class Published(unittest.TestCase):",
                "    def test_check(self):",
                f"        check({entry})\n",
            ]
        )
        yield Item(
            corpus="humaneval",
            name=given["task_id"].removeprefix("HumanEval/"),
            module="solution",
            tests={"test_published.py": test.encode()},
            place="solution.py",
            reference=f"{prompt}{given['canonical_solution']}".encode(),
            wrong={"stub": f"{prompt}    pass\n".encode()},
            beside={},
        )


def _functions(source: str) -> list[str]:
    return [line[len("def ") : line.index("(")] for line in source.splitlines() if line.startswith("def ")]
