"""Does an agent's book keep each row once, whatever is cut off and whoever else adds to it?"""

from pathlib import Path

from earnest.agents import book as book_file
from earnest.agents.book import FILE_NAME, JsonLinesBook


def test_a_row_is_kept_once_and_found_after_a_restart(tmp_path: Path) -> None:
    book = JsonLinesBook(tmp_path)
    assert book.add("outcome", "a/1", text="good")
    assert not book.add("outcome", "a/1", text="another")
    assert book.add("outcome", "a/2", text="bad")
    again = JsonLinesBook(tmp_path)
    assert [row["text"] for row in again.rows("outcome")] == ["bad", "good"]
    assert (tmp_path / FILE_NAME).stat().st_mode & 0o077 == 0


def test_a_line_that_was_cut_off_costs_nothing_else(tmp_path: Path) -> None:
    JsonLinesBook(tmp_path).add("outcome", "a/1", text="good")
    with (tmp_path / FILE_NAME).open("a") as file:
        file.write('{"kind": "outcome", "key": "a/2", "te')
    book = JsonLinesBook(tmp_path)
    assert book.add("outcome", "a/3", text="later")
    assert [row["key"] for row in JsonLinesBook(tmp_path).rows("outcome")] == ["a/3", "a/1"]
    assert [row["key"] for row in book.rows("outcome")] == ["a/3", "a/1"]


def test_what_another_process_adds_is_seen(tmp_path: Path) -> None:
    book, other = JsonLinesBook(tmp_path), JsonLinesBook(tmp_path)
    other.add("answer", "a/q1", about="q1", text="approve")
    assert book.get("a/q1") is None
    book.refresh()
    assert book.get("a/q1") is not None


def test_a_long_book_keeps_its_newer_half(tmp_path: Path, monkeypatch: object) -> None:
    (tmp_path / FILE_NAME).write_text(
        "".join(f'{{"kind": "x", "key": "{n}"}}\n' for n in range(book_file.ROWS_MAX + 1))
    )
    book = JsonLinesBook(tmp_path)
    kept = [row["key"] for row in book.rows("x")]
    assert len(kept) == book_file.ROWS_MAX // 2
    assert kept[0] == str(book_file.ROWS_MAX)
    assert book.add("x", "one more")
    assert len(list(JsonLinesBook(tmp_path).rows("x"))) == len(kept) + 1
