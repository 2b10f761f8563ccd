"""Is the output that the documents show what a newcomer really sees?"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .source import ROOT

# What differs from run to run, and what stands in its place on both sides.
MASKS = (
    (r"run_[0-9A-HJKMNP-TV-Z]{26}", "RUN"),
    (r"(sha256:)?\b[0-9a-f]{64}\b", "DIGEST"),
    (r"\b[0-9a-f]{32}\b", "VERDICT"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "INSTANT"),
    (r'("\w+_ms": )\d+', r"\1MS"),
    (r"\b\d+\.\d s\b|\b\d+ ms\b", "TIME"),
    (r"(?<=Ω )\d\.\d\d|(?<=loss )\d\.\d\d|(?<=Omega=)\S+|(?<=L=)\S+|(?<=loss_gradient=)\S+", "BY TIME"),
    (r"^\d+(?=  INSTANT)|\b\d+(?= (?:facts|lines|heads)\b)|(?<=size=)\d+|(?<=head/)\d+", "NUMBER"),
    (r"\d+ MiB", "SIZE"),
    (r"(earnest|lmdb|pydantic|typer|sqlite|bubblewrap) \d[\w.]*", r"\1 VERSION"),
    (r"\d\.\d+\.\d+ on Linux\S+", "PYTHON on LINUX"),
    (r"\([a-z]+, uid per slot, limits by peaks\)|\([a-z]+\)(?=: held)", "(MODE)"),
    (r" {2,}", "  "),
)


def _masked(text: str) -> str:
    for pattern, stand_in in MASKS:
        text = re.sub(pattern, stand_in, text)
    return text.rstrip()


def _blocks(document: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def _scenes(document: Path) -> Iterator[tuple[str, list[str]]]:
    """Each command of the document's console blocks with the lines that are shown under it."""
    for block in _blocks(document, "console"):
        for scene in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = scene.partition("\n")
            yield command, shown.splitlines()


def _verdicts(text: str) -> list[str]:
    """The ids of kept verdicts."""
    return re.findall(r"(?<=kept as )[0-9a-f]{32}", text)


def _with_real_ids(command: str, verdicts: dict[str, str]) -> str:
    """A command that names a verdict, or its beginning, as the document shows it, with what it is called here."""

    def real(found: re.Match[str]) -> str:
        name = found[0]
        return next((real[: len(name)] for shown, real in verdicts.items() if shown.startswith(name)), name)

    return re.sub(r"\b[0-9a-f]{8,32}\b", real, command)


def _as_pattern(shown: list[str]) -> str:
    """Shown lines as a pattern; a line of one `…` stands for any lines."""
    return "".join("(?:.*\n)*?" if line.strip() == "…" else f"{re.escape(_masked(line))}\n" for line in shown)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder that looks like a checkout, with a home of its own."""
    for name in ("examples", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def _replay(document: Path, place: Path) -> None:
    for number, text in enumerate(_blocks(document, "yaml")):
        name = re.match(r"# (\w+\.yaml)\n", text)
        (place / (name[1] if name else f"unnamed{number}.yaml")).write_text(text, encoding="utf-8")
    home = place / "home"
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("EARNEST_", "VERIFY_"))},
        "EARNEST_HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    scenes = list(_scenes(document))
    assert scenes, f"{document.name} shows nothing"
    verdicts: dict[str, str] = {}
    for command, shown in scenes:
        real_command = _with_real_ids(command, verdicts)
        done = subprocess.run(
            ["sh", "-c", real_command], cwd=place, env=environment, capture_output=True, text=True, check=False
        )
        told = done.stdout + done.stderr
        verdicts |= zip(_verdicts("\n".join(shown)), _verdicts(told), strict=False)
        told = told.replace(str(home), "~/.earnest").replace(str(place), "~/earnest")
        real = "".join(f"{_masked(line)}\n" for line in told.splitlines())
        assert re.fullmatch(_as_pattern(shown), real), f"$ {command}\n{real}\nis shown as\n" + "\n".join(shown)


def test_the_readme_shows_what_really_happens(place: Path) -> None:
    _replay(ROOT / "README.md", place)


@pytest.mark.slow  # a dozen processes
def test_the_page_of_commands_shows_what_really_happens(place: Path) -> None:
    _replay(ROOT / "docs" / "cli.md", place)


def test_the_commands_of_the_readme_are_those_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (start,) = (block for block in _blocks(ROOT / "README.md", "sh") if "make " in block)
    assert re.findall(r"^make (\w+)", start, re.MULTILINE) == ["demo", "test"]
    assert all(f"\n{name}:" in makefile for name in ("demo", "test"))
