"""Do `json_list` and `md_table` look at every item, row and cell, and at nothing that a reader does not see?"""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from earnest.foundation.canonical import JsonObject
from earnest.testing.check_conformance import CheckCase, CheckConformance, judged
from earnest.verification.checks.checklist import CHECK as CHECKLIST
from earnest.verification.checks.json_list import CHECK as JSON_LIST
from earnest.verification.checks.md_table import CHECK as MD_TABLE
from earnest.verification.markdown import sections, tables, visible_lines
from earnest.verification.plugin import Check
from earnest.verification.verdict import Answer

SOURCES: list[dict[str, Any]] = [
    {"title": "A tale", "year": 1999, "url": "https://a.example/x", "source": "a.txt", "quote": "once  upon a time"},
    {"title": "Ein Märchen", "year": 2001, "url": "https://b.example/", "source": "https://b.example/", "quote": "…"},
]
LIST: JsonObject = {
    "path": "s.json",
    "items_min": 2,
    "items_max": 3,
    "keys": {
        "title": {"type": "text", "min": 3},
        "year": {"type": "integer", "min": 1900, "max": 2100},
        "url": "url",
        "note": {"type": "text", "required": False},
    },
    "unique": ["url"],
    "citation": {"source": "source", "quote": "quote"},
}
FILES = {"a.txt": b"It was once\nupon a time."}
TABLE: JsonObject = {
    "path": "r.md",
    "heading": "Results",
    "columns": ["Name", {"name": "Lines", "type": "integer", "min": 1}, {"name": "Note", "required": False}],
    "rows_min": 2,
    "rows_max": 3,
    "unique": ["Name"],
}
ROWS = "| Name | Lines | Note |\n|:-----|------:|:----:|\n| `a.py` | 3 | x \\| y |\n| b.py | **12** | |\n"


class TestJsonList(CheckConformance):
    @pytest.fixture
    def case(self) -> CheckCase:
        submission = {**FILES, "s.json": json.dumps(SOURCES).encode()}
        return CheckCase(check=JSON_LIST, config=LIST, submission=submission)


class TestMdTable(CheckConformance):
    @pytest.fixture
    def case(self) -> CheckCase:
        return CheckCase(check=MD_TABLE, config=TABLE, submission={"r.md": page(ROWS.replace("**", ""))})


def page(rows: str) -> bytes:
    return f"# Report\n\nWords.\n\n## Results\n\n{rows}\n## End\n\nMore words.\n".encode()


