"""What every ordered key-value store must do: subclass `KeyValueConformance`, say how to open one, and run pytest."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from earnest.effects.ground.kv.api import KEY_BYTES_MAX, KeyValue, StoreChange, StoreView
from earnest.foundation.errors import Broken, Unavailable

Rows = list[tuple[bytes, bytes]]


class KeyValueConformance:
    """The suite. Its name keeps pytest from collecting it; a subclass is named `Test…`."""

    def opened(self, path: Path) -> KeyValue:
        """A store that keeps its data in the folder `path`, or elsewhere under its name, where one may be already."""
        raise NotImplementedError

    @pytest.fixture
    def kv(self, tmp_path: Path) -> Iterator[KeyValue]:
        """An empty store."""
        kv = self.opened(tmp_path / "kv")
        yield kv
        kv.close()

    def test_what_was_put_is_read(self, kv: KeyValue) -> None:
        """Any bytes are a key and a value, the empty value included."""
        rows = {b"a": b"1", b"\x00": b"", b"\xff\xff": b"\x00|%", b"a|b": b"x" * 100_000}
        _put_all(kv, rows)
        assert {key: _get(kv, key) for key in rows} == rows
        assert _get(kv, b"missing") is None
        assert len(_rows(kv)) == len(rows)

    def test_a_put_replaces(self, kv: KeyValue) -> None:
        """One value a key."""
        _put_all(kv, {b"a": b"1"})
        _put_all(kv, {b"a": b"2"})
        assert _rows(kv) == [(b"a", b"2")]

    def test_a_delete_leaves_nothing_and_may_come_again(self, kv: KeyValue) -> None:
        """Whether or not the key is there."""
        _put_all(kv, {b"a": b"1"})

        def change(tx: StoreChange) -> bytes | None:
            tx.delete(b"a")
            tx.delete(b"a")
            return tx.get(b"a")

        assert kv.write(change) is None
        assert _rows(kv) == []

    def test_a_scan_is_in_byte_order_and_keeps_to_its_prefix(self, kv: KeyValue) -> None:
        """Bytes are compared unsigned; a prefix of 0xff has an end too."""
        keys = [b"a", b"a|", b"a|\x00", b"a|b", b"a|\xff", b"a|\xff\xff", b"a}", b"b", b"\xff", b"\xff\xff"]
        _put_all(kv, dict.fromkeys(reversed(keys), b""))
        assert _keys(kv, b"") == keys
        assert _keys(kv, b"a|") == keys[1:6]
        assert _keys(kv, b"a|\xff") == keys[4:6]
        assert _keys(kv, b"\xff") == keys[8:]
        assert _keys(kv, b"c") == []

    def test_a_reverse_scan_gives_the_same_rows_backwards(self, kv: KeyValue) -> None:
        """With or without a start, at every edge."""
        keys = [b"a", b"a|", b"a|b", b"a|\xff\xff", b"b", b"\xff\xff"]
        _put_all(kv, dict.fromkeys(keys, b""))
        for prefix in (b"", b"a", b"a|", b"a|\xff", b"b", b"c", b"\xff", b"\xff\xff\xff"):
            for start in (b"", b"a", b"a|b", b"a|c", b"\xff"):
                assert _keys(kv, prefix, start, reverse=True) == _keys(kv, prefix, start)[::-1]

    def test_a_scan_starts_where_it_is_told(self, kv: KeyValue) -> None:
        """The start is included; one outside the prefix changes nothing or leaves nothing."""
        _put_all(kv, dict.fromkeys([b"a1", b"a2", b"a3", b"b1"], b""))
        assert _keys(kv, b"a", b"a2") == [b"a2", b"a3"]
        assert _keys(kv, b"a", b"a21") == [b"a3"]
        assert _keys(kv, b"a", b"0") == [b"a1", b"a2", b"a3"]
        assert _keys(kv, b"a", b"b") == []

    def test_an_empty_store_has_no_rows(self, kv: KeyValue) -> None:
        """In neither direction."""
        assert _keys(kv, b"") == _keys(kv, b"", reverse=True) == []

    def test_a_change_that_raises_keeps_nothing(self, kv: KeyValue) -> None:
        """Not even what it wrote before."""
        _put_all(kv, {b"a": b"1"})

        def fail(tx: StoreChange) -> None:
            tx.put(b"a", b"2")
            tx.put(b"b", b"2")
            raise _StopError

        with pytest.raises(_StopError):
            kv.write(fail)
        assert _rows(kv) == [(b"a", b"1")]

    def test_a_change_sees_its_own_writes(self, kv: KeyValue) -> None:
        """In a scan as well."""

        def change(tx: StoreChange) -> Rows:
            tx.put(b"a", b"1")
            tx.put(b"b", b"2")
            tx.delete(b"a")
            return list(tx.scan(b""))

        assert kv.write(change) == [(b"b", b"2")]

    def test_a_reader_does_not_see_what_is_not_kept_yet(self, kv: KeyValue) -> None:
        """Reading goes on beside a write, without waiting for it."""
        _put_all(kv, {b"a": b"1"})
        written, seen = threading.Event(), threading.Event()

        def change(tx: StoreChange) -> None:
            tx.put(b"a", b"2")
            written.set()
            assert seen.wait(30)

        writer = threading.Thread(target=kv.write, args=(change,))
        writer.start()
        assert written.wait(30)
        before = _get(kv, b"a")
        seen.set()
        writer.join(30)
        assert (before, _get(kv, b"a")) == (b"1", b"2")

    def test_a_view_does_not_change_while_it_is_read(self, kv: KeyValue) -> None:
        """Even if a write is kept in the meantime."""
        _put_all(kv, {b"a": b"1"})

        def look(tx: StoreView) -> tuple[bytes | None, bytes | None]:
            before = tx.get(b"a")
            writer = threading.Thread(target=_put_all, args=(kv, {b"a": b"2"}))
            writer.start()
            writer.join(30)
            return before, tx.get(b"a")

        assert kv.read(look) == (b"1", b"1")
        assert _get(kv, b"a") == b"2"

    def test_parallel_writes_are_all_kept(self, kv: KeyValue) -> None:
        """They run one after another."""

        def add_one(tx: StoreChange) -> None:
            tx.put(b"n", b"%d" % (int(tx.get(b"n") or b"0") + 1))

        threads = [threading.Thread(target=lambda: [kv.write(add_one) for _ in range(5)]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert _get(kv, b"n") == b"40"

    @pytest.mark.parametrize("length", [0, KEY_BYTES_MAX + 1])
    def test_a_key_out_of_bounds_is_broken(self, kv: KeyValue, length: int) -> None:
        """It is ours, so it is our fault; the store goes on."""
        with pytest.raises(Broken):
            kv.write(lambda tx: tx.put(b"k" * length, b""))
        _put_all(kv, {b"k" * KEY_BYTES_MAX: b""})
        assert len(_rows(kv)) == 1

    def test_a_closed_store_is_unavailable(self, kv: KeyValue) -> None:
        """However often it is closed."""
        kv.close()
        kv.close()
        with pytest.raises(Unavailable):
            kv.read(lambda tx: tx.get(b"a"))
        with pytest.raises(Unavailable):
            kv.write(lambda tx: tx.delete(b"a"))

    def test_closing_waits_for_the_write_that_is_going_on(self, tmp_path: Path) -> None:
        """Which is kept."""
        kv = self.opened(tmp_path / "kv")
        begun, proceed = threading.Event(), threading.Event()

        def change(tx: StoreChange) -> None:
            begun.set()
            assert proceed.wait(30)
            tx.put(b"a", b"1")

        writer = threading.Thread(target=kv.write, args=(change,))
        closer = threading.Thread(target=kv.close)
        writer.start()
        assert begun.wait(30)
        closer.start()
        proceed.set()
        writer.join(30)
        closer.join(30)
        again = self.opened(tmp_path / "kv")
        kept = _rows(again)
        again.close()
        assert kept == [(b"a", b"1")]

    def test_a_store_keeps_what_it_holds_when_it_is_opened_again(self, tmp_path: Path) -> None:
        """That is what it is for."""
        rows = {b"a": b"1", b"b": b"2"}
        first = self.opened(tmp_path / "kv")
        _put_all(first, rows)
        first.close()
        second = self.opened(tmp_path / "kv")
        kept = _rows(second)
        second.close()
        assert dict(kept) == rows

    def test_many_megabytes_fit(self, kv: KeyValue) -> None:
        """In one transaction, whatever the store was opened with."""
        _put_all(kv, {b"%03d" % number: b"x" * 1_000_000 for number in range(40)})
        assert len(_rows(kv)) == 40


class _StopError(Exception):
    """Raised by a change."""


def _put_all(kv: KeyValue, rows: dict[bytes, bytes]) -> None:
    def change(tx: StoreChange) -> None:
        for key, value in rows.items():
            tx.put(key, value)

    kv.write(change)


def _get(kv: KeyValue, key: bytes) -> bytes | None:
    return kv.read(lambda tx: tx.get(key))


def _rows(kv: KeyValue) -> Rows:
    return kv.read(lambda tx: list(tx.scan(b"")))


def _keys(kv: KeyValue, prefix: bytes, start: bytes = b"", *, reverse: bool = False) -> list[bytes]:
    return kv.read(lambda tx: [key for key, _ in tx.scan(prefix, start=start, reverse=reverse)])
