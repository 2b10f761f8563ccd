"""Is every alteration of the journal found, and named as narrowly as it can be?

The attacker writes to the file with SQLite itself, drops the triggers and puts them back.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from books_file import reader_of
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.reader import BooksReader, ReadPool
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.canonical import canonical_bytes, leaf_hash
from earnest.foundation.facts import Fact
from earnest.journal.heads import SEALED, Head, fact_of, seal_in, seal_of
from earnest.journal.merkle import Frontier
from earnest.journal.service import Sealer
from earnest.journal.verify import JournalFinding, JournalReport, What, verify_journal

Attack = Callable[[sqlite3.Connection], None]

# Facts 1-4, head 5, facts 6-9, head 10, facts 11-14, head 15, facts 16-17 unsealed.
HEADS = (5, 10, 15)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "books.sqlite"


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def database(path: Path, clock: VirtualClock) -> Iterator[Database]:
    with closing(Database.open(path, clock)) as opened:
        yield opened


@pytest.fixture
async def heads(path: Path, clock: VirtualClock) -> list[Head]:
    """A closed journal as above, and its heads as somebody else noted them."""
    noted: list[Head] = []
    with closing(Database.open(path, clock)) as database:
        sealer = Sealer(database, clock, noted.append)
        for _ in HEADS:
            await database.write(_record(4))
            await sealer.seal()
        await database.write(_record(2))
    return noted


def _record(count: int) -> Callable[[Transaction], None]:
    def write(transaction: Transaction) -> None:
        for number in range(count):
            transaction.record(Fact(kind="test.paid", subject="s", at_ms=1_000 + number, body={"micro": number}))

    return write


def attack(path: Path, *steps: Attack | str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        guards = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in guards:
            connection.execute(f"DROP TRIGGER {name}")
        for step in steps:
            if isinstance(step, str):
                connection.execute(step)
            else:
                step(connection)
        for _, sql in guards:
            connection.execute(sql)
        connection.commit()


def verify(path: Path, heads: Iterable[Head] = ()) -> JournalReport:
    with closing(Database.open_reader(path)) as books:
        return books.read_sync(lambda reader: verify_journal(reader, heads))


def named(report: JournalReport) -> list[tuple[What, int, int]]:
    return [(finding.what, finding.first_seq, finding.last_seq) for finding in report.findings]


def rewrite_leaves(connection: sqlite3.Connection) -> None:
    """Give every fact the leaf that its present content has."""
    for row in connection.execute("SELECT seq, at_ms, kind, subject, body FROM facts").fetchall():
        connection.execute("UPDATE facts SET leaf = ? WHERE seq = ?", (leaf_hash(*row), row[0]))


def rewrite_heads(connection: sqlite3.Connection) -> None:
    """Make the whole journal consistent again, heads included."""
    rewrite_leaves(connection)
    tree = Frontier()
    for seq, at_ms, kind, subject, body in connection.execute(
        "SELECT seq, at_ms, kind, subject, body FROM facts ORDER BY seq"
    ).fetchall():
        if kind == SEALED:
            body = canonical_bytes(fact_of(seal_of(tree), at_ms).body)  # noqa: PLW2901
        leaf = leaf_hash(seq, at_ms, kind, subject, body)
        connection.execute("UPDATE facts SET body = ?, leaf = ? WHERE seq = ?", (body, leaf, seq))
        tree.append(leaf)


def renumber(connection: sqlite3.Connection, after: int, by: int) -> None:
    connection.execute("UPDATE facts SET seq = -seq WHERE seq > ?", (after,))
    connection.execute("UPDATE facts SET seq = -seq + ? WHERE seq < 0", (by,))


def insert(connection: sqlite3.Connection, seq: int) -> None:
    row = (seq, 1, "test.paid", "s", b'{"micro":1000000}')
    connection.execute("INSERT INTO facts VALUES (?, ?, ?, ?, ?, ?)", (*row, leaf_hash(*row)))


CHANGE = "UPDATE facts SET body = '{\"micro\":9}' WHERE seq = 7".replace("'{", "CAST('{").replace("}'", "}' AS BLOB)")


def test_an_untouched_journal_is_intact_and_says_how_much_is_unsealed(path: Path, heads: list[Head]) -> None:
    report = verify(path, heads)
    assert report.last_head == heads[-1]
    assert report == JournalReport(
        facts=17,
        last_seq=17,
        heads=3,
        last_seal=report.last_seal,
        heads_from_elsewhere=3,
        unsealed=2,
        redacted=0,
        findings=(),
        findings_left_out=0,
    )
    assert report.intact


def test_an_empty_journal_is_intact(database: Database) -> None:
    report = database.read_sync(verify_journal)
    assert report.intact
    assert (report.facts, report.heads, report.last_head, report.unsealed) == (0, 0, None, 0)


@pytest.mark.parametrize(
    "sql",
    [
        CHANGE,
        "UPDATE facts SET at_ms = 5 WHERE seq = 7",
        "UPDATE facts SET kind = 'test.owed' WHERE seq = 7",
        "UPDATE facts SET subject = 'somebody else' WHERE seq = 7",
        "UPDATE facts SET subject = CAST(x'ff' AS TEXT) WHERE seq = 7",
    ],
)
def test_a_changed_fact_is_named(path: Path, heads: list[Head], sql: str) -> None:
    attack(path, sql)
    assert named(verify(path, heads)) == [(What.CHANGED, 7, 7)]


def test_a_changed_unsealed_fact_is_named(path: Path, heads: list[Head]) -> None:
    attack(path, "UPDATE facts SET at_ms = 5 WHERE seq >= 16")
    assert named(verify(path, heads)) == [(What.CHANGED, 16, 17)]


def test_a_changed_leaf_is_named_and_its_range_does_not_fit(path: Path, heads: list[Head]) -> None:
    attack(path, "UPDATE facts SET leaf = zeroblob(32) WHERE seq = 7")
    assert named(verify(path)) == [(What.UNFIT, 5, 9), (What.CHANGED, 7, 7)]


def test_a_fact_changed_with_its_leaf_is_in_the_one_range_that_does_not_fit(path: Path, heads: list[Head]) -> None:
    attack(path, CHANGE, rewrite_leaves)
    assert named(verify(path)) == [(What.UNFIT, 5, 9)]
    assert named(verify(path, heads)) == [(What.CONTRADICTED, 5, 9), (What.UNFIT, 5, 9)]


def test_every_altered_range_is_named_and_no_other(path: Path, heads: list[Head]) -> None:
    attack(path, "UPDATE facts SET at_ms = 5 WHERE seq IN (2, 12)", rewrite_leaves)
    assert named(verify(path)) == [(What.UNFIT, 1, 4), (What.UNFIT, 10, 14)]


def test_heads_from_elsewhere_find_a_journal_that_was_rewritten_whole(path: Path, heads: list[Head]) -> None:
    attack(path, CHANGE, rewrite_heads)
    assert verify(path).intact
    report = verify(path, heads)
    assert named(report) == [(What.CONTRADICTED, 5, 9)]
    assert report.last_head != heads[-1]


def test_a_missing_fact_is_named(path: Path, heads: list[Head]) -> None:
    attack(path, "DELETE FROM facts WHERE seq IN (7, 8)")
    assert named(verify(path)) == [(What.UNFIT, 5, 9), (What.MISSING, 7, 8)]


def test_a_missing_head_leaves_a_gap_and_the_next_one_does_not_fit(path: Path, heads: list[Head]) -> None:
    attack(path, "DELETE FROM facts WHERE seq = 10")
    report = verify(path)
    assert named(report) == [(What.UNFIT, 5, 14), (What.MISSING, 10, 10)]
    assert report.heads == 2


@pytest.mark.parametrize(("one", "other"), [(2, 3), (1, 13)])
def test_facts_that_changed_places_are_named(path: Path, heads: list[Head], one: int, other: int) -> None:
    attack(
        path,
        f"UPDATE facts SET seq = -1 WHERE seq = {one}",
        f"UPDATE facts SET seq = {one} WHERE seq = {other}",
        f"UPDATE facts SET seq = {other} WHERE seq = -1",
    )
    found = named(verify(path))
    assert [finding for finding in found if finding[0] != What.UNFIT] == [
        (What.MOVED, one, one),
        (What.MOVED, other, other),
    ]
    assert found[0][:1] == (What.UNFIT,)


def test_a_removed_fact_is_found_though_the_rest_was_renumbered(path: Path, heads: list[Head]) -> None:
    attack(path, "DELETE FROM facts WHERE seq = 7", lambda connection: renumber(connection, 7, -1))
    found = named(verify(path))
    assert (What.MISSING, 5, 8) in found
    assert (What.MOVED, 7, 16) in found
    assert (What.UNFIT, 5, 8) in found
    assert len(found) == 3


def test_a_removed_fact_is_found_though_the_rest_was_renumbered_with_new_leaves(path: Path, heads: list[Head]) -> None:
    attack(path, "DELETE FROM facts WHERE seq = 7", lambda connection: renumber(connection, 7, -1), rewrite_leaves)
    assert (What.MISSING, 5, 8) in named(verify(path))


def test_an_inserted_fact_is_found_though_the_rest_was_renumbered(path: Path, heads: list[Head]) -> None:
    attack(path, lambda connection: renumber(connection, 6, 1), lambda connection: insert(connection, 7))
    found = named(verify(path))
    assert (What.INSERTED, 5, 10) in found
    assert (What.MOVED, 8, 18) in found
    assert (What.UNFIT, 5, 10) in found
    assert len(found) == 3


def test_a_fact_before_the_first_is_inserted(path: Path, heads: list[Head]) -> None:
    attack(path, lambda connection: insert(connection, 0), lambda connection: insert(connection, -7))
    assert named(verify(path)) == [(What.INSERTED, -7, -7), (What.INSERTED, 0, 0)]


def test_a_fact_far_behind_the_last_leaves_a_gap(path: Path, heads: list[Head]) -> None:
    attack(path, lambda connection: insert(connection, 2**62))
    assert named(verify(path)) == [(What.MISSING, 18, 2**62 - 1)]


def test_an_end_cut_off_is_found_by_heads_from_elsewhere(path: Path, heads: list[Head]) -> None:
    attack(path, "DELETE FROM facts WHERE seq > 9")
    assert verify(path).intact
    report = verify(path, heads)
    assert named(report) == [(What.CUT_OFF, 10, 14)]
    assert report.unsealed == 4


def test_a_head_with_another_root_is_false_and_so_is_its_range_later(path: Path, heads: list[Head]) -> None:
    def other_root(connection: sqlite3.Connection) -> None:
        (body,) = connection.execute("SELECT body FROM facts WHERE seq = 10").fetchone()
        connection.execute(
            "UPDATE facts SET body = ? WHERE seq = 10", (body.replace(heads[1].root.hex().encode(), b"00" * 32),)
        )

    attack(path, other_root)
    assert named(verify(path)) == [(What.CHANGED, 10, 10)]
    attack(path, rewrite_leaves)
    assert named(verify(path)) == [(What.UNFIT, 5, 14), (What.FALSE_HEAD, 10, 10)]


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b"nothing", b"[]", b'{"size":5}', b'{"size":9,"root":"zz","subtrees":[1]}']
)
def test_a_head_of_nonsense_is_false(path: Path, heads: list[Head], body: bytes) -> None:
    def nonsense(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE facts SET body = ? WHERE seq = 10", (body,))

    attack(path, nonsense, rewrite_leaves)
    assert (What.FALSE_HEAD, 10, 10) in named(verify(path))


def test_a_head_from_elsewhere_that_fits_nothing_is_named_once(path: Path, heads: list[Head]) -> None:
    false = [Head(size=size, root=b"\x00" * 32) for size in (-1, 0, 3, 4, 5)]
    assert named(verify(path, false)) == [(What.CONTRADICTED, 1, -1)]
    assert named(verify(path, [*heads, Head(size=12, root=b"\x00" * 32)])) == [(What.CONTRADICTED, 10, 12)]


def test_a_dropped_guard_is_damage(path: Path, heads: list[Head]) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TRIGGER facts_unchanged")
    (finding,) = verify(path).findings
    assert finding == JournalFinding(
        what=What.DAMAGED, first_seq=0, last_seq=0, detail="facts_unchanged is missing or was altered"
    )


def test_a_table_without_its_rules_is_damage_and_is_still_read(path: Path, heads: list[Head]) -> None:
    attack(
        path,
        "ALTER TABLE facts RENAME TO kept",
        "CREATE TABLE facts AS SELECT * FROM kept",
        "UPDATE facts SET leaf = NULL, at_ms = 'soon', body = 7 WHERE seq = 7",
        "DROP TABLE kept",
    )
    found = named(verify(path))
    assert (What.DAMAGED, 0, 0) in found
    assert (What.CHANGED, 7, 7) in found


def test_a_file_that_cannot_be_read_on_is_damage(path: Path, heads: list[Head], database: Database) -> None:
    def read(reader: BooksReader) -> JournalReport:
        reader_of(reader).set_authorizer(lambda action, table, *_: sqlite3.SQLITE_DENY if table == "facts" else 0)
        try:
            return verify_journal(reader)
        finally:
            reader_of(reader).set_authorizer(None)

    report = database.read_sync(read)
    assert What.DAMAGED in [finding.what for finding in report.findings]


def test_findings_have_a_limit_and_the_rest_is_counted(path: Path, heads: list[Head]) -> None:
    def scatter(connection: sqlite3.Connection) -> None:
        for number in range(1_200):
            insert(connection, 100 + 2 * number)

    attack(path, scatter)
    report = verify(path)
    assert (len(report.findings), report.findings_left_out) == (1_000, 200)
    assert report.facts == 1_217


def test_a_seal_survives_being_a_fact(path: Path, heads: list[Head]) -> None:
    with closing(Database.open_reader(path)) as books:
        bodies = books.read_sync(lambda reader: [fact.body for fact in reader.facts(kind=SEALED)])
    assert [seal_in(body).head for body in bodies] == heads


def test_going_on_from_a_head_reads_what_came_after_it_and_finds_what_is_wrong_there(
    path: Path, heads: list[Head]
) -> None:
    whole = verify(path, heads)
    assert whole.last_seal is not None
    attack(path, "UPDATE facts SET at_ms = 5 WHERE seq IN (2, 16)")
    pool = ReadPool.open_reader(path)
    with closing(pool):
        report = pool.read_sync(lambda reader: verify_journal(reader, heads, whole.last_seal))
    assert named(report) == [(What.CHANGED, 16, 16)]
    assert (report.facts, report.heads, report.unsealed) == (17 - heads[-1].size, 1, 2)


def test_a_head_to_go_on_from_that_is_not_the_journals_own_does_not_fit(path: Path, heads: list[Head]) -> None:
    leaves = [bytes([number]) * 32 for number in range(heads[-1].size)]
    forged = Frontier()
    for leaf in leaves:
        forged.append(leaf)
    pool = ReadPool.open_reader(path)
    with closing(pool):
        report = pool.read_sync(lambda reader: verify_journal(reader, heads, seal_of(forged)))
    assert {finding.what for finding in report.findings} == {What.CONTRADICTED, What.UNFIT}
