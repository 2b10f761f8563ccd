"""`earnest verify`: judge a folder by a specification."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from earnest.verification.verdict import Verdict

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

    from earnest.verification.verdict import verdict_to_json  # noqa: PLC0415

    verdict = asyncio.run(_judge(spec, submission))
    if as_json:
        typer.echo(json.dumps(verdict_to_json(verdict), ensure_ascii=False))
    else:
        for line in verdict.criteria:
            typer.echo(f"{line.answer:<13} {line.id}  {line.reason}")
        typer.echo(f"{verdict.answer.upper()}  snapshot {verdict.snapshot}  sandbox {verdict.sandbox or 'none'}")
    raise typer.Exit(EXIT_CODES[verdict.answer])


async def _judge(spec_path: Path, submission: Path) -> "Verdict":
    from earnest.app.sandboxes import open_for  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.effects.clock import SystemClock  # noqa: PLC0415
    from earnest.foundation.errors import Diagnostic, Faulty  # noqa: PLC0415
    from earnest.runtime.submission import read_spec  # noqa: PLC0415
    from earnest.verification.registry import Registry  # noqa: PLC0415
    from earnest.verification.service import Verifier  # noqa: PLC0415

    clock, settings = SystemClock(), read_settings()
    if not submission.is_dir():
        raise Faulty([Diagnostic(source=str(submission), line=0, message="no such folder")])
    sandbox = await open_for(settings, clock)
    try:
        verifier = Verifier(registry=Registry(), sandbox=sandbox, clock=clock)
        spec = read_spec(spec_path, verifier)
        return await verifier.verify(spec.criteria, submission, base_folder=spec_path.absolute().parent)
    finally:
        await sandbox.close()
