"""`earnest journal`: is the record what was recorded?"""

from typing import Annotated

import typer

app = typer.Typer(help="The journal of facts.", no_args_is_help=True)


@app.callback()
def journal() -> None:
    """The journal of facts."""


@app.command()
def verify(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """Recompute the journal and name every fact that was changed, removed, inserted or moved.

    Exit codes: 0 intact, 1 not intact, 3 there is no journal.
    """
    import json  # noqa: PLC0415

    from earnest.app import places  # noqa: PLC0415
    from earnest.app.readers import reading_books  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.audit.journal_check import check_journal  # noqa: PLC0415

    settings = read_settings()
    with reading_books(settings) as books:
        report = check_journal(books, places.audit_log(settings.home))
    findings = [
        {"what": str(f.what), "first_seq": f.first_seq, "last_seq": f.last_seq, "detail": f.detail}
        for f in report.findings
    ]
    if as_json:
        form = {
            "intact": report.intact,
            "facts": report.facts,
            "heads": report.heads,
            "heads_from_elsewhere": report.heads_from_elsewhere,
            "unsealed": report.unsealed,
            "findings": findings,
        }
        typer.echo(json.dumps(form))
    else:
        for f in report.findings:
            place = f"fact {f.first_seq}" if f.first_seq == f.last_seq else f"facts {f.first_seq} to {f.last_seq}"
            typer.echo(f"{f.what}  {place}: {f.detail}")
        verdict = "intact" if report.intact else "NOT INTACT"
        typer.echo(
            f"{verdict}: {report.facts} facts, {report.heads} heads in the journal, "
            f"{report.heads_from_elsewhere} heads kept by the auditor, {report.unsealed} facts not sealed yet"
        )
    raise typer.Exit(0 if report.intact else 1)
