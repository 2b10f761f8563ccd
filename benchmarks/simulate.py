"""What does a month of a market with 200 agents take? CPU of the whole simulation. Prints one JSON object."""

import asyncio
import json
import time

from earnest.app.simulating import simulated
from earnest.runtime.simulation.story import SimulationPlan

PLAN = SimulationPlan(days=30, agents=200, jobs=1_000, seed=1)


def main() -> None:
    began = time.process_time()
    found = asyncio.run(simulated(PLAN))
    spent = time.process_time() - began
    print(json.dumps({"cpu_s": spent, "facts": found.facts, "wrongs": len(found.wrongs)}, indent=1))


if __name__ == "__main__":
    main()