async def answer(tmp_path: Path, check: Check, config: JsonObject, files: dict[str, bytes]) -> tuple[Answer, str]:
    verdict = await judged(CheckCase(check=check, config=config, submission=files), tmp_path, files)
    return verdict.answer, verdict.criteria[0].reason


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"title": ""}, "item 2 has a 'title' that is empty"),
        ({"title": "\u200b\u3164"}, "item 2 has a 'title' that is empty"),
        ({"title": "TODO"}, "item 2 has a 'title' that is a placeholder"),
        ({"title": "ab"}, "item 2 has a 'title' that has the length 2"),
        ({"title": 7}, "item 2 has a 'title' that is no text"),
        ({"year": True}, "item 2 has a 'year' that is no integer"),
        ({"year": "2001"}, "item 2 has a 'year' that is no integer"),
        ({"year": 2001.0}, "item 2 has a 'year' that is no integer"),
        ({"year": 2101}, "item 2 has a 'year' that is 2101"),
        ({"url": "https://localhost/"}, "item 2 has a 'url' that is no url"),
        ({"url": "javascript:alert(1)"}, "item 2 has a 'url' that is no url"),
        ({"url": "https://u:p@b.example/"}, "item 2 has a 'url' that is no url"),
        ({"url": "HTTPS://A.example/x "}, "item 2 has a 'url' that is no url"),
        ({"url": "https://A.example/x"}, "item 2 is item 1 again in 'url'"),
        ({"source": "b.txt"}, "item 2 cites 'b.txt', which is not there"),
        ({"source": "s.json"}, "which is where it stands itself"),
        ({"source": "../a.txt"}, "which is not there"),
        ({"source": "a.txt", "quote": "twice upon"}, "which is not in 'a.txt'"),
        ({"source": "a.txt", "quote": "o"}, "a quotation has at least 5 characters"),
        ({"source": "a.txt", "quote": None}, "item 2 has no quotation"),
        ({"source": None}, "item 2 has no source"),
        ({"note": 1}, "item 2 has a 'note' that is no text"),
    ],
)
async def test_every_item_of_a_list_is_looked_at(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    items = [SOURCES[0], {**SOURCES[1], **change}]
    found, reason = await answer(tmp_path, JSON_LIST, LIST, {**FILES, "s.json": json.dumps(items).encode()})
    assert found is Answer.NOT_VERIFIED
    assert told in reason


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"[]", "0 items, at least 2 wanted"),
        (json.dumps(SOURCES * 2).encode(), "4 items, at most 3 wanted"),
        (json.dumps([SOURCES[0]] * 2).encode(), "1 different items, at least 2 wanted"),
        (json.dumps([SOURCES[0], []]).encode(), "item 2 is no object"),
        (json.dumps({"items": SOURCES}).encode(), "it is no list"),
        (b'[{"title": "x", "title": "y"}]', "is there twice"),
        (b"[NaN, 1]", "NaN is no JSON"),
        (b"\xef\xbb\xbf[]", "byte order mark"),
        (b"[1, 2] []", "Extra data"),
        (b"[" * 100 + b"]" * 100, "nested deeper"),
        (b"\xff", "not UTF-8"),
    ],
)
async def test_what_is_no_such_list_is_not_verified(tmp_path: Path, text: bytes, told: str) -> None:
    found, reason = await answer(tmp_path, JSON_LIST, LIST, {**FILES, "s.json": text})
    assert found is Answer.NOT_VERIFIED
    assert told in reason


async def test_a_list_of_plain_values_may_stand_within(tmp_path: Path) -> None:
    config: JsonObject = {"path": "s.json", "at": "found.primes", "item": {"type": "integer", "min": 2}, "items_min": 3}
    files = {"s.json": b'{"found": {"primes": [2, 3, 5]}}'}
    assert (await answer(tmp_path / "1", JSON_LIST, config, files))[0] is Answer.VERIFIED
    files = {"s.json": b'{"found": {"primes": [2, 3, 1]}}'}
    assert (await answer(tmp_path / "2", JSON_LIST, config, files))[0] is Answer.NOT_VERIFIED


@pytest.mark.parametrize(
    ("text", "change", "expected"),
    [
        (b"[3, 5, 3]", {}, "verified"),
        (b"[true, true, false]", {}, "verified"),
        (b'["2026-11-21", "2026-11-21", "2026-11-22"]', {}, "verified"),
        (b'["yes", "no", "yes"]', {"items_min": 2}, "verified"),
        (b'["yes", "no", "Yes "]', {}, "not_verified"),
        (b'["yes", "no", "Yes "]', {"repeats": "allowed"}, "verified"),
        (b'[{"a": 3}, {"a": 3.0}, {"a": 4}]', {}, "not_verified"),
        (b"[[1, 2], [1, 2], [3]]", {}, "not_verified"),
        (b"[3, 5, 3.0]", {"repeats": "refused"}, "not_verified"),
        (b'[1, "1", true]', {"repeats": "refused"}, "verified"),
    ],
)
async def test_repeated_values_are_data_and_padding_gains_nothing(
    tmp_path: Path, text: bytes, change: JsonObject, expected: str
) -> None:
    config: JsonObject = {"path": "s.json", "items_min": 3, **change}
    found, reason = await answer(tmp_path, JSON_LIST, config, {"s.json": text})
    assert found == expected, reason


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"rows_min": 2}, "verified"),
        ({"rows_min": 3}, "not_verified"),
        ({"rows_min": 3, "repeats": "allowed"}, "verified"),
        ({"rows_min": 2, "repeats": "refused"}, "not_verified"),
        ({"rows_min": 2, "unique": ["Vote"]}, "not_verified"),
    ],
)
async def test_equal_rows_count_once_unless_the_config_says_otherwise(
    tmp_path: Path, change: JsonObject, expected: str
) -> None:
    votes = b"| Vote |\n|---|\n| 3 |\n| 5 |\n| *3* |\n"
    found, reason = await answer(tmp_path, MD_TABLE, {"path": "v.md", "columns": ["Vote"], **change}, {"v.md": votes})
    assert found == expected, reason


