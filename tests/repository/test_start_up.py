"""What a program loads before it does anything."""

import subprocess
import sys
from pathlib import Path

import pytest

from .source import SRC, expect_none, modules, shown

ASK_A_PLATFORM = {"cycling"}
CHAT = ("asking", "prompt", "conversation")
HELP = """
program = earnest.surfaces.cli.commands.program
program.get_help(program.make_context("earnest", [], resilient_parsing=True))
"""
HEAVY = {"hypothesis", "jsonschema_rs", "lmdb", "psycopg", "pydantic", "pytest", "sqlite3", "yaml"}


def _loaded_by(*names: str, then: str = "") -> set[str]:
    """The top-level modules that a fresh interpreter holds after importing these."""
    program = f"import sys, {', '.join(names)}\n{then}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def _module(path: str) -> str:
    return path.removeprefix("src/").removesuffix(".py").replace("/", ".")


def test_protocols_and_the_foundation_load_nothing_heavy() -> None:
    paths = [path for path in modules("src") if path.is_relative_to(SRC / "foundation") or path.name == "api.py"]
    expect_none(HEAVY & _loaded_by(*(_module(shown(path)) for path in paths)), "loaded by them")


def test_the_command_line_loads_nothing_heavy_before_a_command_is_chosen() -> None:
    expect_none(HEAVY & _loaded_by("earnest.surfaces.cli.main"), "loaded by earnest.surfaces.cli.main")


def test_the_help_of_all_commands_loads_nothing_heavy_and_no_event_loop() -> None:
    loaded = _loaded_by("earnest.surfaces.cli.commands", then=HELP)
    assert "click" in loaded
    expect_none((HEAVY | {"asyncio", "httpx2", "logging", "ssl"}) & loaded, "loaded by the help")


def test_a_conversation_has_its_prompt_before_what_runs_need_is_loaded() -> None:
    loaded = _loaded_by("earnest.surfaces.cli.main", *(f"earnest.surfaces.cli.{name}" for name in CHAT))
    assert "prompt_toolkit" in loaded
    expect_none((HEAVY | {"httpx", "httpx2"}) & loaded, "loaded before the prompt")


FIRST_LINE = """
import os, sys

class Screen:
    def isatty(self): return True
    def flush(self): pass
    def write(self, text):
        os.write(1, text.encode())
        if "\\n" in text:
            os.write(2, " ".join(sys.modules).encode())
            os._exit(0)

sys.stdout = Screen()
from earnest.surfaces.cli.main import main
main()
"""
"""Ends once a line is on the screen, and says what was loaded by then."""


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("run", "p.yaml", "--input", "in=data"), "p.yaml; reads in; home HOME"),
        (("run", "Sum up", "--edit", "calc", "--input", "data"), "Sum up; edits a copy of calc; reads data; home HOME"),
        (
            ("run", "Sum up", "--executor", "sh x.sh", "--spec", "s.yaml"),
            "Sum up; worked by sh x.sh; judged by s.yaml; home HOME",
        ),
        (("run", "--resume", "run_1"), "resume run_1; home HOME"),
        (("resume", "run_1"), "resume run_1; home HOME"),
    ],
)
def test_a_run_has_its_first_line_before_what_works_it_is_loaded(
    words: tuple[str, ...], line: str, tmp_path: Path
) -> None:
    for name in ("p.yaml", "s.yaml", "data", "calc"):
        (tmp_path / name).touch()
    program = [sys.executable, "-c", FIRST_LINE, *words]
    done = subprocess.run(
        program, cwd=tmp_path, env={"EARNEST_HOME": "home"}, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == line.replace("HOME", str(tmp_path / "home"))
    loaded = set(done.stderr.split())
    heavy = HEAVY | {"asyncio", "httpx2", "ssl"}
    expect_none(heavy & loaded, "loaded before the first line")
    ours = {name for name in loaded if name.startswith("earnest.")}
    assert {name.split(".")[1] for name in ours} <= {"app", "contracts", "effects", "foundation", "surfaces"}
    assert len(ours) <= 40


def test_what_needs_no_server_and_no_model_loads_none_of_their_libraries() -> None:
    extras = {"aiosmtplib", "bs4", "fastapi", "httpx2", "mcp", "opentelemetry", "starlette", "stripe"}
    files = (path for path in modules("src/earnest/surfaces/cli") if path.stem not in {"__init__", *ASK_A_PLATFORM})
    base = ("earnest.app.platform", "earnest.app.settings", "earnest.app.simulating", "earnest.runtime.recompute")
    loaded = _loaded_by(*base, *(_module(shown(path)) for path in files))
    expect_none(extras & loaded, "loaded by what the base can do")


def test_what_asks_a_model_loads_neither_yaml_nor_the_validator_of_foreign_schemas() -> None:
    """Together they take 6 MiB, a tenth of such a process."""
    loaded = _loaded_by(
        "earnest.runtime.model_calls", "earnest.effects.outside.llm.openai_client", "earnest.engine.asking"
    )
    assert "httpx2" in loaded
    expect_none({"jsonschema_rs", "openai", "yaml"} & loaded, "loaded by what asks a model")
