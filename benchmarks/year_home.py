"""A data directory as after a year: one real run of an example, and its facts again under other runs' names."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from earnest.app import places
from earnest.effects.ground.storage.transaction import FactRow
from earnest.foundation.canonical import leaf_hash

PLAYBOOK = Path(__file__).resolve().parents[1] / "examples" / "01-inventory" / "playbook.yaml"
ROWS_AT_ONCE = 10_000
STEP_MS = 3_000


def earnest(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """One command over that data directory, as a process of its own."""
    environment = {**os.environ, "EARNEST_HOME": str(home)}
    program = [str(Path(sys.executable).with_name("earnest")), *words]
    return subprocess.run(program, env=environment, capture_output=True, text=True, check=False)


def grow(home: Path, facts: int) -> int:
    """Run the example in a new data directory, then copy its facts until there are `facts`, none of the copies sealed.

    Gives the number of runs. Memory has seen only the first of them.
    """
    done = earnest(home, "run", str(PLAYBOOK), "--json")
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(places.books(home), isolation_level=None) as books:
        (run_id,) = books.execute("SELECT subject FROM facts WHERE kind = 'run.started'").fetchone()
        columns = "SELECT at_ms, kind, subject, body FROM facts WHERE subject = ? ORDER BY seq"
        template = books.execute(columns, (run_id,)).fetchall()
        (last,) = books.execute("SELECT max(seq) FROM facts").fetchone()
        books.execute("PRAGMA synchronous = OFF")
        rows, runs = _copies(template, run_id, last, facts), 0
        while batch := list(islice(rows, ROWS_AT_ONCE)):
            books.execute("BEGIN")
            books.executemany("INSERT INTO facts VALUES (?, ?, ?, ?, ?, ?)", batch)
            books.execute("COMMIT")
            runs += sum(kind == "run.started" for _, _, kind, *_ in batch)
    return runs + 1


def _copies(template: list[tuple[int, str, str, bytes]], run_id: str, last: int, facts: int) -> Iterator[FactRow]:
    """The copies end one after the other, the last just before the real run: none lies in the future."""
    seq, number, runs = last, 0, (facts - last) // len(template) + 1
    while seq < facts:
        number += 1
        name = f"{run_id[:-7]}{number:07d}"
        assert len(name) == len(run_id)
        for at_ms, kind, _, body in template:
            seq += 1
            text = body.replace(run_id.encode(), name.encode())
            if kind == "memory.megram":
                text = _own_megram(text, number)
            moment = at_ms - (runs - number + 1) * STEP_MS
            yield seq, moment, kind, name, text, leaf_hash(seq, moment, kind, name, text)


def _own_megram(body: bytes, number: int) -> bytes:
    """Another id for what this copy of the run remembers."""
    megram_id = json.loads(body)["payload"]["megram_id"]
    return body.replace(megram_id.encode(), f"{megram_id[:-7]}{number:07d}".encode())
