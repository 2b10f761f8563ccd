"""What a program loads before it does anything."""

import subprocess
import sys

from .source import SRC, expect_none, modules, shown

ASK_A_PLATFORM = {"cycling", "in_the_name_of"}
CHAT = ("asking", "prompt", "conversation")
HEAVY = {"hypothesis", "jsonschema_rs", "lmdb", "psycopg", "pydantic", "pytest", "sqlite3", "yaml"}


def _loaded_by(*names: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after importing these."""
    program = f"import sys, {', '.join(names)}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
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
    loaded = _loaded_by("earnest.surfaces.cli.commands; earnest.surfaces.cli.commands.app_of()")
    assert "typer" in loaded
    expect_none((HEAVY | {"asyncio", "httpx2", "logging", "ssl"}) & loaded, "loaded by the help")


def test_a_conversation_has_its_prompt_before_what_runs_need_is_loaded() -> None:
    loaded = _loaded_by("earnest.surfaces.cli.main", *(f"earnest.surfaces.cli.{name}" for name in CHAT))
    assert "prompt_toolkit" in loaded
    expect_none((HEAVY | {"httpx", "httpx2", "rich"}) & loaded, "loaded before the prompt")


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
