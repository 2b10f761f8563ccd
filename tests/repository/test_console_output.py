"""Is the output that the documents show what a newcomer really sees?"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .screens import GivenFile, blocks, script, told_as_shown
from .source import ROOT


def _verdicts(text: str) -> list[str]:
    """The ids of kept verdicts."""
    return re.findall(r"(?<=kept as )[0-9a-f]{32}", text)


def _with_real_ids(command: str, verdicts: dict[str, str]) -> str:
    """A command that names a verdict, or its beginning, as the document shows it, with what it is called here."""

    def real(found: re.Match[str]) -> str:
        name = found[0]
        return next((real[: len(name)] for shown, real in verdicts.items() if shown.startswith(name)), name)

    return re.sub(r"\b[0-9a-f]{8,32}\b", real, command)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder that looks like a checkout, with a home of its own."""
    for name in ("examples", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def _replay(document: Path, place: Path) -> None:
    home = place / "home"
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("EARNEST_", "VERIFY_"))},
        "EARNEST_HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    verdicts: dict[str, str] = {}
    tried = 0
    for part in script(document):
        if isinstance(part, GivenFile):
            (place / part.name).write_text(part.text, encoding="utf-8")
        elif part.shown is not None:
            real_command = _with_real_ids(part.typed, verdicts)
            done = subprocess.run(
                ["sh", "-c", real_command], cwd=place, env=environment, capture_output=True, text=True, check=False
            )
            told = done.stdout + done.stderr
            verdicts |= zip(_verdicts("\n".join(part.shown)), _verdicts(told), strict=False)
            told = told.replace(str(home), "~/.earnest").replace(str(place), "~/earnest")
            wrong = told_as_shown(told, part.shown)
            assert not wrong, f"$ {part.typed}\n{wrong}"
            tried += 1
    assert tried, f"{document.name} shows nothing"


@pytest.mark.slow  # a dozen processes
def test_the_readme_shows_what_really_happens(place: Path) -> None:
    _replay(ROOT / "README.md", place)


@pytest.mark.slow  # a dozen processes each
@pytest.mark.parametrize("page", ["inspecting.md", "gallery.md"])
def test_a_page_shows_what_really_happens(page: str, place: Path) -> None:
    _replay(ROOT / "docs" / page, place)


def test_the_commands_of_the_readme_are_those_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (start,) = (block for block in blocks(ROOT / "README.md", "sh") if "make " in block)
    assert re.findall(r"^make (\w+)", start, re.MULTILINE) == ["demo", "test"]
    assert all(f"\n{name}:" in makefile for name in ("demo", "test"))
