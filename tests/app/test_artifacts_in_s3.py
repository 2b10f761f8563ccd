"""A data directory whose artifacts lie in a store that speaks S3: moved there and back, backed up, swept, looked at."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

import s3
from earnest.app import places
from earnest.app.artifacts import artifact_store, copy_artifacts, named_artifacts, shelf_in
from earnest.app.settings import read_settings
from earnest.effects.ground.storage.reader import ReadPool
from earnest.effects.outside.artifacts.s3 import S3Shelf
from earnest.foundation.errors import Faulty, Refused
from earnest.surfaces.cli.commands import program

from .homes import OWNER, listing, open_account


@pytest.fixture
def environment(home: Path) -> Iterator[dict[str, str]]:
    with s3.server() as endpoint:
        place = s3.bucket(endpoint)
        yield {
            "EARNEST_HOME": str(home),
            "EARNEST_ARTIFACTS": f"s3://{place.bucket}/kept",
            "EARNEST_ARTIFACTS_ENDPOINT": endpoint,
        }


def named(home: Path) -> frozenset[str]:
    with closing(ReadPool.open_reader(places.books(home))) as books:
        return books.read_sync(named_artifacts)


def kept_in(folder: Path) -> set[str]:
    return {f"sha256:{path.parent.name}{path.name}" for path in folder.glob("[0-9a-f][0-9a-f]/*")}


def lying(environment: dict[str, str]) -> set[str]:
    shelf = shelf_in(Path(environment["EARNEST_HOME"]), environment)
    assert isinstance(shelf, S3Shelf)
    return {sha256 for number in range(256) for sha256 in shelf.lying(number)}


def emptied(home: Path) -> None:
    """The folder holds no artifact any more."""
    for path in places.artifacts(home).glob("[0-9a-f][0-9a-f]/*"):
        path.unlink()


@pytest.mark.slow  # some hundred requests
def test_artifacts_are_copied_to_a_bucket_and_back_and_only_what_is_missing(
    home: Path, environment: dict[str, str]
) -> None:
    whole = named(home)
    assert len(whole) > 1
    endpoint = {name: text for name, text in environment.items() if name != "EARNEST_ARTIFACTS"}
    assert copy_artifacts(places.books(home), environment["EARNEST_ARTIFACTS"], endpoint) == (len(whole), ())
    assert copy_artifacts(places.books(home), environment["EARNEST_ARTIFACTS"], endpoint) == (0, ())
    assert lying(environment) == whole
    emptied(home)
    assert copy_artifacts(places.books(home), "folder", environment) == (len(whole), ())
    assert kept_in(places.artifacts(home)) == whole
    with pytest.raises(Refused):
        copy_artifacts(places.books(home), "elsewhere", environment)


@pytest.mark.slow
def test_the_store_under_the_settings_reads_and_writes_there(home: Path, environment: dict[str, str]) -> None:
    copy_artifacts(places.books(home), environment["EARNEST_ARTIFACTS"], {**environment, "EARNEST_ARTIFACTS": ""})
    store, one = artifact_store(read_settings(environment)), min(named(home))
    emptied(home)
    assert store.read(one)
    assert kept_in(places.artifacts(home)) == set()


@pytest.mark.slow  # some hundred requests
def test_commands_take_artifacts_along_from_where_they_lie(
    home: Path, environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, backup, cli = named(home), str(tmp_path / "backup"), CliRunner()
    open_account(home)
    for name, text in environment.items():
        monkeypatch.setenv(name, text)
    monkeypatch.setenv("EARNEST_ARTIFACTS", "")
    there = cli.invoke(program, ["migrate", "--artifacts-to", environment["EARNEST_ARTIFACTS"], "--json"])
    assert json.loads(there.stdout)["copied"] == len(whole)
    before = listing(places.artifacts(home))
    emptied(home)
    monkeypatch.setenv("EARNEST_ARTIFACTS", environment["EARNEST_ARTIFACTS"])
    first = cli.invoke(program, ["backup", backup, "--share", "100", "--json"])
    assert (first.exit_code, json.loads(first.stdout)["missing"]) == (0, [])
    monkeypatch.setattr(S3Shelf, "open", lambda *_: pytest.fail("what the newest backup holds is not fetched again"))
    assert cli.invoke(program, ["backup", backup, "--share", "100"]).exit_code == 0
    monkeypatch.undo()
    for name, text in environment.items():
        monkeypatch.setenv(name, text)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    again = cli.invoke(program, ["restore", backup, "--home", str(tmp_path / "again")])
    assert again.exit_code == 0, again.output
    assert "--artifacts-to" in again.stderr
    restored = listing(places.artifacts(tmp_path / "again"))
    assert {path for path, what in restored.items() if what != "folder"} == {
        path for path, what in before.items() if what != "folder" and not path.startswith("arriving")
    }
    doctor = json.loads(cli.invoke(program, ["doctor", "--deep", "--json"]).stdout)
    assert doctor["artifacts"]["well"] is True
    exported = cli.invoke(program, ["export", OWNER, str(tmp_path / "export"), "--json"])
    assert (exported.exit_code, json.loads(exported.stdout)["artifacts"] > 0) == (0, True)


@pytest.mark.slow
def test_an_address_that_is_none_is_a_fault(home: Path) -> None:
    with pytest.raises(Faulty, match="artifacts must be text that begins with s3://"):
        read_settings({"EARNEST_HOME": str(home), "EARNEST_ARTIFACTS": "bucket"})
