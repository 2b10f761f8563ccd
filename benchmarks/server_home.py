"""How fast is a home on PostgreSQL beside a bare FastAPI route with one read there? Prints one JSON object.

As `home.py`, with 100 jobs in the books. Of both sides the CPU is that of the asked process, without the database's.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

import uvloop
from home import SIZES, rates, served

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import postgresql


def main() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="earnest-bench-") as folder,
        postgresql.server() as server,
        postgresql.database(server) as address,
        served(Path(folder), SIZES[0], address) as platform,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        found = runner.run(rates(platform))
    shown = ("bare_per_s", "home_per_s", "home_percent", "home_cpu_percent", "unchanged_percent")
    print(json.dumps({name: found[name] for name in shown}, indent=1))


if __name__ == "__main__":
    main()
