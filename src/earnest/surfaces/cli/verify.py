"""`earnest verify`: judge work by a specification, or try the specification itself. `earnest replay`: judge again."""

from pathlib import Path
from typing import Annotated

import typer

EXIT_CODES = {"verified": 0, "not_verified": 1, "unclear": 2}
REPLAY_CODES = {"agrees": 0, "disagrees": 1, "different_now": 2, "not_comparable": 2}


def verify(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="A specification (earnest-spec-v1, YAML).")],
    submission: Annotated[
        Path | None, typer.Argument(metavar="SUBMISSION", help="The folder, tar or zip that was handed in.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
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

    Exit codes: 0 verified, 1 not verified, 2 unclear, 3 bad input or usage.
    """
    if lint == (submission is not None):
        raise typer.BadParameter("give SPEC and SUBMISSION, or --lint and SPEC")
    if submission is None:
        _lint(spec, as_json=as_json)
    else:
        _judge(spec, submission, as_json=as_json, keep=keep)


def replay(
    verdict: Annotated[str, typer.Argument(metavar="VERDICT", help="The id of a kept verdict, or how it begins.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as one JSON object.")] = False,
) -> None:
    """Judge again what a kept verdict was about: it must agree.

    Exit codes: 0 it agrees, 1 it disagrees, 2 it cannot be compared, 3 bad input or usage.
    """
    import asyncio  # noqa: PLC0415

    from earnest.app.readers import replay_of  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415
    from earnest.verification.verdict import verdict_to_json  # noqa: PLC0415

    found = asyncio.run(replay_of(verdict, read_settings()))
    if as_json:
        rows = [{"id": one.id, "agreement": one.agreement.value, "detail": one.detail} for one in found.comparisons]
        told = {"id": found.kept.id, "criteria": rows, "now": verdict_to_json(found.verdict)}
        say_json(told)
    else:
        say(*(f"{one.agreement:<15} {one.id}  {one.detail}" for one in found.comparisons))
    codes = {REPLAY_CODES[one.agreement] for one in found.comparisons}
    raise typer.Exit(1 if 1 in codes else max(codes))


def _judge(spec: Path, submission: Path, *, as_json: bool, keep: bool | None) -> None:
    import asyncio  # noqa: PLC0415

    from earnest.app.readers import submission_of, verdict_on  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.surfaces.cli.printing import complain, say, say_json  # noqa: PLC0415
    from earnest.verification.verdict import verdict_to_json  # noqa: PLC0415

    settings = read_settings()
    handed_in = submission_of(spec, submission)
    judged = asyncio.run(verdict_on(handed_in, settings, keep=keep))
    verdict = judged.verdict
    if as_json:
        say_json({**verdict_to_json(verdict), **({"id": judged.id} if judged.id else {})})
    else:
        for criterion, line in zip(handed_in.spec.criteria, verdict.criteria, strict=True):
            say(f"{line.answer:<12}  {line.id}: {criterion.text}", f"{'':<12}  {line.reason}")
        say("", f"{verdict.answer.upper()}  {verdict.snapshot or 'nothing was taken in'}")
        if judged.id:
            say(f"kept as {judged.id}")
    if judged.unkept:
        complain([f"the verdict is not kept: {judged.unkept}"])
    raise typer.Exit(EXIT_CODES[verdict.answer])


def _lint(spec: Path, *, as_json: bool) -> None:
    import asyncio  # noqa: PLC0415
    from dataclasses import asdict  # noqa: PLC0415

    from earnest.app.readers import lint_of  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.foundation.errors import Diagnostic, Faulty  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415

    found = asyncio.run(lint_of(spec, read_settings()))
    if as_json:
        say_json({"complaints": [asdict(one) for one in found]})
    else:
        say(*(f"note: {one.criterion}: {one.message}" for one in found if not one.is_grave))
    grave = [one for one in found if one.is_grave]
    if grave:
        raise Faulty(
            Diagnostic(source=str(spec), line=one.line, message=f"{one.criterion}: {one.message}") for one in grave
        )
    untried = any(one.is_untried for one in found)
    if not as_json:
        say("not every check could be tried" if untried else "every check that can be tried refuses worthless work")
    raise typer.Exit(EXIT_CODES["unclear"] if untried else 0)
