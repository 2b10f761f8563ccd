"""The command of `make corpora`: judges the corpora, prints the matrix; exits with 1 if what must hold does not."""

import argparse
import asyncio
import json
import random
import sys
from dataclasses import asdict
from pathlib import Path

from . import libraries, sources
from .judging import judge_all
from .matrix import held, noted, table

KEPT = Path(__file__).resolve().parents[3] / ".corpora" / "plain.json"
LIBRARIES = KEPT.with_name("libraries")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make corpora", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="items whose corpus/name holds it")
    parser.add_argument("--sample", type=int, metavar="N", help="so many items, drawn by the seed")
    parser.add_argument("--mutants", type=int, default=2, metavar="N", help="plainly failing mutants of each item")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--replay", action="store_true", help="keep each verdict and reach it again")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every row, for programs")
    parser.add_argument(
        "--libraries", action="store_true", help="in place of the corpora, the libraries of `make libraries`"
    )
    options = parser.parse_args()
    if gone := libraries.missing(LIBRARIES) if options.libraries else sources.missing():
        print(gone, file=sys.stderr)
        return 2
    items = libraries.items(LIBRARIES) if options.libraries else sources.items()
    items = [
        one for one in items if not options.only or any(text in f"{one.corpus}/{one.name}" for text in options.only)
    ]
    if options.sample is not None and options.sample < len(items):
        items = random.Random(options.seed).sample(items, options.sample)
    rows, sandbox = asyncio.run(
        judge_all(items, KEPT, mutants_each=options.mutants, seed=options.seed, replay=options.replay)
    )
    whole = not (options.only or options.libraries) and options.sample is None
    must = held(rows, whole=whole, may_be_unclear=options.libraries)
    if options.json:
        answer = {"sandbox": sandbox, "seed": options.seed, "held": must, "rows": [asdict(row) for row in rows]}
        options.json.write_text(json.dumps(answer, indent=1), encoding="utf-8")
    print(*table(rows), "", *noted(rows), "", sandbox, sep="\n")
    for what, holds in must.items():
        print("holds:" if holds else "DOES NOT HOLD:", what)
    return 0 if all(must.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
