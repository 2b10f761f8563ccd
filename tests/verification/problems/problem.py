"""What is one problem? docs/verification-corpus.md says how it is written."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from earnest.verification.verdict import Answer
from yaml_file import read_yaml

from ..cheats.case import Case

HERE: Final = Path(__file__).parent
WALL_S: Final = 30  # of a machine that has other things to do


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A task with hidden tests, of which `min_tests` run. `bugs` are whole programs by what is wrong with them."""

    name: str
    title: str
    text: str
    module: str
    min_tests: int
    tests: str
    reference: str
    bugs: Mapping[str, str]

    def right(self) -> Case:
        """The reference solution, which must be verified."""
        return self._case(self.name, self.title, self.reference, Answer.VERIFIED)

    def wrong(self) -> list[Case]:
        """The solutions with a bug, which must not be verified: the tests find each of them."""
        return [
            self._case(f"{self.name}/{bug}", f"{self.title}: {bug}", program, Answer.NOT_VERIFIED)
            for bug, program in self.bugs.items()
        ]

    def _case(self, name: str, about: str, program: str, must_be: Answer) -> Case:
        check = {
            "kind": "unit_tests",
            "module": self.module,
            "tests": ["hidden/test_it.py"],
            "min_tests": self.min_tests,
            "limits": {"wall_s": WALL_S},
        }
        return Case(
            name=name,
            about=about,
            spec={
                "format": "earnest-spec-v1",
                "title": self.title,
                "text": self.text,
                "criteria": [{"id": "C1", "text": self.text, "check": check}],
            },
            beside={"hidden/test_it.py": self.tests},
            may_be=(must_be,),
            files={f"{self.module.replace('.', '/')}.py": program},
            swap={},
            archive="",
            members=(),
            judge=None,
        )


def problems() -> list[Problem]:
    """Every problem, by name."""
    return [_read(path) for path in sorted(HERE.glob("*/*.yaml"))]


def _read(path: Path) -> Problem:
    given: dict[str, Any] = read_yaml(path)
    bugs = given.pop("bugs")
    programs = {bug: _with_bug(given["reference"], change, f"{path.stem}/{bug}") for bug, change in bugs.items()}
    return Problem(name=path.stem, bugs=programs, **given)


def _with_bug(reference: str, change: str | list[str], name: str) -> str:
    """A bug is a whole program, or a piece of the reference that occurs once, and what stands there instead."""
    if isinstance(change, str):
        return change
    piece, instead = change
    if reference.count(piece) != 1:
        raise ValueError(f"{name}: {piece!r} occurs {reference.count(piece)} times in the reference")
    return reference.replace(piece, instead)
