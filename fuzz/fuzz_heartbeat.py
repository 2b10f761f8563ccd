"""Does a HEARTBEAT.md of any bytes keep the parser's and the writer's promises? Coverage-guided (extra `fuzz`).

`python fuzz/fuzz_heartbeat.py -max_total_time=600 -timeout=30 CORPUS…` runs for ten minutes; folders with texts to
begin with are arguments, and the first of them takes what is found. The properties are those of the tests.
"""

import sys
from pathlib import Path

import atheris

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

with atheris.instrument_imports(include=["earnest.contracts", "markdown_it"]):
    from contracts.heartbeat.properties import hold


def main() -> None:
    """Until it is stopped, or until something does not hold."""
    atheris.Setup(sys.argv, hold)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
