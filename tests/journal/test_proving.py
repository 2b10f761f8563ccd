"""Proofs from what heads hold are those of the definition, whatever lies between two heads."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Broken, Refused
from earnest.foundation.facts import Fact
from earnest.journal.heads import fact_of, seal_of
from earnest.journal.merkle import Frontier, consistency_proof, inclusion_proof
from earnest.journal.proving import Prover, head_at, newest_head
from earnest.journal.verify import verify_journal

from .trees import tree_root


def grown(path: Path, gaps: list[int]) -> Database:
    """Books in which so many facts lie before each head."""
    database = Database.open(path, VirtualClock(0), is_durable=False)
    for gap in gaps:

        def record(transaction, gap=gap):  # type: ignore[no-untyped-def]
            for number in range(gap):
                transaction.record(Fact(kind="test.happened", subject="s", at_ms=number, body={"n": number}))
            frontier = Frontier()
            for leaf in transaction.leaves():
                frontier.append(leaf)
            transaction.record(fact_of(seal_of(frontier), 0))

        database.write_sync(record)
    return database


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(gaps=st.lists(st.sampled_from([1, 2, 3, 63, 64, 65, 130, 300]), min_size=1, max_size=9), data=st.data())
def test_proofs_are_those_of_the_definition(
    tmp_path_factory: pytest.TempPathFactory, gaps: list[int], data: st.DataObject
) -> None:
    database = grown(tmp_path_factory.mktemp("books") / "books.sqlite3", gaps)

    def look(reader: BooksReader) -> None:
        leaves = list(reader.leaves())
        head = newest_head(reader)
        assert head is not None

        def root_of(first: int, last: int) -> bytes:
            return tree_root(leaves[first:last])

        for _ in range(5):
            seq = data.draw(st.integers(1, head.size))
            assert Prover(reader, head).inclusion(seq) == inclusion_proof(seq - 1, head.size, root_of)
        sizes = [fact.seq - 1 for fact in reader.facts(kind="journal.sealed")]
        for size in sizes:
            proof = Prover(reader, head).consistency(head_at(reader, size))
            assert proof == consistency_proof(size, head.size, root_of)

    database.read_sync(look)
    database.close()


def test_what_is_not_sealed_has_no_proof(tmp_path: Path) -> None:
    database = grown(tmp_path / "books.sqlite3", [5])

    def look(reader: BooksReader) -> None:
        head = newest_head(reader)
        assert head is not None
        with pytest.raises(Refused, match="not sealed"):
            Prover(reader, head).inclusion(head.size + 1)
        with pytest.raises(Refused, match="no checkpoint"):
            head_at(reader, 3)

    database.read_sync(look)
    database.close()


def test_an_altered_leaf_ends_in_no_proof(tmp_path: Path) -> None:
    database = grown(tmp_path / "books.sqlite3", [5, 70, 9])
    database.close()
    import sqlite3

    with sqlite3.connect(tmp_path / "books.sqlite3") as raw:
        raw.execute("DROP TRIGGER facts_unchanged")
        raw.execute("UPDATE facts SET leaf = zeroblob(32) WHERE seq = 20")
    database = Database.open(tmp_path / "books.sqlite3", VirtualClock(0), is_durable=False)

    def look(reader: BooksReader) -> None:
        assert not verify_journal(reader).intact
        head = newest_head(reader)
        assert head is not None
        with pytest.raises(Broken, match="must be verified"):
            Prover(reader, head).inclusion(22)

    database.read_sync(look)
    database.close()
