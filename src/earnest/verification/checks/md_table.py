"""Check kind `md_table`: a Markdown file shows a table with the right columns, rows and cells."""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from earnest.contracts.node import Node
from earnest.contracts.reader import NodeReader
from earnest.foundation.text import listed
from earnest.verification.markdown import Table, TableRow, tables
from earnest.verification.paths import read_path, read_text
from earnest.verification.plugin import ConfiguredCheck, Findings, Subject, looking
from earnest.verification.values import Repeats, ValueRule, address_key, cell_fault, read_rule
from earnest.verification.visible import squeezed, without_unseen

TABLES_MAX: Final = 1_000
ROWS_MAX: Final = 10_000
COLUMNS_MAX: Final = 100
TITLE_CHARACTERS_MAX: Final = 1_000
PROBLEMS_SHOWN_MAX: Final = 20

_TAG: Final = re.compile(r"</?(?!(?:img|input)\b)[a-z][a-z0-9-]*(?:\s[^<>]*)?/?>", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Config:
    """`index` counts the tables of the file (or of the heading) from 1; None: there must be exactly one."""

    path: str
    heading: str | None
    index: int | None
    columns: Mapping[str, ValueRule]
    other_columns: bool
    rows_min: int
    rows_max: int
    repeats: Repeats
    unique: tuple[str, ...]


def _read(reader: NodeReader, node: Node, _base_folder: Path | None) -> _Config:
    entries = reader.mapping(
        node,
        required=("path", "columns"),
        optional=("heading", "index", "other_columns", "rows_min", "rows_max", "repeats", "unique"),
    )
    columns = _columns(reader, entries.get("columns"))
    low = reader.integer(entries.get("rows_min"), low=1, high=ROWS_MAX, default=1)
    unique = reader.texts(entries.get("unique"), at_most=COLUMNS_MAX, characters_max=TITLE_CHARACTERS_MAX)
    for name in unique:
        if columns and name and name not in columns:
            reader.fault(entries["unique"], f"{name!r} is none of the columns")
    heading, index = entries.get("heading"), entries.get("index")
    return _Config(
        path=read_path(reader, entries.get("path")),
        heading=reader.text(heading, at_most=TITLE_CHARACTERS_MAX) if heading is not None else None,
        index=reader.integer(index, low=1, high=TABLES_MAX, default=1) if index is not None else None,
        columns=columns,
        other_columns=reader.boolean(entries.get("other_columns"), default=False),
        rows_min=low,
        rows_max=reader.integer(entries.get("rows_max"), low=low, high=ROWS_MAX, default=ROWS_MAX),
        repeats=Repeats(reader.choice(entries.get("repeats"), list(Repeats), default=Repeats.ONCE)),
        unique=unique,
    )


def _columns(reader: NodeReader, node: Node | None) -> dict[str, ValueRule]:
    """Names, or mappings with a name and a rule. A list, because a mapping has no order that JSON would keep."""
    items = reader.items(node, at_least=1, at_most=COLUMNS_MAX)
    rules: dict[str, ValueRule] = {}
    for item in items:
        named = item.value if isinstance(item.value, Mapping) else {"name": item}
        name = reader.text(named.get("name", item), at_most=TITLE_CHARACTERS_MAX)
        if name != squeezed(name):
            reader.fault(item, "a column's name has no spaces around it, and single ones within")
        if name in rules:
            reader.fault(item, f"the column {name!r} is there twice")
        rest = {key: child for key, child in named.items() if key != "name"}
        rules[name] = read_rule(reader, replace(item, value=rest)) if rest else ValueRule()
    return rules


def _findings(wanted: _Config, subject: Subject) -> Findings:
    """See docs/checks/md_table.md. Looks at the snapshot only; runs nothing."""
    evidence = (wanted.path,)
    try:
        text = read_text(subject.snapshot, wanted.path)
    except ValueError as problem:
        return Findings(passed=False, reason=f"{wanted.path} {problem}", evidence=evidence)
    table = _the_table(wanted, tables(text))
    if isinstance(table, str):
        return Findings(passed=False, reason=f"{wanted.path}: {table}", evidence=evidence)
    problems = list(_column_problems(wanted, table) or _row_problems(wanted, table))
    if problems:
        reason = f"{wanted.path}: {listed(problems, PROBLEMS_SHOWN_MAX)}"
    else:
        reason = f"the table in line {table.header.line} of {wanted.path} has {len(table.rows)} rows as they should be"
    evidence = (f"{wanted.path}:{table.header.line}",)
    measured = {"rows": len(table.rows), "columns": len(table.header.cells)}
    return Findings(passed=not problems, reason=reason, evidence=evidence, measured=measured)


def _the_table(wanted: _Config, found: Sequence[Table]) -> Table | str:
    """The table meant, or why there is none."""
    where = ""
    if wanted.heading is not None:
        title = squeezed(wanted.heading).casefold()
        found = [table for table in found if table.heading.casefold() == title]
        where = f" below {wanted.heading!r}"
    if wanted.index is None and len(found) > 1:
        return f"{len(found)} tables{where}, and one is wanted"
    at = (wanted.index or 1) - 1
    return found[at] if at < len(found) else f"{len(found) or 'no'} table{where}, and table {at + 1} is wanted"


def _column_problems(wanted: _Config, table: Table) -> list[str]:
    header = [_plain(cell) for cell in table.header.cells]
    problems = [
        f"the column {name!r} is {'missing' if name not in header else 'there twice'}"
        for name in wanted.columns
        if header.count(name) != 1
    ]
    if not problems and not wanted.other_columns and header != list(wanted.columns):
        problems.append(f"the columns are {', '.join(header)[:200]!r} instead of {', '.join(wanted.columns)!r}")
    return problems


def _row_problems(wanted: _Config, table: Table) -> Iterator[str]:
    """Every cell is looked at. A row with another number of cells than the header is not guessed at."""
    again = list(_twins(table.rows, column=None))
    count = len(table.rows) - (0 if wanted.repeats is Repeats.ALLOWED else len(again))
    if count < wanted.rows_min:
        yield f"{count} {'different ' if count < len(table.rows) else ''}rows, at least {wanted.rows_min} wanted"
    if len(table.rows) > wanted.rows_max:
        yield f"{len(table.rows)} rows, at most {wanted.rows_max} wanted"
    place = {_plain(cell): at for at, cell in enumerate(table.header.cells)}
    whole = [row for row in table.rows if len(row.cells) == len(table.header.cells)]
    for row in table.rows:
        if len(row.cells) != len(table.header.cells):
            yield f"line {row.line} has {len(row.cells)} cells instead of {len(table.header.cells)}"
            continue
        for name, rule in wanted.columns.items():
            if fault := _cell_problem(rule, row.cells[place[name]]):
                yield f"line {row.line}: {name} {fault}"
    if wanted.repeats is Repeats.REFUSED:
        yield from again
    for name in wanted.unique:
        yield from _twins(whole, column=place[name], name=name)


def _cell_problem(rule: ValueRule, cell: str) -> str | None:
    if not _seen(cell):
        return "is empty" if rule.required else None
    return cell_fault(rule, cell)


def _twins(rows: Sequence[TableRow], *, column: int | None, name: str = "") -> Iterator[str]:
    first: dict[str, int] = {}
    for row in rows:
        cells = row.cells if column is None else (row.cells[column],)
        same = first.setdefault("\0".join(address_key(_plain(cell)).casefold() for cell in cells), row.line)
        if same != row.line:
            yield f"line {row.line} is line {same} again" + (f" in {name!r}" if name else "")


def _plain(cell: str) -> str:
    """A cell without emphasis and code marks around it."""
    return squeezed(_seen(cell)).strip("*_`").strip()


def _seen(cell: str) -> str:
    """A cell without the marks of HTML, which mean nothing in code; a picture is seen."""
    if "`" not in cell:
        cell = html.unescape(_TAG.sub("", cell))
    return without_unseen(cell).strip()


CHECK = ConfiguredCheck(kind="md_table", version=2, read=_read, measure=looking(_findings))
