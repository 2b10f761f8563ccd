"""How is a command run within the test, and what is a data directory in which something was done?"""

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from earnest.surfaces.cli.main import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

PLAYBOOK = """\
format: earnest-playbook-v1
intent: Write a file
task_class: write_a_file
subtasks:
  - id: write
    intent: Write a.txt
    criteria:
      - text: a.txt is there
        check: {kind: files, required: [a.txt]}
    approaches:
      - id: write
        steps: [{tool: write_file, args: {path: a.txt, content: done}}]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """All of stdout, which must be one JSON value."""
        return json.loads(self.out)


Earnest = Callable[..., Ended]


def run_main(arguments: tuple[object, ...], monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["earnest", *map(str, arguments)])
    with pytest.raises(SystemExit) as ending:
        main()
    return int(ending.value.code or 0)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data directory that commands of this test use; it is not there yet."""
    folder = tmp_path / "home"
    monkeypatch.setenv("EARNEST_HOME", str(folder))
    monkeypatch.delenv("EARNEST_DEBUG", raising=False)
    return folder


@pytest.fixture
def tested_home(home: Path, self_tested: Callable[[Path], Path]) -> Path:
    """The same, in which nothing stands but that the sandbox holds: for commands in processes of their own."""
    return self_tested(home)


@pytest.fixture
def earnest(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Earnest:
    """Run a command in this process."""

    def call(*arguments: object) -> Ended:
        capsys.readouterr()
        code = run_main(arguments, monkeypatch)
        told = capsys.readouterr()
        return Ended(code=code, out=told.out, err=told.err)

    return call


@pytest.fixture(scope="module")
def worked_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory in which an example was worked; to be looked at only."""
    folder = tmp_path_factory.mktemp("worked") / "home"
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("EARNEST_HOME", str(folder))
        assert run_main(("run", "--quiet", EXAMPLES / "02-access-log" / "playbook.yaml"), monkeypatch) == 0
    return folder


@pytest.fixture
def worked(worked_once: Path, home: Path) -> Path:
    """The same as a copy, in use by this test's commands."""
    shutil.copytree(worked_once, home)
    return home


@pytest.fixture
def playbook(tmp_path: Path) -> Path:
    """The smallest playbook that is accepted."""
    path = tmp_path / "small.yaml"
    path.write_text(PLAYBOOK, encoding="utf-8")
    return path


def files_of(folder: Path) -> dict[str, bytes]:
    """Everything in a folder."""
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
