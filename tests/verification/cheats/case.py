"""What is one case of the corpus? docs/verification-corpus.md says how it is written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from earnest.verification.verdict import Answer
from yaml_file import read_yaml

from .packing import Content, Member, content_bytes, packed, put, write

HERE: Final = Path(__file__).parent
SPECS: Final = HERE / "specs"
HONEST: Final = HERE.parent / "honest"
TITLE: Final = "A case of the corpus"
KEYS: Final = {"about", "spec", "check", "beside", "may_be", "files", "swap", "archive", "members", "judge"}
NEVER_VERIFIED: Final = (Answer.NOT_VERIFIED, Answer.UNCLEAR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One submission against one spec.

    `may_be` holds the answers that are acceptable. `swap` is written over the submission once it has been taken in.
    `archive` is the name of the file that `members` are packed into, empty for a folder of `files`. `judge` names the
    behaviour of the scripted judge, None if there is none.
    """

    name: str
    about: str
    spec: Mapping[str, Any]
    beside: Mapping[str, Content]
    may_be: tuple[Answer, ...]
    files: Mapping[str, Content]
    swap: Mapping[str, str]
    archive: str
    members: Sequence[Member]
    judge: str | None

    def write(self, folder: Path) -> tuple[Path, Path]:
        """The spec and the submission, written below `folder`, which exists and is empty."""
        base = folder / "spec"
        for name, content in self.beside.items():
            write(base / name, content_bytes(content))
        write(base / "spec.yaml", yaml.safe_dump(dict(self.spec), allow_unicode=True).encode())
        if self.archive:
            place = folder / self.archive
            place.write_bytes(packed(self.archive, self.members))
            return base / "spec.yaml", place
        submission = folder / "submission"
        submission.mkdir()
        for name, content in self.files.items():
            put(submission, name, content)
        return base / "spec.yaml", submission


def cheats() -> list[Case]:
    """Every cheat, by family and name."""
    return [_read(path, f"{path.parent.name}/{path.stem}", NEVER_VERIFIED) for path in _cheat_files()]


def honest() -> list[Case]:
    """Every honest submission, by name."""
    return [_read(path, path.stem, (Answer.VERIFIED,)) for path in sorted(HONEST.glob("*.yaml"))]


def _cheat_files() -> list[Path]:
    return sorted(path for path in HERE.glob("*/*.yaml") if path.parent != SPECS)


def _read(path: Path, name: str, may_be: tuple[Answer, ...]) -> Case:
    given = _yaml(path)
    if unknown := set(given) - KEYS:
        raise ValueError(f"{name}: unknown keys {sorted(unknown)}")
    task = _yaml(SPECS / f"{given['spec']}.yaml") if "spec" in given else given
    return Case(
        name=name,
        about=given["about"],
        spec=_spec(task),
        beside=task.get("beside", {}),
        may_be=tuple(map(Answer, given["may_be"])) if "may_be" in given else may_be,
        files=given.get("files", {}),
        swap=given.get("swap", {}),
        archive=given.get("archive", ""),
        members=given.get("members", ()),
        judge=given.get("judge"),
    )


def _yaml(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = read_yaml(path)
    return content


def _spec(task: Mapping[str, Any]) -> Mapping[str, Any]:
    """A spec around one check or several, each of which may bring the `criterion` that it decides."""
    checks = [dict(check) for check in (task["check"] if isinstance(task["check"], list) else [task["check"]])]
    text = task.get("text") or task["about"]
    criteria = [
        {"id": f"C{at}", "text": check.pop("criterion", text), "check": check} for at, check in enumerate(checks, 1)
    ]
    return {"format": "earnest-spec-v1", "title": TITLE, "text": text, "criteria": criteria}
