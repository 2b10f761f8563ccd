"""`earnest journal`: is the record what was recorded?"""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from earnest.journal.verify import JournalReport

app = typer.Typer(help="Check the journal of facts.", no_args_is_help=True)


@app.callback()
def journal() -> None:
    """Check the journal of facts."""  # a group of one command needs this to stay a group


@app.command()
def verify(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """Name every fact that was changed, removed, inserted or moved, and what is wrong with the audit log.

    Exit codes: 0 intact, 1 not intact, 3 there is no journal or it cannot be read.
    """
    from earnest.app import places  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.audit.journal_check import check_audit_log, check_journal  # noqa: PLC0415
    from earnest.foundation.errors import Refused  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415

    home = read_settings().home
    books, log = places.books(home), places.audit_log(home)
    report = check_journal(books, log)
    try:
        beside = check_audit_log(log, books).findings
    except Refused:
        beside = ()  # nobody knows of one
    if as_json:
        say_json({**_form(report), "intact": report.intact and not beside, "audit_log": list(beside)})
    else:
        say(*(f"{'audit log':<12}  {found}" for found in beside), *_lines(report, intact=report.intact and not beside))
    raise typer.Exit(0 if report.intact and not beside else 1)


def _form(report: "JournalReport") -> dict[str, object]:
    return {
        "intact": report.intact,
        "facts": report.facts,
        "heads": report.heads,
        "heads_from_elsewhere": report.heads_from_elsewhere,
        "unsealed": report.unsealed,
        "findings": [
            {"what": f.what, "first_seq": f.first_seq, "last_seq": f.last_seq, "detail": f.detail}
            for f in report.findings
        ],
        "findings_left_out": report.findings_left_out,
    }


def _lines(report: "JournalReport", *, intact: bool) -> list[str]:
    lines = []
    for found in report.findings:
        first, last = found.first_seq, found.last_seq
        place = f"fact {first}: " if first == last else f"facts {first} to {last}: "
        lines.append(f"{found.what:<12}  {place if last else ''}{found.detail}")
    if report.findings_left_out:
        lines.append(f"and {report.findings_left_out} more")
    verdict = "intact" if intact else "NOT INTACT"
    numbers = f"{report.facts} facts, {report.unsealed} of them not sealed yet"
    heads = f"{report.heads} heads in the journal, {report.heads_from_elsewhere} kept by the auditor"
    return [*lines, f"{verdict}: {numbers}; {heads}"]
