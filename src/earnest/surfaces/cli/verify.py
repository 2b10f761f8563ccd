"""`earnest verify`: judge work by a specification, or try the specification itself. `earnest replay`: judge again."""

from pathlib import Path
from typing import Annotated

import typer


def verify(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="A specification (earnest-spec-v1, YAML).")],
    submissions: Annotated[
        list[Path] | None,
        typer.Argument(metavar="SUBMISSION...", help="The folders, tars or zips that were handed in."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object; a list of them for several.")] = False,
    lint: Annotated[bool, typer.Option("--lint", help="Try the specification on worthless work instead.")] = False,
    keep: Annotated[
        bool | None,
        typer.Option(
            "--keep/--no-keep",
            help="Keep the verdict for `earnest replay`. Default: if there is a data directory.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Judge what was handed in.

    Exit codes: 0 verified, 1 not verified, 2 unclear, 3 bad input or usage; of several, that of the worst answer.
    """
    if lint == bool(submissions):
        raise typer.BadParameter("give SPEC and SUBMISSION, or --lint and SPEC")
    from earnest.surfaces.cli.verifying import judge, try_spec  # noqa: PLC0415

    if submissions:
        raise typer.Exit(judge(spec, submissions, as_json=as_json, keep=keep))
    raise typer.Exit(try_spec(spec, as_json=as_json))


def replay(
    verdict: Annotated[
        str, typer.Argument(metavar="[VERDICT]", help="The id of a kept verdict, or how it begins.", show_default=False)
    ] = "",
    from_receipt: Annotated[
        Path | None,
        typer.Option("--from-receipt", metavar="FILE", help="A claim's receipt, where the market's books lie."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as one JSON object.")] = False,
) -> None:
    """Judge a kept verdict's, or a receipt's, work again: it must agree.

    Exit codes: 0 it agrees, 1 it disagrees, 2 it cannot be compared, 3 bad input or usage.
    """
    if bool(verdict) == (from_receipt is not None):
        raise typer.BadParameter("give VERDICT or --from-receipt FILE")
    from earnest.surfaces.cli.verifying import judge_again, judge_receipt_again  # noqa: PLC0415

    if from_receipt is not None:
        raise typer.Exit(judge_receipt_again(from_receipt, as_json=as_json))
    raise typer.Exit(judge_again(verdict, as_json=as_json))
