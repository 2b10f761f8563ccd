"""Does every promised speed hold? Runs the programs of this folder, compares what they print with `targets.toml`.

A program prints one JSON object, last on its output. `python -m benchmarks [--record] [program…]` prints a Markdown
table; with `--record` it also replaces the one in docs/benchmarks.md. The exit code is 1 if a target was missed.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PAGE, BEGIN, END = FOLDER.parent / "docs" / "benchmarks.md", "<!-- results: begin -->", "<!-- results: end -->"
PROGRAM_TIMEOUT_S = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One promise: the number at the dotted `key` in what `program` prints, at most `bound`, or at least, in `unit`."""

    program: str
    key: str
    what: str
    bound: float
    unit: str
    at_least: bool = False

    def met(self, measured: float | None) -> bool:
        """False, too, for what was not measured."""
        if measured is None:
            return False
        return measured >= self.bound if self.at_least else measured <= self.bound

    def row(self, measured: float | None) -> str:
        """A line of the table."""
        bound = f"{'≥' if self.at_least else '≤'} {_amount(self.bound)} {self.unit}"
        value = "not measured" if measured is None else f"{_amount(measured)} {self.unit}"
        return f"| {self.what} | {bound} | {value} | {'yes' if self.met(measured) else '**no**'} |"


def _amount(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _targets(text: str) -> Iterator[Target]:
    """Those of `targets.toml`."""
    for program, promised in tomllib.loads(text).items():
        for key, told in promised.items():
            (side,) = told.keys() & {"at_least", "at_most"}
            shown = {"what": told["what"], "unit": told["unit"]}
            yield Target(program=program, key=key, bound=told[side], at_least=side == "at_least", **shown)


TARGETS = tuple(_targets((FOLDER / "targets.toml").read_text(encoding="utf-8")))


def measure(program: str) -> Mapping[str, object]:
    """What a program printed; empty, with the reason on stderr, if it did not come to print it."""
    path = FOLDER / f"{program}.py"
    if not path.is_file():
        return {}
    try:
        done = subprocess.run(
            [sys.executable, str(path)],
            capture_output=True,
            text=True,
            timeout=PROGRAM_TIMEOUT_S,
            check=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},  # an installation has its bytecode
        )
        printed = done.stdout.strip()
        found: dict[str, object] = json.loads(printed[printed.index("{") :])
    except subprocess.CalledProcessError as error:
        print(f"{program}: exit code {error.returncode}\n{error.stderr}", file=sys.stderr)
    except (subprocess.TimeoutExpired, ValueError) as error:
        print(f"{program}: {error}", file=sys.stderr)
    else:
        return found
    return {}


def number(measured: Mapping[str, object], key: str) -> float | None:
    """The measured number at a dotted key, or None."""
    value: object = measured
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return float(value) if isinstance(value, int | float) else None


def table(targets: tuple[Target, ...], measured: Mapping[str, Mapping[str, object]]) -> str:
    """The results as Markdown."""
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    rows = [target.row(number(measured[target.program], target.key)) for target in targets]
    return "\n".join(
        [f"Measured with {machine}.", "", "| what | target | measured | met |", "|---|---|---|---|", *rows]
    )


def record(results: str) -> None:
    """Replace what stands between the two markers of the page."""
    page = PAGE.read_text(encoding="utf-8")
    before, after = page[: page.index(BEGIN) + len(BEGIN)], page[page.index(END) :]
    PAGE.write_text(f"{before}\n{results}\n{after}", encoding="utf-8")


def main() -> int:
    """Measure, print, perhaps record."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure and compare with the targets.")
    parser.add_argument("programs", nargs="*", help="only these (default: all)")
    parser.add_argument("--record", action="store_true", help="write the table to docs/benchmarks.md")
    asked = parser.parse_args()
    if asked.record and asked.programs:
        parser.error("a record holds all programs")
    targets = tuple(target for target in TARGETS if not asked.programs or target.program in asked.programs)
    measured = {program: measure(program) for program in dict.fromkeys(target.program for target in targets)}
    results = table(targets, measured)
    print(results)
    if asked.record:
        record(results)
    return 0 if all(target.met(number(measured[target.program], target.key)) for target in targets) else 1


if __name__ == "__main__":
    sys.exit(main())
