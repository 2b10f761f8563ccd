"""Does an owner get all that the books hold of the account, nothing of others, and no secret?"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from earnest.app import places
from earnest.app.export import export
from earnest.effects.ground.storage.reader import ReadPool
from earnest.effects.ground.storage.schema import BOOKS
from earnest.effects.outside.artifacts.shelf import FolderShelf
from earnest.foundation.errors import Refused
from earnest.views.accounts import NOT_OWNED, OWNED

from .homes import live_in


def tables() -> dict[str, list[tuple[str, str]]]:
    with closing(sqlite3.connect(":memory:")) as driver:
        driver.executescript(BOOKS.script())
        names = [name for (name,) in driver.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: [(row[1], row[2]) for row in driver.execute(f"PRAGMA table_info({name})")] for name in names}


@pytest.mark.slow
def test_every_table_is_somebodys_or_nobodys_and_says_why() -> None:
    assert OWNED.keys() | NOT_OWNED.keys() == set(tables())
    assert not OWNED.keys() & NOT_OWNED.keys()
    assert all(owned.withheld <= {column for column, _ in tables()[table]} for table, owned in OWNED.items())


def fill(home: Path, account: str) -> None:
    """A row of each table of which every text says whose it is; its key is `<account>-<table>`."""
    with closing(sqlite3.connect(places.books(home), isolation_level=None)) as driver:
        for table, columns in tables().items():
            if table in {"facts", "schema_version", "artifacts"}:
                continue
            row: dict[str, Any] = {}
            for column, kind in columns:
                row[column] = f"{account}-{table}" if kind == "TEXT" else len(account)
            row |= {
                column: account
                for column in ("account_id", "creator", "seller", "author", "raiser")
                if column in row and (column != "account_id" or table != "accounts")
            }
            if table in {"accounts", "residents"}:
                row["id"] = account
            if table == "sealed_reviews":
                row["id"] = f"{account}-reviews"
            if table == "submissions":
                row["claim_id"] = f"{account}-claims"
            if table == "transfers":
                row["debit"] = f"{account}:available:USD"
            names = ", ".join(row)
            driver.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(row))})", list(row.values()))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    live_in(tmp_path / "home")
    for account in ("act_1", "act_other"):
        fill(tmp_path / "home", account)
    return tmp_path / "home"


def exported(home: Path, name: str, target: Path) -> dict[str, Any]:
    with closing(ReadPool.open_reader(places.books(home))) as books:
        export(books, FolderShelf(places.artifacts(home)), name, target, 0)
    found: dict[str, Any] = json.loads((target / "account.json").read_bytes())
    return found


def test_the_owner_gets_every_row_of_theirs_none_of_others_and_nothing_that_is_withheld(
    home: Path, tmp_path: Path
) -> None:
    found = exported(home, "act_1", tmp_path / "out")
    assert found["account_id"] == "act_1"
    assert {table: len(rows) for table, rows in found["tables"].items()} == dict.fromkeys(OWNED, 1)
    assert "act_other" not in (tmp_path / "out" / "account.json").read_text()
    shown = {(table, column) for table, rows in found["tables"].items() for row in rows for column in row}
    assert not {(table, column) for table, owned in OWNED.items() for column in owned.withheld} & shown
    (artifact,) = (tmp_path / "out" / "artifacts").iterdir()
    assert f"sha256:{artifact.name}" == found["tables"]["artifacts"][0]["sha256"]
    assert exported(home, "act_other-accounts", tmp_path / "other")["account_id"] == "act_other"  # by the handle


def test_what_is_not_there_is_named_and_a_folder_that_is_there_is_left_alone(home: Path, tmp_path: Path) -> None:
    (artifact,) = (path for path in places.artifacts(home).glob("[0-9a-f][0-9a-f]/*") if path.is_file())
    artifact.chmod(0o600)
    artifact.write_bytes(b"another")
    found = exported(home, "act_1", tmp_path / "out")
    assert found["missing"] == [found["tables"]["artifacts"][0]["sha256"]]
    codes = []
    for name, target in (("act_1", tmp_path / "out"), ("nobody", tmp_path / "new")):
        with pytest.raises(Refused) as refused:
            exported(home, name, target)
        codes.append(refused.value.code)
    assert codes == ["export_place", "not_found"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "out"]
