"""Does every index and sum follow its Megram through any history of writes, recalls and deletions?"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from megrams import START_MS, TAG, directly, instants, megram, megrams

from earnest.effects.ground.kv.api import StoreChange
from earnest.effects.ground.kv.lmdb import LmdbKeyValue
from earnest.foundation.errors import Broken, Refused
from earnest.foundation.instants import DAY_MS
from earnest.memory import keys, store
from earnest.memory.megram import INSTANT_MS_MAX, Level, Megram, MegramState
from earnest.memory.potential import live_attention

Step = tuple[str, Megram, int]


@pytest.fixture(scope="module")
def kv(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LmdbKeyValue]:
    kv = LmdbKeyValue(tmp_path_factory.mktemp("memory"))
    yield kv
    kv.close()


class _UndoneError(Exception):
    """Raised at the end of a transaction, so that examples do not see each other and no disk is waited for."""


def undone(kv: LmdbKeyValue, change: Callable[[StoreChange], None]) -> None:
    def run(tx: StoreChange) -> None:
        change(tx)
        raise _UndoneError

    with pytest.raises(_UndoneError):
        kv.write(run)


def steps() -> st.SearchStrategy[list[Step]]:
    return st.lists(st.tuples(st.sampled_from(["put", "put", "recall", "delete"]), megrams(), instants()), max_size=60)


def followed(history: list[Step]) -> dict[str, Megram]:
    """A model of memory: a dictionary."""
    remembered: dict[str, Megram] = {}
    for what, one, at_ms in history:
        known = remembered.get(one.id)
        if what == "put":
            remembered.setdefault(one.id, one)
        elif what == "delete":
            remembered.pop(one.id, None)
        elif known and at_ms > known.renewed_at_ms:
            remembered[one.id] = replace(known, last_recalled_at_ms=at_ms)
    return remembered


def apply(tx: StoreChange, history: list[Step]) -> None:
    for what, one, at_ms in history:
        if what == "put":
            store.put(tx, one)
        elif what == "delete":
            store.delete(tx, one.id)
        else:
            store.recall(tx, one.id, at_ms)


@pytest.mark.slow
@settings(deadline=None)
@given(steps(), instants())
def test_any_history_gives_what_summing_over_all_gives(kv: LmdbKeyValue, history: list[Step], now_ms: int) -> None:
    def check(tx: StoreChange) -> None:
        apply(tx, history)
        remembered = followed(history)
        assert {one.id: one for one in store.entries(tx, limit=1_000)} == remembered
        answer = store.query_mk(tx, TAG.space, TAG.entity, now_ms)
        expected = directly(remembered.values(), now_ms)
        assert (answer.attention, answer.decision) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        counts = store.counts(tx)
        assert counts == {level: sum(one.level is level for one in remembered.values()) for level in Level}

    undone(kv, check)


@pytest.mark.slow
@settings(deadline=None)
@given(steps())
def test_nothing_is_left_of_what_was_forgotten(kv: LmdbKeyValue, history: list[Step]) -> None:
    def check(tx: StoreChange) -> None:
        apply(tx, history)
        for megram_id in followed(history):
            assert store.delete(tx, megram_id)
        assert [key for key, _ in tx.scan(b"") if not key.startswith(b"n|")] == []
        assert set(store.counts(tx).values()) == {0}

    undone(kv, check)


@pytest.mark.slow
@settings(deadline=None)
@given(steps(), instants(), st.integers(1, 5))
def test_forgetting_by_index_is_forgetting_by_scan(
    kv: LmdbKeyValue, history: list[Step], now_ms: int, limit: int
) -> None:
    def check(tx: StoreChange) -> None:
        apply(tx, history)
        remembered = followed(history)
        forgotten: set[str] = set()
        while batch := store.delete_expired(tx, now_ms, limit):
            assert len(batch) <= limit
            forgotten.update(one.id for one in batch)
        expected = {one.id for one in remembered.values() if live_attention(one, now_ms) < min(0.1, one.f / 2)}
        assert forgotten == expected
        assert {one.id for one in store.entries(tx, limit=1_000)} == set(remembered) - expected

    undone(kv, check)


def test_writing_the_same_id_twice_changes_nothing(kv: LmdbKeyValue) -> None:
    def check(tx: StoreChange) -> None:
        assert store.put(tx, megram())
        rows = list(tx.scan(b""))
        assert not store.put(tx, megram(state=MegramState.ACCEPT))
        assert list(tx.scan(b"")) == rows

    undone(kv, check)


def test_the_seeds_keys_are_there(kv: LmdbKeyValue) -> None:
    def check(tx: StoreChange) -> None:
        store.put(tx, replace(megram("a|b"), last_recalled_at_ms=START_MS + 1))
        written = {key for key, _ in tx.scan(b"")}
        assert {
            b"m|a%7Cb",
            b"x|intent:python_inventory|env:local|a%7Cb",
            b"l|M|a%7Cb",
            b"r|a%7Cb",
        } <= written
        assert tx.get(b"r|a%7Cb") == b"2025-06-15T15:06:40.001Z"

    undone(kv, check)


def test_an_age_is_renewed_by_a_recall_and_never_made_older(kv: LmdbKeyValue) -> None:
    def check(tx: StoreChange) -> None:
        store.put(tx, megram())
        assert store.recall(tx, "run/1", START_MS + 30 * DAY_MS)
        assert not store.recall(tx, "run/1", START_MS + 10 * DAY_MS)
        assert not store.recall(tx, "unknown", START_MS)
        answer = store.query_mk(tx, TAG.space, TAG.entity, START_MS + 30 * DAY_MS)
        assert answer.attention == pytest.approx(0.95)
        assert store.delete_expired(tx, START_MS + 60 * DAY_MS, 10) == ()
        assert store.recall(tx, "run/1", 2 * INSTANT_MS_MAX)

    undone(kv, check)


def test_with_a_clock_set_back_a_memory_is_new_and_no_stronger(kv: LmdbKeyValue) -> None:
    def check(tx: StoreChange) -> None:
        for number in range(3):
            store.put(tx, megram(f"m{number}", MegramState.REFINE))
        store.recall(tx, "m0", START_MS + DAY_MS)
        answer = store.query_mk(tx, TAG.space, TAG.entity, START_MS - 365 * DAY_MS)
        assert answer.attention == pytest.approx(0.3)

    undone(kv, check)


def test_common_sense_does_not_count_as_an_event(kv: LmdbKeyValue) -> None:
    def check(tx: StoreChange) -> None:
        store.put(tx, replace(megram(), level=Level.C, k=0.0))
        assert store.query_mk(tx, TAG.space, TAG.entity, START_MS).attention == 0
        assert store.recent(tx, TAG.space, TAG.entity, 10) == ()
        assert store.recall(tx, "run/1", START_MS + 1)
        assert store.query_mk(tx, TAG.space, TAG.entity, START_MS).attention == 0
        assert store.delete_expired(tx, INSTANT_MS_MAX, 10) == ()

    undone(kv, check)


def test_recent_contents_are_the_newest_by_creation_whatever_was_recalled(kv: LmdbKeyValue) -> None:
    def check(tx: StoreChange) -> None:
        for number in (3, 1, 4, 0, 2):
            store.put(tx, megram(f"m{number}", at_ms=START_MS + number))
        store.recall(tx, "m0", START_MS + 100)
        assert [one.id for one in store.recent(tx, TAG.space, TAG.entity, 3)] == ["m4", "m3", "m2"]
        assert store.recent(tx, TAG.space, "env:other", 3) == ()

    undone(kv, check)


@pytest.mark.parametrize(
    "question",
    [
        {},
        {"level": Level.K},
        {"space": TAG.space},
        {"space": TAG.space, "entity": TAG.entity},
        {"space": TAG.space, "entity": TAG.entity, "level": Level.M},
    ],
)
@pytest.mark.parametrize("gone", [False, True])
def test_pages_join_to_the_whole_even_if_their_last_entry_is_gone(
    kv: LmdbKeyValue, question: dict[str, Any], gone: bool
) -> None:
    def check(tx: StoreChange) -> None:
        for number in range(25):
            level = Level.K if number % 3 else Level.M
            entity = TAG.entity if number % 2 else "env:|other"
            one = megram(f"{'|' * (number % 4)}{'x' * 50 * (number % 4)}{number}", level=level)
            store.put(tx, replace(one, entity=entity))
        whole = store.entries(tx, limit=1_000, **question)
        pages: list[Megram] = []
        while page := store.entries(tx, after=pages[-1] if pages else None, limit=4, **question):
            pages.extend(page)
            if gone:
                store.delete(tx, page[-1].id)
        assert tuple(pages) == whole
        for name, value in question.items():
            assert {getattr(one, name) for one in whole} == {value}

    undone(kv, check)


def test_the_mark_only_moves_forward(kv: LmdbKeyValue) -> None:
    def check(tx: StoreChange) -> None:
        assert store.applied_seq(tx) == 0
        for fact_seq in (7, 3, 9, -1):
            store.set_applied_seq(tx, fact_seq)
        assert store.applied_seq(tx) == 9

    undone(kv, check)


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"id": "run/1"}', b'{"id": 1, "f": "much"}', b"\xff"])
def test_a_damaged_record_is_broken(kv: LmdbKeyValue, data: bytes) -> None:
    def check(tx: StoreChange) -> None:
        store.put(tx, megram())
        tx.put(keys.of(keys.RECORDS, "run/1"), data)
        with pytest.raises(Broken):
            store.get(tx, "run/1")

    undone(kv, check)


def test_the_memory_of_another_version_is_refused(kv: LmdbKeyValue) -> None:
    def check(tx: StoreChange) -> None:
        store.ensure_format(tx)
        store.ensure_format(tx)
        tx.put(keys.FORMAT, b"megrams-0")
        with pytest.raises(Refused) as refusal:
            store.ensure_format(tx)
        assert refusal.value.code == "memory_format"

    undone(kv, check)


def test_a_damaged_row_of_an_index_is_passed_over(kv: LmdbKeyValue) -> None:
    def check(tx: StoreChange) -> None:
        one = megram()
        store.put(tx, one)
        tx.put(keys.of(keys.LEVELLED, one.level, "another"), b"\xff")
        assert store.entries(tx, level=one.level, limit=9) == (one,)

    undone(kv, check)
