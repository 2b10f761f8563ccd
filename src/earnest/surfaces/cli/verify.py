"""`earnest verify`: judge a folder by a spec."""

from pathlib import Path
from typing import Annotated, Final

import typer

EXIT_CODES: Final = {"verified": 0, "not_verified": 1, "unclear": 2}


def verify(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="A spec (earnest-spec-v1, YAML).")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that was handed in.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as one JSON object.")] = False,
) -> None:
    """Judge what was handed in.

    Exit codes: 0 verified, 1 not verified, 2 unclear, 3 bad input or usage.
    """
    import asyncio  # noqa: PLC0415

    from earnest.app.readers import submission_of, verdict_on  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415
    from earnest.verification.verdict import verdict_to_json  # noqa: PLC0415

    settings = read_settings()
    handed_in = submission_of(spec, folder)
    verdict = asyncio.run(verdict_on(handed_in, settings))
    if as_json:
        say_json(verdict_to_json(verdict))
    else:
        for criterion, line in zip(handed_in.spec.criteria, verdict.criteria, strict=True):
            say(f"{line.answer:<12}  {line.id}: {criterion.text}", f"{'':<12}  {line.reason}")
        say("", f"{verdict.answer.upper()}  {verdict.snapshot or 'nothing was taken in'}")
    raise typer.Exit(EXIT_CODES[verdict.answer])
