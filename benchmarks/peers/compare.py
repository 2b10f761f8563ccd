"""How do others do the same? Each in an environment of its own, against the same endpoint, one after the other.

`python benchmarks/peers/compare.py FOLDER [NAME…]` builds the environments in FOLDER from the pinned lists beside this
file, and prints a Markdown table. Every program runs twice, in turns; the lower figure of each counts. Whoever has a
durable form of its own is measured in it; `openai` and `raw` have none.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from measuring import endpoint  # noqa: E402

PEERS = ("langgraph", "pydantic_ai", "agent_framework", "crewai")
OWN = ("raw", "openai", "earnest")
SILENT = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "LANGSMITH_TRACING": "false",
    "OTEL_SDK_DISABLED": "true",
}
"""Nothing is told to anybody while it is measured."""
COLUMNS = {
    "chain_cpu_ms": "CPU a call, chain",
    "fan_cpu_ms": "CPU a call, 32 at once",
    "chain_wall_ms": "chain of 5",
    "fan_wall_ms": "32 at once",
    "rss_mb": "memory",
}
PROGRAM_TIMEOUT_S = 600


def environment(name: str, folder: Path) -> Path:
    """The interpreter of an environment that holds exactly the pinned list of `name`."""
    wanted, python = HERE / f"{name}.txt", folder / name / "bin" / "python"
    built = folder / name / "built.txt"
    if not built.is_file() or built.read_bytes() != wanted.read_bytes():
        uv = str(Path(sys.executable).with_name("uv"))
        subprocess.run([uv, "venv", "--quiet", "--clear", "-p", sys.executable, str(folder / name)], check=True)
        subprocess.run([uv, "pip", "install", "--quiet", "--python", str(python), "-r", str(wanted)], check=True)
        built.write_bytes(wanted.read_bytes())
    return python


def measure(program: Sequence[str], home: Path) -> Mapping[str, float]:
    """What a program printed last; empty, with its complaint on stderr, if that are no figures."""
    variables = {**os.environ, **SILENT, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": ""}  # as an installation has it
    try:
        done = subprocess.run(
            program, env=variables, cwd=home, capture_output=True, text=True, timeout=PROGRAM_TIMEOUT_S, check=True
        )
        figures: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    except subprocess.CalledProcessError as error:
        print(f"{program[-2]}: exit code {error.returncode}\n{error.stderr[-2_000:]}", file=sys.stderr)
    except (subprocess.TimeoutExpired, ValueError, IndexError) as error:
        print(f"{program[-2]}: {error}", file=sys.stderr)
    else:
        return figures
    return {}


def row(name: str, runs: Sequence[Mapping[str, float]]) -> str:
    cells = []
    for key in COLUMNS:
        values = [run[key] for run in runs if key in run]
        unit = "MiB" if key == "rss_mb" else "ms"
        cells.append(f"{min(values):.3g} {unit}" if values else "not measured")
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure others beside earnest.")
    parser.add_argument("folder", type=Path, help="where their environments are built")
    parser.add_argument("names", nargs="*", choices=[*OWN, *PEERS, []], help="only these (default: all)")
    asked = parser.parse_args()
    folder = asked.folder.resolve()
    home = folder / "home"
    home.mkdir(parents=True, exist_ok=True)
    programs = {name: [sys.executable, str(HERE.parent / "models.py"), name] for name in OWN}
    for name in PEERS:
        if not asked.names or name in asked.names:
            programs[name] = [str(environment(name, folder)), str(HERE / f"with_{name}.py")]
    chosen = {name: program for name, program in programs.items() if not asked.names or name in asked.names}
    runs: dict[str, list[Mapping[str, float]]] = {name: [] for name in chosen}
    with endpoint() as url:
        for _ in range(2):
            for name, program in chosen.items():
                runs[name].append(measure([*program, url], home))
    print(f"| | {' | '.join(COLUMNS.values())} |\n|---|{'---|' * len(COLUMNS)}")
    print("\n".join(row(name, found) for name, found in runs.items()))


if __name__ == "__main__":
    main()
