"""Play seeds: `python -m runtime.simulated --seeds 10000`, or `--seed 17` again, with its story."""

import argparse
import time
from collections import Counter

from .story import staged

parser = argparse.ArgumentParser(prog="python -m runtime.simulated", description=__doc__)
parser.add_argument("--seeds", type=int, default=200, help="how many")
parser.add_argument("--first", type=int, default=0, help="the first of them")
parser.add_argument("--seed", type=int, help="this one alone, with all that happens")


def main() -> int:
    given = parser.parse_args()
    seeds = [given.seed] if given.seed is not None else range(given.first, given.first + given.seeds)
    begun_s, steps, faults, failed = time.process_time(), 0, Counter[str](), 0
    with staged() as stage:
        for seed in seeds:
            story = stage.play(seed)
            steps += story.steps
            faults += story.faults
            if given.seed is not None:
                print("\n".join(story.told))
            if story.wrongs:
                failed += 1
                print(
                    f"seed {seed}: {'; '.join(story.wrongs)}; again: python -m runtime.simulated --seed {seed}",
                    flush=True,
                )
    spent_s = time.process_time() - begun_s
    print(f"{len(seeds)} seeds, {failed} failed; {steps} steps, faults {dict(faults)}; {spent_s:.1f} s of CPU time")
    return bool(failed)


if __name__ == "__main__":
    raise SystemExit(main())
