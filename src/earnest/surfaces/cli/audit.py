"""`earnest audit`: what the independent auditor saw."""

from typing import Annotated

import typer

app = typer.Typer(help="Read the auditor's report and log.", no_args_is_help=True)


@app.command()
def report(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """Report on what was observed since the last periodic report."""
    from earnest.app.platform import audit_settings  # noqa: PLC0415
    from earnest.app.readers import audit_log  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.audit.report import report_json, report_lines  # noqa: PLC0415
    from earnest.audit.snapshot import read_report  # noqa: PLC0415
    from earnest.effects.clock import SystemClock  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415

    settings = read_settings()
    found = read_report(audit_log(settings), now_ms=SystemClock().now_ms(), settings=audit_settings(settings))
    if as_json:
        say_json(report_json(found))
    else:
        say(*report_lines(found))


@app.command()
def tail(
    number: Annotated[
        int, typer.Option("-n", "--number", metavar="N", min=1, max=100_000, help="How many lines.")
    ] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line, as in the log.")] = False,
) -> None:
    """Show the newest lines of the audit log, oldest first."""
    from earnest.app.readers import audit_log  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.audit.tail import newest_lines  # noqa: PLC0415

    for line in newest_lines(audit_log(read_settings()), number):
        _show(line, as_json)


def _show(line: bytes, as_json: bool) -> None:
    """A line that was damaged is shown as such: somebody looking for it must be able to see it."""
    import json  # noqa: PLC0415

    from earnest.audit.event import decode_line  # noqa: PLC0415
    from earnest.audit.tail import summary  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415

    try:
        decode_line(line)
    except ValueError as error:
        text = line.decode(errors="backslashreplace")
        if as_json:
            say_json({"damaged": str(error), "line": text})
        else:
            say(f"DAMAGED ({error})  {text}")
        return
    if as_json:
        say_json(json.loads(line))
    else:
        say(summary(line).rstrip())
