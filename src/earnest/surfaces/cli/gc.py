"""`earnest gc`: files that nobody needs any more go."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import click

from earnest.surfaces.cli.here import settings_of
from earnest.surfaces.cli.options import Whole, one_json_option
from earnest.surfaces.cli.printing import present, tell

F = TypeVar("F", bound=Callable[..., Any])

SORTS = (
    ("runs", "files"),
    ("stages", "checkpoints"),
    ("verdicts", "verdict"),
    ("artifacts", "artifact"),
    ("audit_files", "audit log"),
)
"""What goes, and what a line of it begins with."""


def _days_option(what: str) -> Callable[[F], F]:
    return click.option(f"--{what}-days", type=Whole(0), metavar="DAYS", help="Instead of the setting.")


@click.command()
@click.option("--dry-run", "dry", is_flag=True, help="Only say what would go.")
@_days_option("runs")
@_days_option("stages")
@_days_option("verdicts")
@_days_option("artifacts")
@_days_option("audit")
@one_json_option
def gc(*, dry: bool, as_json: bool, **days: int | None) -> None:
    """Remove old runs, verdicts, unused artifacts and audit files. Facts stay.

    Exit codes: 0 done, 3 not.
    """
    from earnest.app.sweeping import sweep  # noqa: PLC0415

    given = {name: value for name, value in days.items() if value is not None}
    done = sweep(replace(settings_of(), **given), dry=dry, tell=tell)  # type: ignore[arg-type]
    tell("")
    kept = {str(fate): count for fate, count in sorted(done.kept.items())}
    gone = {name: getattr(done, name) for name, _ in SORTS}
    stay = ", ".join(f"{count} {word}" for word, count in kept.items()) or "none"
    present(
        {"dry_run": dry, **gone, "freed_bytes": done.freed_bytes, "kept": kept},
        *(f"{what:<12}  {one}" for name, what in SORTS for one in gone[name]),
        f"{'would free' if dry else 'freed'} {done.freed_bytes} bytes; runs that stay: {stay}",
        as_json=as_json,
    )
