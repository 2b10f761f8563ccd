"""`earnest gc`: files that nobody needs any more go."""

from dataclasses import replace
from typing import Annotated

import typer

from earnest.surfaces.cli.here import settings_of
from earnest.surfaces.cli.options import OneJson
from earnest.surfaces.cli.printing import present, tell

SORTS = (
    ("runs", "files"),
    ("stages", "checkpoints"),
    ("verdicts", "verdict"),
    ("artifacts", "artifact"),
    ("audit_files", "audit log"),
)
"""What goes, and what a line of it begins with."""

Days = Annotated[int | None, typer.Option(min=0, metavar="DAYS", help="Instead of the setting.")]


def gc(
    *,
    dry: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    runs_days: Days = None,
    stages_days: Days = None,
    verdicts_days: Days = None,
    artifacts_days: Days = None,
    audit_days: Days = None,
    as_json: OneJson = False,
) -> None:
    """Remove old runs, verdicts, unused artifacts and audit files. Facts stay.

    Exit codes: 0 done, 3 not.
    """
    from earnest.app.sweeping import sweep  # noqa: PLC0415

    days = {"runs_days": runs_days, "stages_days": stages_days, "verdicts_days": verdicts_days}
    days |= {"artifacts_days": artifacts_days, "audit_days": audit_days}
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
