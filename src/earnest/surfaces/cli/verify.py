"""`earnest verify`: judge work by a specification, or try the specification itself. `earnest replay`: judge again."""

from pathlib import Path

import click

from earnest.surfaces.cli.options import PATH


@click.command()
@click.argument("spec", type=PATH, help="A specification (earnest-spec-v1, YAML).")
@click.argument(
    "submissions", nargs=-1, type=PATH, metavar="[SUBMISSION]...", help="The folders, tars or zips that were handed in."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; a list of them for several.")
@click.option("--lint", is_flag=True, help="Try the specification on worthless work instead.")
@click.option(
    "--keep/--no-keep",
    default=None,
    help="Keep the verdict for `earnest replay`. Default: if there is a data directory.",
)
def verify(*, spec: Path, submissions: tuple[Path, ...], as_json: bool, lint: bool, keep: bool | None) -> None:
    """Judge what was handed in.

    Exit codes: 0 verified, 1 not verified, 2 unclear, 3 bad input or usage; of several, that of the worst answer.
    """
    if lint == bool(submissions):
        raise click.BadParameter("give SPEC and SUBMISSION, or --lint and SPEC")
    from earnest.surfaces.cli.verifying import judge, try_spec  # noqa: PLC0415

    if submissions:
        raise click.exceptions.Exit(judge(spec, submissions, as_json=as_json, keep=keep))
    raise click.exceptions.Exit(try_spec(spec, as_json=as_json))


@click.command()
@click.argument("verdict", default="", help="The id of a kept verdict, or how it begins.")
@click.option("--from-receipt", type=PATH, metavar="FILE", help="A claim's receipt, where the market's books lie.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as one JSON object.")
def replay(*, verdict: str, from_receipt: Path | None, as_json: bool) -> None:
    """Judge a kept verdict's, or a receipt's, work again: it must agree.

    Exit codes: 0 it agrees, 1 it disagrees, 2 it cannot be compared, 3 bad input or usage.
    """
    if bool(verdict) == (from_receipt is not None):
        raise click.BadParameter("give VERDICT or --from-receipt FILE")
    from earnest.surfaces.cli.verifying import judge_again, judge_receipt_again  # noqa: PLC0415

    if from_receipt is not None:
        raise click.exceptions.Exit(judge_receipt_again(from_receipt, as_json=as_json))
    raise click.exceptions.Exit(judge_again(verdict, as_json=as_json))
