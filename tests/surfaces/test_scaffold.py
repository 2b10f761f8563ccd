"""Files to start from: written once, right as they stand, and each fault of a file told with its line."""

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from earnest.surfaces.cli.commands import program
from earnest.surfaces.cli.scaffold import NEXT


def earnest(line: str) -> tuple[int, str]:
    name, *words = shlex.split(line)
    assert name == "earnest"
    done = CliRunner().invoke(program, words)
    return done.exit_code, done.output + (f"{done.exception}" if done.exception else "")


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EARNEST_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(NEXT))
def test_what_is_begun_works_as_it_stands(kind: str) -> None:
    code, told = earnest(f"earnest init {kind} new")
    assert code == 0, told
    for line in (line.format(folder="new") for line in NEXT[kind]):
        assert line in told
        code, said = earnest(line)
        assert code == 0, said


def test_nothing_that_is_there_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "playbook.yaml").write_text("mine")
    code, told = earnest("earnest init playbook")
    assert code
    assert "playbook.yaml is there already" in told
    assert [path.name for path in tmp_path.iterdir()] == ["playbook.yaml"]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("p.yaml", "format: earnest-playbook-v1\n\tintent: x\n", "p.yaml:2: a tab: indent with spaces"),
        ("p.yaml", "format: earnest-playbook-v1\nintent: x\ntask_class: x\nsubtasks: []\n", "p.yaml:4: "),
        ("s.yaml", "format: earnest-spec-v1\ntitle: x\ntext: x\ncriteria: []\n", "s.yaml:4: "),
        ("nothing.yaml", "format: of-others\n", "nothing.yaml:1: "),
        ("HEARTBEAT.md", "## Tasks\n\n- [ ] a | A\n- [ ] a | A\n", "HEARTBEAT.md:4:"),
    ],
)
def test_a_fault_is_told_with_its_line(name: str, text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    code, said = earnest(f"earnest lint {name}")
    assert code
    assert told in said
