"""`earnest audit`: what the independent auditor saw."""

import json
import sys
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from earnest.surfaces.cli.here import finish_unless_stopped, settings_of
from earnest.surfaces.cli.options import Group, Whole, one_json_option
from earnest.surfaces.cli.printing import present, say, say_json

if TYPE_CHECKING:
    from earnest.app.calibration import Compared


@click.group(cls=Group)
def audit() -> None:
    """Read the auditor's report and log."""


@audit.command()
@one_json_option
def report(*, as_json: bool) -> None:
    """Report on what was observed in the last day."""
    from earnest.audit.report import report_json, report_lines  # noqa: PLC0415
    from earnest.surfaces.cli.auditing import report_on  # noqa: PLC0415

    found = report_on(settings_of())
    present(report_json(found), *report_lines(found), as_json=as_json)


@audit.command()
@click.option(
    "-n", "--number", type=Whole(1, 100_000), metavar="N", default=20, show_default=True, help="How many lines."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line, as in the log.")
def tail(*, number: int, as_json: bool) -> None:
    """Show the newest lines of the audit log, oldest first."""
    from earnest.app.readers import audit_log  # noqa: PLC0415
    from earnest.audit.reading import newest_lines  # noqa: PLC0415

    for line in newest_lines(audit_log(settings_of()), number):
        _show(line, as_json)


@audit.command()
@click.option("--json", "as_json", is_flag=True, help="Print each periodic report as a JSON object.")
def follow(*, as_json: bool) -> None:
    """Log what engines on other machines say on the bus, until stopped.

    EARNEST_BUS names the server, with the auditor's password. The log lies in a data directory of its own, where the
    other commands of `earnest audit` read it. Exit codes: 0 stopped, 3 it could not begin.
    """
    from earnest.app.following import follow as followed  # noqa: PLC0415
    from earnest.audit.report import AuditReport, report_json, report_lines  # noqa: PLC0415

    def show(report: AuditReport) -> None:
        present(report_json(report), *report_lines(report), as_json=as_json)
        sys.stdout.flush()  # whoever started us through a pipe waits for it

    with suppress(KeyboardInterrupt):
        finish_unless_stopped(followed(settings_of(), show))


@audit.command()
@click.option(
    "--continue", "continued", is_flag=True, help="Only what came after `earnest journal verify` last found it intact."
)
@one_json_option
def verify(*, continued: bool, as_json: bool) -> None:
    """Read the whole log, and hold it against what the journal knows of it.

    Exit codes: 0 intact, 1 not intact, 3 there is no log.
    """
    from earnest.app import places  # noqa: PLC0415
    from earnest.audit.journal_check import check_audit_log, read_verified  # noqa: PLC0415

    settings = settings_of()
    before = read_verified(places.verified(settings.home)) if continued else None
    found = check_audit_log(places.audit_log(settings.home), settings.books, before)
    torn = f"; {found.torn_bytes} bytes of a line that was never finished" if found.torn_bytes else ""
    verdict = "intact" if found.intact else "NOT INTACT"
    lines = f"{found.end.lines} lines, {found.vouched} of them known elsewhere{torn}; head {found.end.head}"
    form = {"intact": found.intact, "lines": found.end.lines, "head": found.end.head, "vouched": found.vouched}
    form |= {"torn_bytes": found.torn_bytes, "findings": found.findings}
    present(form, *found.findings, f"{verdict}: {lines}", as_json=as_json)
    raise click.exceptions.Exit(0 if found.intact else 1)


@audit.command()
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="NAME=VALUE",
    help="A constant of the solver; may be given several times.",
)
@click.option(
    "--runs",
    type=Whole(1, 1_000_000),
    metavar="N",
    default=500,
    show_default=True,
    help="About so many of the newest runs.",
)
@one_json_option
def calibrate(*, changes: tuple[str, ...], runs: int, as_json: bool) -> None:
    """Replay the recorded rounds under other constants; propose constants, and rho and a time budget for each class."""
    from earnest.app.calibration import calibrate as calibrated  # noqa: PLC0415
    from earnest.app.readers import audit_log  # noqa: PLC0415

    wanted = dict(_pair(change) for change in changes)
    settings = settings_of()
    found = calibrated(audit_log(settings), settings.solver, wanted, runs)
    if as_json:
        say_json(asdict(found))
        return
    for one in found.runs:
        say(_told(one))
    say("", "proposals:" if found.proposals else "no run has ended yet")
    for constant in found.constants if found.proposals else ():
        said = "the rounds do not tell" if constant.proposed is None else f"{constant.proposed:g}"
        say(f"  {constant.name:<14}  now {constant.now:g}: {said}")
    for proposal in found.proposals:
        rho = "too few replans" if proposal.rho is None else f"rho {proposal.rho}"
        budget = "no time budget of the grid is proven"
        if proposal.time_budget_ms is not None:
            budget = f"time budget {proposal.time_budget_ms // 1000} s"
        say(f"  {proposal.task_class}  {proposal.runs} runs  {rho}, {budget}")


def _pair(change: str) -> tuple[str, str]:
    name, equals, value = change.partition("=")
    if not equals:
        raise click.BadParameter(f"{change!r} must have the form NAME=VALUE, such as theta=0.7")
    return name, value


def _told(one: "Compared") -> str:
    """A run, what was decided, and what would be where that differs."""
    run, other = one.other.run, one.other
    then = " ".join(run.states) or "no round"
    unexplained = "" if one.explained else "  (recorded under other constants)"
    if other.states == run.states:
        return f"{run.run_id}  {run.task_class}  {then}: no change{unexplained}"
    goes_on = "" if other.ends_after is not None else " …"
    return f"{run.run_id}  {run.task_class}  {then}: would be {' '.join(other.states)}{goes_on}{unexplained}"


def _show(line: bytes, as_json: bool) -> None:
    """A line that was damaged is shown as such: somebody looking for it must be able to see it."""
    from earnest.audit.event import decode_line  # noqa: PLC0415
    from earnest.audit.reading import summary  # noqa: PLC0415

    try:
        decode_line(line)
    except ValueError as error:
        text = line.decode(errors="backslashreplace")
        present({"damaged": str(error), "line": text}, f"DAMAGED ({error})  {text}", as_json=as_json)
        return
    if as_json:
        say_json(json.loads(line))
    else:
        say(summary(line).rstrip())
