"""Does anything leave a folder for a platform that does not lie in it?"""

import io
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from earnest.agents.executing import MACHINE_ADDED, _complete
from earnest.agents.job_files import evidence_of, job_of
from earnest.foundation.errors import Refused

SPEC = """\
format: earnest-spec-v1
title: Add up
text: Add up the numbers.
acceptance: machine
criteria:
  - text: the tests pass
    check: {kind: unit_tests, tests: %s}
"""


def wanted(path: str) -> list[Any]:
    return [{"id": "work", "kind": "artifact", "path": path, "required": True, "max_bytes": 1_000, "description": ""}]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder of work, beside a file and a folder that are nobody else's business."""
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "key").write_text("secret")
    (tmp_path / "private" / "notes.md").write_text("secret")
    (tmp_path / "work" / "inner").mkdir(parents=True)
    (tmp_path / "work" / "answer.txt").write_text("42")
    return tmp_path / "work"


@pytest.mark.parametrize("path", ["answer.lnk", "folder.lnk/key", "folder.lnk", "../private/key", "../private", "."])
def test_what_leads_out_of_the_work_is_not_handed_in(work: Path, path: str) -> None:
    (work / "answer.lnk").symlink_to("../private/key")
    (work / "folder.lnk").symlink_to(work.parent / "private")
    with pytest.raises(Refused) as refused:
        evidence_of(wanted(path), work)
    assert refused.value.code == "workspace_link"


def test_a_link_within_the_work_is_handed_in_as_what_it_names(work: Path) -> None:
    (work / "inner" / "latest").symlink_to("../answer.txt")
    [handed] = evidence_of(wanted("inner/latest"), work)
    assert handed.content == b"42"
    [handed] = evidence_of(wanted("."), work)
    with tarfile.open(fileobj=io.BytesIO(handed.content or b"")) as archive:
        assert [member.name for member in archive] == ["answer.txt", "inner/latest"]


def test_a_pipe_is_not_waited_for(work: Path) -> None:
    os.mkfifo(work / "pipe")
    with pytest.raises(OSError, match="Invalid argument"):
        evidence_of(wanted("pipe"), work)


def test_an_archive_named_by_a_link_is_handed_in(work: Path) -> None:
    (work.parent / "work.tar").write_bytes(b"tar")
    (work.parent / "newest").symlink_to("work.tar")
    [handed] = evidence_of(wanted("."), work.parent / "newest")
    assert handed.content == b"tar"


def test_nothing_is_added_to_a_file_outside_the_work(work: Path) -> None:
    (work / "notes.md").symlink_to("../private/notes.md")
    job: Any = {"title": "Evidence required", "text": "", "evidence_requirements": wanted("notes.md")}
    with pytest.raises(Refused):
        _complete(job, work)
    assert (work.parent / "private" / "notes.md").read_text() == "secret"
    (work / "notes.md").unlink()
    (work / "notes.md").write_text("done")
    _complete(job, work)
    assert (work / "notes.md").read_text() == "done" + MACHINE_ADDED


def test_what_a_job_brings_lies_beside_its_specification(work: Path) -> None:
    (work / "tests").mkdir()
    (work / "tests" / "test_sum.py").write_text("def test(): pass")
    (work / "spec.yaml").write_text(SPEC % "tests")
    (work.parent / "here").symlink_to(work)
    for folder in (work, work.parent / "here"):
        assert list(job_of(folder / "spec.yaml", []).files) == ["tests/test_sum.py"]
    (work / "tests" / "data").symlink_to("../../private/key")
    with pytest.raises(Refused) as refused:
        job_of(work / "spec.yaml", [])
    assert refused.value.code == "workspace_link"
