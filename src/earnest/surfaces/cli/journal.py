"""`earnest journal`: whether the record is what was recorded."""

from typing import TYPE_CHECKING

import click

from earnest.surfaces.cli.here import settings_of
from earnest.surfaces.cli.options import Group, one_json_option
from earnest.surfaces.cli.printing import say, say_json

if TYPE_CHECKING:
    from earnest.journal.verify import JournalReport


@click.group(cls=Group)
def journal() -> None:
    """Check the journal of facts."""


@journal.command()
@click.option("--continue", "continued", is_flag=True, help="Only what came after the head that was last found intact.")
@one_json_option
def verify(*, continued: bool, as_json: bool) -> None:
    """Name altered, missing, inserted or moved facts, and faults of the audit log.

    Exit codes: 0 intact, 1 not intact, 3 there is no journal or it cannot be read.
    """
    from earnest.app.home_check import records_json, verify_records  # noqa: PLC0415

    settings = settings_of()
    found = verify_records(settings.home, settings.books, continued=continued)
    if as_json:
        say_json(records_json(found))
    else:
        say(*(f"{'audit log':<12}  {fault}" for fault in found.audit_log), *_lines(found.journal, intact=found.intact))
        if found.verified_before:
            say(f"the first {found.verified_before} facts were found intact before and not read again")
    raise click.exceptions.Exit(0 if found.intact else 1)


def _lines(report: "JournalReport", *, intact: bool) -> list[str]:
    lines = []
    for found in report.findings:
        first, last = found.first_seq, found.last_seq
        place = f"fact {first}: " if first == last else f"facts {first} to {last}: "
        lines.append(f"{found.what:<12}  {place if last else ''}{found.detail}")
    if report.findings_left_out:
        lines.append(f"and {report.findings_left_out} more")
    verdict = "intact" if intact else "NOT INTACT"
    redacted = f", of {report.redacted} personal data was removed" if report.redacted else ""
    numbers = f"{report.facts} facts, {report.unsealed} of them not sealed yet{redacted}"
    heads = f"{report.heads} heads in the journal, {report.heads_from_elsewhere} kept by the auditor"
    return [*lines, f"{verdict}: {numbers}; {heads}"]
