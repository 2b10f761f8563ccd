"""What the check `diff` says of a change of the user's files."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from earnest.contracts.criterion import Criterion
from earnest.effects.hands.workspace.changes import PathEntry
from earnest.effects.hands.workspace.snapshot import take_snapshot
from earnest.effects.hands.workspace.tree import EntryKind
from earnest.foundation.canonical import JsonObject, digest_bytes
from earnest.verification.checks.diff import CHECK
from earnest.verification.plugin import CheckTools, Findings, Subject

BEFORE = {"calc/a.py": b"one\ntwo\n", "calc/tests/t.py": b"check\n", "calc/picture": b"\0\1"}


@dataclass(frozen=True)
class Kept:
    """A base whose content is at hand."""

    files: Mapping[str, bytes]

    @property
    def entries(self) -> Mapping[str, PathEntry]:
        return {path: PathEntry(kind=EntryKind.FILE, digest=digest_bytes(data)) for path, data in self.files.items()}

    def content(self, path: str) -> bytes:
        return self.files[path]


async def found(tmp_path: Path, config: JsonObject, **now: bytes | None) -> Findings:
    for path, data in {**BEFORE, **{path.replace("__", "/"): data for path, data in now.items()}}.items():
        if data is not None:
            (tmp_path / "work" / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "work" / path).write_bytes(data)
    snapshot = take_snapshot(tmp_path / "work", tmp_path / "copy")
    subject = Subject(snapshot=snapshot, bases={"calc": Kept(BEFORE)})
    tools = CheckTools(sandbox=None, limits=None, criterion=Criterion(id="C1", text="x"))  # type: ignore[arg-type]
    return await CHECK.run(config, subject, tools)


@pytest.mark.parametrize(
    ("config", "now", "passed"),
    [
        ({"never": ["calc/tests/**"]}, {"calc__b.py": b"new\n"}, True),
        ({"never": ["calc/tests/**"]}, {"calc__tests__t.py": b"pass\n"}, False),
        ({"never": ["calc/tests/**"]}, {"calc__tests__t.py": None}, False),
        ({"never": ["calc/tests/**"]}, {"calc__tests__new.py": b""}, False),
        ({"only": ["calc/*.py"]}, {"calc__b.py": b"new\n"}, True),
        ({"only": ["calc/*.py"]}, {"calc__sub__b.py": b"new\n"}, False),
        ({"only": ["calc/**"], "never": ["calc/b.py"]}, {"calc__b.py": b"new\n"}, False),
        ({"edit": "*", "never": ["tests/**"]}, {"calc__b.py": b"new\n"}, True),
        ({"edit": "*", "never": ["tests/**"]}, {"calc__tests__t.py": b"pass\n"}, False),
        ({"edit": "*", "never": ["calc/tests/**"]}, {"calc__tests__t.py": None}, False),
        ({"edit": "*", "never": ["**/*.lock"]}, {"calc__sub__a.lock": b""}, False),
        ({"edit": "*", "never": ["other.txt"]}, {"other.txt": b"beside the edit\n"}, False),
        ({"files_max": 1}, {"calc__b.py": b"new\n"}, True),
        ({"files_max": 1}, {"calc__b.py": b"new\n", "calc__c.py": b"new\n"}, False),
        ({"files_min": 1}, {}, False),
        ({"files_max": 0}, {"other.txt": b"beside the edit\n"}, True),
        ({"lines_max": 2}, {"calc__a.py": b"one\n2\n"}, True),
        ({"lines_max": 1}, {"calc__a.py": b"one\n2\n"}, False),
        ({"lines_max": 99}, {"calc__picture": b"\0\2"}, False),
        ({"lines_max": 0}, {}, True),
    ],
)
async def test_a_change_is_held_to_its_bounds(
    tmp_path: Path, config: JsonObject, now: dict[str, bytes | None], passed: bool
) -> None:
    findings = await found(tmp_path, config, **now)
    assert findings.passed is passed, findings.reason


async def test_an_edit_that_the_run_does_not_have_is_unclear(tmp_path: Path) -> None:
    findings = await found(tmp_path, {"edit": "other", "files_max": 1})
    assert findings.passed is None
    assert "calc" in findings.reason


@pytest.mark.parametrize("config", [{}, {"edit": "calc"}, {"only": ["/etc"]}, {"only": ["../x"]}, {"files_max": -1}])
def test_a_config_that_bounds_nothing_or_leads_outside_is_refused(config: JsonObject) -> None:
    assert CHECK.config_faults(config, None)
