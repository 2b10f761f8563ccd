"""`earnest verify`: judge a folder by a specification."""

from pathlib import Path
from typing import Annotated

import typer

EXIT_CODES = {"verified": 0, "not_verified": 1, "unclear": 2}


def verify(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="A specification (earnest-spec-v1, YAML).")],
    submission: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that was handed in.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as one JSON object.")] = False,
) -> None:
    """Judge what was handed in.

    Exit codes: 0 verified, 1 not verified, 2 unclear, 3 bad input or usage.
    """
    import asyncio  # noqa: PLC0415
    import json  # noqa: PLC0415

    from earnest.app.readers import verdict_on  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.foundation.errors import Diagnostic, Faulty  # noqa: PLC0415
    from earnest.verification.verdict import verdict_to_json  # noqa: PLC0415

    if not submission.is_dir():
        raise Faulty([Diagnostic(source=str(submission), line=0, message="no such folder")])
    verdict = asyncio.run(verdict_on(spec.absolute(), submission.absolute(), read_settings()))
    if as_json:
        typer.echo(json.dumps(verdict_to_json(verdict), ensure_ascii=False))
    else:
        for line in verdict.criteria:
            typer.echo(f"{line.answer:<13} {line.id}  {line.reason}")
        typer.echo(f"{verdict.answer.upper()}  snapshot {verdict.snapshot}  sandbox {verdict.sandbox or 'none'}")
    raise typer.Exit(EXIT_CODES[verdict.answer])
