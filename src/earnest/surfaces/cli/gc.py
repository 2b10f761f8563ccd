"""`earnest gc`: files that nobody needs any more go."""

from typing import Annotated

import typer


def gc(
    *,
    dry: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    runs_days: Annotated[int | None, typer.Option(min=0, metavar="DAYS", help="Instead of the setting.")] = None,
    stages_days: Annotated[int | None, typer.Option(min=0, metavar="DAYS", help="Instead of the setting.")] = None,
    verdicts_days: Annotated[int | None, typer.Option(min=0, metavar="DAYS", help="Instead of the setting.")] = None,
    artifacts_days: Annotated[int | None, typer.Option(min=0, metavar="DAYS", help="Instead of the setting.")] = None,
    audit_days: Annotated[int | None, typer.Option(min=0, metavar="DAYS", help="Instead of the setting.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Remove old runs, verdicts, unused artifacts and audit files. Facts stay.

    Exit codes: 0 done, 3 not.
    """
    from dataclasses import replace  # noqa: PLC0415

    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.app.sweeping import sweep  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json, tell  # noqa: PLC0415

    days = {"runs_days": runs_days, "stages_days": stages_days, "verdicts_days": verdicts_days}
    days |= {"artifacts_days": artifacts_days, "audit_days": audit_days}
    given = {name: value for name, value in days.items() if value is not None}
    done = sweep(replace(read_settings(), **given), dry=dry, tell=tell)  # type: ignore[arg-type]
    tell("")
    kept = {str(fate): count for fate, count in sorted(done.kept.items())}
    if as_json:
        names = ("runs", "stages", "verdicts", "artifacts", "audit_files")
        lists = {name: list(getattr(done, name)) for name in names}
        say_json({"dry_run": dry, **lists, "freed_bytes": done.freed_bytes, "kept": kept})
        return
    for what, ids in (
        ("files", done.runs),
        ("checkpoints", done.stages),
        ("verdict", done.verdicts),
        ("artifact", done.artifacts),
        ("audit log", done.audit_files),
    ):
        say(*(f"{what:<12}  {one}" for one in ids))
    stay = ", ".join(f"{count} {word}" for word, count in kept.items()) or "none"
    say(f"{'would free' if dry else 'freed'} {done.freed_bytes} bytes; runs that stay: {stay}")
