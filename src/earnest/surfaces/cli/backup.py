"""`earnest backup` and `earnest restore`: the data directory kept elsewhere, and brought back."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from earnest.foundation.instants import rfc3339
from earnest.surfaces.cli.here import home_and_books
from earnest.surfaces.cli.options import PATH, Whole, home_option, one_json_option
from earnest.surfaces.cli.printing import complain, present, tell

if TYPE_CHECKING:
    from earnest.effects.ground.backup.manifest import BackupManifest

target_argument = click.argument("path", type=PATH, help="The folder of backups, outside the data directory.")
keys_option = click.option(
    "--keys", type=PATH, metavar="PATH", help="The folder for what is secret, apart from the rest."
)


@click.command()
@target_argument
@keys_option
@click.option("--share", type=Whole(1, 100), default=30, show_default=True, help="Of the time it may work, in percent.")
@home_option
@one_json_option
def backup(*, path: Path, keys: Path | None, share: int, home: Path | None, as_json: bool) -> None:
    """Take an incremental backup, also while the data directory is in use.

    Exit codes: 0 made, 1 made, and artifacts that the books know are missing; 3 not made.
    """
    from earnest.app.artifacts import shelf_in  # noqa: PLC0415
    from earnest.app.backup import BackupOrder, back_up  # noqa: PLC0415
    from earnest.effects.ground.clock import SystemClock  # noqa: PLC0415

    os.nice(19)
    place, books = home_and_books(home)
    shelf = shelf_in(place, os.environ)
    order = BackupOrder(
        home=place,
        server=None if isinstance(books, Path) else books,
        shelf=shelf if shelf.is_shared else None,
        target=path,
        keys=keys,
        share=share,
    )
    done = back_up(order, SystemClock(), tell)
    tell("")
    complain(f"left out: {one}" for one in done.manifest.left_out)
    complain(f"missing: {sha256}, which the books know" for sha256 in done.missing)
    present(
        {
            **_form(done.manifest),
            "written_bytes": done.written_bytes,
            "left_out": done.manifest.left_out,
            "missing": done.missing,
        },
        f"{_line(done.manifest)}; {done.written_bytes} bytes were new",
        as_json=as_json,
    )
    raise click.exceptions.Exit(1 if done.missing else 0)


@click.command()
@target_argument
@keys_option
@click.option("--backup", "name", metavar="ID", default="", help="Which, by the beginning of its id; else the newest.")
@click.option("--verify-only", is_flag=True, help="Read and verify all of it, restore nothing.")
@click.option(
    "--to", metavar="ADDRESS", default="", help="Put the books on this server, postgresql://…, which has none."
)
@click.option("--list", "listed", is_flag=True, help="List the backups that are there.")
@home_option
@one_json_option
def restore(
    *,
    path: Path,
    keys: Path | None,
    name: str,
    verify_only: bool,
    to: str,
    listed: bool,
    home: Path | None,
    as_json: bool,
) -> None:
    """Make a new data directory of a backup, verified before it takes its place.

    Exit codes: 0 restored, or found whole; 3 not.
    """
    from earnest.app import places  # noqa: PLC0415
    from earnest.app.artifacts import shelf_in  # noqa: PLC0415
    from earnest.app.moving import SQLITE, place_of  # noqa: PLC0415
    from earnest.app.places import home_of  # noqa: PLC0415
    from earnest.app.restore import BackupSource, backups_in, verify_backup  # noqa: PLC0415
    from earnest.app.restore import restore as restored  # noqa: PLC0415
    from earnest.effects.ground.clock import SystemClock  # noqa: PLC0415

    if listed:
        for one in backups_in(path):
            present(_form(one), _line(one), as_json=as_json)
        return
    source, clock = BackupSource(folder=path, keys=keys, name=name), SystemClock()
    place = home or home_of(os.environ)
    server = None if to in {"", SQLITE} else place_of(places.books(place), to)
    done = verify_backup(source, clock, tell) if verify_only else restored(source, place, clock, tell, server=server)
    tell("")
    if keys is None and any(file.secret for file in done.manifest.files):
        complain(["the keys of this backup lie elsewhere: --keys PATH"])
    _, named = home_and_books(place)
    if not verify_only and named != (server or places.books(place)):
        complain([f"the settings name {named} for the books: those that were restored are elsewhere"])
    if not verify_only and shelf_in(place, os.environ).is_shared:
        complain(["the artifacts were laid in the data directory: move them, too (`earnest migrate --artifacts-to`)"])
    present(
        {**_form(done.manifest), "rows": done.rows, "home": None if verify_only else str(place)},
        f"{_line(done.manifest)}; {done.rows} rows made anew",
        "whole" if verify_only else f"restored to {place}",
        as_json=as_json,
    )


def _form(manifest: "BackupManifest") -> dict[str, object]:
    return {
        "backup": manifest.id,
        "created_at": rfc3339(manifest.created_ms),
        "version": manifest.version,
        "facts": manifest.facts,
        "files": len(manifest.files),
        "size_bytes": sum(file.size_bytes for file in manifest.files),
    }


def _line(manifest: "BackupManifest") -> str:
    size_bytes = sum(file.size_bytes for file in manifest.files)
    return f"{manifest.id}: {manifest.facts} facts, {len(manifest.files)} files, {size_bytes} bytes"
