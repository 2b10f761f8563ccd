"""`earnest doctor`: whether everything is here that is needed, and whether the sandbox holds."""

import click

from earnest.surfaces.cli.here import finish, settings_of
from earnest.surfaces.cli.options import one_json_option
from earnest.surfaces.cli.printing import present


@click.command()
@one_json_option
@click.option("--self-test", is_flag=True, help="Only attack the sandbox anew, and keep the result for a day.")
@click.option("--deep", is_flag=True, help="Read everything that lies in the data directory, too.")
@click.option("--online", is_flag=True, help="Ask every model for a word, too.")
def doctor(*, as_json: bool, self_test: bool, deep: bool, online: bool) -> None:
    """Attack the sandbox; check versions, models, judge, probes and data directory.

    Exit codes: 0 all is well, 1 something is missing or damaged, 3 bad usage or settings.
    """
    from earnest.app.doctor import examine  # noqa: PLC0415

    findings = finish(examine(settings_of(), online=online, only_sandbox=self_test, deep=deep))
    present(
        {finding.name: {"well": finding.well, "detail": finding.detail} for finding in findings},
        *(f"{'ok ' if finding.well else 'BAD'}  {finding.name:<14}  {finding.detail}" for finding in findings),
        as_json=as_json,
    )
    raise click.exceptions.Exit(0 if all(finding.well for finding in findings) else 1)
