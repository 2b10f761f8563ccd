"""What does a receipt cost in a log of ten million facts? Prints one JSON object.

Every fact of the log stands in the books, with its indexes, and a head after each 64. Their leaves are all alike, so
that the tree is known without hashing it through; what a proof looks up and hashes is the same. The receipt is that of
a run whose seven facts lie apart, up to a million facts. `made_ms` and `checked_ms`: medians of CPU over 200, books
open and keys read; `consistency_ms`: the proof between two far heads. `python benchmarks/receipts.py [facts]` asks for
another number.
"""

import json
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import JsonObject, canonical_bytes
from earnest.journal.heads import SEALED, SUBJECT, fact_of, seal_of
from earnest.journal.merkle import Frontier, node_hash
from earnest.journal.notary import Notary
from earnest.journal.proving import Prover, head_at
from earnest.journal.receipt import check_receipt
from earnest.journal.signing import LOG, PrivateKey
from earnest.views.receipts import run_draft

FACTS = 10_000_000
BETWEEN_HEADS = 64
ROUNDS = 200
T = TypeVar("T")
LEAF = bytes(range(32))
KEY = PrivateKey(name="example.org/log", type=LOG, seed=bytes(32))
RUN = "run_01M83G123N9QC0JBB7J7MZNVYX"
FILL = """
WITH RECURSIVE counted(seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM counted WHERE seq < ?)
INSERT INTO facts (seq, at_ms, kind, subject, body, leaf)
SELECT seq, seq, 'test.happened', 's' || (seq % 100000), CAST('{"n":' || seq || '}' AS BLOB), ? FROM counted
"""


def main() -> None:
    """Build, measure, print."""
    facts = int(sys.argv[1]) if len(sys.argv) > 1 else FACTS
    notary = Notary(key=KEY)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "books.sqlite3"
        Database.open(path, SystemClock()).close()
        fill(path, facts)
        with closing(Database.open(path, SystemClock())) as books:
            made, receipt = measured(books, lambda reader: notary.receipt(reader, run_draft(reader, RUN)))
            size = facts // BETWEEN_HEADS * BETWEEN_HEADS - BETWEEN_HEADS
            old = size // 3 // BETWEEN_HEADS * BETWEEN_HEADS
            proved, _ = measured(
                books, lambda reader: Prover(reader, head_at(reader, size)).consistency(head_at(reader, old))
            )
        checked, found = timed(lambda: check_receipt(receipt, [KEY.public]))
        assert found.flaws == ()
        result = {"facts": facts, "receipt_bytes": len(receipt)}
        print(json.dumps({**result, "made_ms": made, "checked_ms": checked, "consistency_ms": proved}))


def measured(books: Database, look: Callable[[BooksReader], object]) -> tuple[float, bytes]:
    """The median of milliseconds that a look at the books takes, and what it gave last."""
    found, last = timed(lambda: books.read_sync(look))
    return found, last if isinstance(last, bytes) else b""


def timed(act: Callable[[], T]) -> tuple[float, T]:
    """The median of milliseconds of CPU, and the last value."""
    times = []
    last = act()
    for _ in range(ROUNDS):
        began = time.thread_time()
        last = act()
        times.append((time.thread_time() - began) * 1000)
    return statistics.median(times), last


def fill(path: Path, facts: int) -> None:
    """Put the facts into new books: without their triggers and indexes, which are made again as they were."""
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("PRAGMA synchronous = OFF")
        kept = raw.execute(
            "SELECT type, name, sql FROM sqlite_master WHERE tbl_name = 'facts' AND type <> 'table' AND sql IS NOT NULL"
        ).fetchall()
        for kind, name, _ in kept:
            raw.execute(f"DROP {kind} {name}")
        raw.execute("BEGIN")
        raw.execute(FILL, (facts, LEAF))
        change = "UPDATE facts SET kind = ?, subject = ?, body = ? WHERE seq = ?"
        raw.executemany(change, ((SEALED, SUBJECT, body, size + 1) for size, body in heads(facts)))
        raw.executemany(change, ((kind, RUN, canonical_bytes(body), seq) for seq, kind, body in run(facts)))
        raw.execute("COMMIT")
        for _, _, sql in kept:
            raw.execute(sql)


def heads(facts: int) -> Iterator[tuple[int, bytes]]:
    """Each head's size, and the body of its fact."""
    perfect = [LEAF]
    while 1 << len(perfect) <= facts:
        perfect.append(node_hash(perfect[-1], perfect[-1]))
    for size in range(BETWEEN_HEADS, facts, BETWEEN_HEADS):
        bits = (bit for bit in reversed(range(size.bit_length())) if size >> bit & 1)
        yield size, canonical_bytes(fact_of(seal_of(Frontier(size, [perfect[bit] for bit in bits])), 0).body)


def run(facts: int) -> list[tuple[int, str, JsonObject]]:
    """The facts of a run, by number: in three places between the last million facts and the last hundred."""
    verdict = {"answer": "verified", "id": "C1", "reason": "it is as it should be", "evidence": ["answer.json"]}
    judged: list[tuple[int, str, JsonObject]] = [
        (
            facts - facts // back + number * 3 + 2,
            "effect.outcome",
            {"key": f"r{number}/task/verdict", "snapshot": "sha256:" + "ab" * 32, "verdicts": [verdict] * 3},
        )
        for number, back in enumerate((20, 20, 20, 1000, 1000))
    ]
    order: JsonObject = {"digest": "sha256:" + "cd" * 32, "request": {"raw_input": "Add up what is in the ledger."}}
    result: JsonObject = {"result": {"directive": "accept", "summary": "Every criterion is met.", "unmet": []}}
    return [(facts - facts // 10, "run.started", order), *judged, (facts - 200, "run.finished", result)]


if __name__ == "__main__":
    main()