@pytest.mark.parametrize("before", ["1. ```\n   code\n   ```\n", "- ```\n  code\n\nWords.\n", "<pre>x\ny</pre>\n"])
def test_code_in_an_item_of_a_list_ends_with_it(before: str) -> None:
    assert [table.header.line for table in tables(f"{before}\n{ROWS}")] == [before.count("\n") + 2]


@pytest.mark.slow
@pytest.mark.timeout(30)
def test_many_headings_and_tables_are_read_in_linear_time() -> None:
    assert len(tables("# a\n|a|\n|-|\n\n" * 60_000)) == 60_000
    assert len(sections("# a\n" * 100_000, "a")) == 100_000


async def test_other_keys_can_be_forbidden(tmp_path: Path) -> None:
    config: JsonObject = {"path": "s.json", "keys": {"a": "integer"}, "other_keys": False}
    assert (
        "'b', which is not wanted" in (await answer(tmp_path, JSON_LIST, config, {"s.json": b'[{"a": 1, "b": 2}]'}))[1]
    )


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("", "no table below 'Results'"),
        (ROWS.replace("| b.py | **12** | |\n", ""), "1 rows, at least 2 wanted"),
        (ROWS.replace("b.py", "a.py"), "line 10 is line 9 again in 'Name'"),
        (ROWS.replace("**12**", "0"), "line 10: Lines is 0"),
        (ROWS.replace("**12**", "many"), "line 10: Lines is no integer"),
        (ROWS.replace("b.py", "TBD"), "line 10: Name is a placeholder"),
        (ROWS.replace("b.py", "&nbsp;".replace("&nbsp;", "\u2800")), "line 10: Name is empty"),
        (ROWS.replace("| b.py |", "| b.py | x |"), "line 10 has 4 cells instead of 3"),
        (ROWS.replace("x \\| y", "x | y"), "line 9 has 4 cells instead of 3"),
        (ROWS + "Words right below.\n", "has 1 cells instead of 3"),
        (ROWS.replace("Name", "Names"), "the column 'Name' is missing"),
        (ROWS.replace("Note |", "Name |"), "the column 'Name' is there twice"),
        (ROWS.replace("| b.py | **12** | |\n", "|---|---|---|\n"), "1 rows, at least 2 wanted"),
        ("```\n" + ROWS + "```\n", "no table"),
        ("<!--\n" + ROWS + "-->\n", "no table"),
        ("<pre>\n\n" + ROWS + "\n</pre>\n", "no table"),
        ("<?php\n\n" + ROWS + "\n?>\n", "no table"),
        ("<![CDATA[\n\n" + ROWS + "\n]]>\n", "no table"),
        ("<!X\n\n" + ROWS + "\n>\n", "no table"),
        ("- ```\n  " + ROWS.replace("\n", "\n  ") + "```\n", "no table"),
        ("> ```\n>\n> " + ROWS.rstrip().replace("\n", "\n> ") + "\n", "no table"),
        (ROWS.replace("b.py", "&nbsp;"), "line 10: Name is empty"),
        (ROWS.replace("b.py", "<span></span>"), "line 10: Name is empty"),
        (ROWS.replace("b.py", "<b>a.p&#121;</b>"), "line 10 is line 9 again in 'Name'"),
        ("<details>\n\n" + ROWS + "\n</details>\n", "no table"),
        ("    " + ROWS.replace("\n", "\n    "), "no table"),
        (ROWS + "\n" + ROWS, "2 tables below 'Results', and one is wanted"),
        (ROWS.replace("|:-----|------:|:----:|", "|---|---|"), "no table"),
    ],
)
async def test_every_cell_of_a_table_is_looked_at(tmp_path: Path, rows: str, told: str) -> None:
    found, reason = await answer(tmp_path, MD_TABLE, TABLE, {"r.md": page(rows.replace("**", ""))})
    assert found is Answer.NOT_VERIFIED, reason
    assert told in reason


