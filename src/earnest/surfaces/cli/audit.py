"""`earnest audit`: what the independent auditor saw."""

from typing import Annotated

import typer

app = typer.Typer(help="The auditor's report and log.", no_args_is_help=True)


@app.command()
def report(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """Report on what was observed since the last periodic report."""
    import json  # noqa: PLC0415

    from earnest.app import places  # noqa: PLC0415
    from earnest.app.platform import audit_settings  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.audit.report import report_json, report_lines  # noqa: PLC0415
    from earnest.audit.snapshot import read_report  # noqa: PLC0415
    from earnest.effects.clock import SystemClock  # noqa: PLC0415

    settings = read_settings()
    log = places.audit_log(settings.home)
    found = read_report(log, now_ms=SystemClock().now_ms(), settings=audit_settings(settings))
    lines = [json.dumps(report_json(found), ensure_ascii=False)] if as_json else report_lines(found)
    for line in lines:
        typer.echo(line)


@app.command()
def tail(
    number: Annotated[int, typer.Option("-n", "--number", min=1, max=100_000, help="How many lines.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="The lines as they stand in the log.")] = False,
) -> None:
    """Show the newest lines of the audit log, oldest first."""
    from earnest.app import places  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.audit.tail import newest_lines, summary  # noqa: PLC0415

    for line in newest_lines(places.audit_log(read_settings().home), number):
        typer.echo(line.decode() if as_json else summary(line))