@pytest.mark.parametrize(
    "rows",
    [
        ROWS.replace("**", "").replace("\n", "\r\n"),
        "Name | Lines | Note\n--- | --- | ---\na | 1 | \\|\n| b | 2 |  |\n",
        "Use `<!--` to hide.\n\n" + ROWS.replace("**", ""),
    ],
)
async def test_a_table_may_be_written_in_many_ways(tmp_path: Path, rows: str) -> None:
    found, reason = await answer(tmp_path, MD_TABLE, TABLE, {"r.md": page(rows)})
    assert found is Answer.VERIFIED, reason


async def test_the_columns_are_those_wanted_in_their_order(tmp_path: Path) -> None:
    config: JsonObject = {"path": "r.md", "columns": ["Lines", "Name"]}
    files = {"r.md": page(ROWS)}
    assert (await answer(tmp_path / "1", MD_TABLE, config, files))[0] is Answer.NOT_VERIFIED
    config = {**config, "other_columns": True}
    assert (await answer(tmp_path / "2", MD_TABLE, config, files))[0] is Answer.VERIFIED


def test_a_line_separator_of_unicode_ends_no_line_of_markdown() -> None:
    assert tables("x\u2028| a |\u2028|---|\u2028| 1 |") == []


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({"path": "a", "columns": []}, "columns"),
        ({"path": "a", "columns": ["x", "x"]}, "columns[1]"),
        ({"path": "a", "columns": [" x"]}, "columns[0]"),
        ({"path": "a", "columns": ["x"], "unique": ["y"]}, "unique"),
        ({"path": "a", "columns": [{"name": "x", "min": 2, "max": 1}]}, "columns[0]"),
        ({"path": "../a", "columns": ["x"]}, "path"),
    ],
)
def test_a_faulty_table_config_names_the_key(config: JsonObject, path: str) -> None:
    assert path in [fault.path for fault in MD_TABLE.config_faults(config, None)]


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("a `<!--` b", "a `<!--` b"),
        ("a <!-- ` --> b <!-- ` --> c", "a  b  c"),
        ("a ``<!-- ` --> `` b", "a ``<!-- ` --> `` b"),
        ("a ` <!-- b --> c", "a `  c"),
        ("a <details open>b</details> c", "a  c"),
        ("a <DETAILS\tx>b<details>c</details>d</details>e", "a e"),
        ("a --> b <!--> c", "a --> b "),
    ],
)
def test_only_what_is_seen_of_a_line_counts(line: str, seen: str) -> None:
    assert list(visible_lines(line)) == [seen]


@pytest.mark.parametrize("part", ["`", "` `` ", "<!-- ` ", "[", "![](", "\u201c", "<details ", "|", "- ", "\\|"])
async def test_no_text_makes_the_reader_slow(tmp_path: Path, part: str) -> None:
    """Each was quadratic once, or would be to a careless pattern."""
    long = page(ROWS.replace("**", "")) + f"\n## Evidence\n\n- C1: {part * (300_000 // len(part))}\n".encode()
    async with asyncio.timeout(20):
        assert (await answer(tmp_path / "1", MD_TABLE, TABLE, {"r.md": long}))[0] is Answer.VERIFIED
        assert (await answer(tmp_path / "2", CHECKLIST, {"path": "r.md"}, {"r.md": long}))[0] is Answer.NOT_VERIFIED
