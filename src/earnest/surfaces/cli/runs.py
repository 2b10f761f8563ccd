"""`earnest runs` and `earnest show`: what was run, and what happened in it."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from earnest.views.runs import RoundView, RunLine, RunView

INTENT_CHARACTERS = 60


def runs(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, the newest first.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """List runs, the newest first."""
    from earnest.app.readers import reading_books  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.foundation.errors import Refused  # noqa: PLC0415
    from earnest.views.runs import list_runs  # noqa: PLC0415

    try:
        with reading_books(read_settings()) as books:
            lines = books.read_sync(lambda reader: list_runs(reader, limit))
    except Refused as refusal:
        if refusal.code != "no_database":
            raise
        lines = ()
    for line in lines:
        typer.echo(_json_line(line) if as_json else _text_line(line))
    if not lines and not as_json:
        typer.echo("no runs yet; try `earnest run PLAYBOOK`")


def show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's id, or its beginning.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show a run: criteria, evidence, rounds, and what was remembered."""
    from earnest.app.readers import reading_books  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.views.runs import show_run  # noqa: PLC0415

    with reading_books(read_settings()) as books:
        view = books.read_sync(lambda reader: show_run(reader, run))
    if as_json:
        typer.echo(_json_view(view))
    else:
        for text in _view_lines(view):
            typer.echo(text)


def _status(line: "RunLine") -> str:
    return line.result.directive if line.result else "unfinished"


def _text_line(line: "RunLine") -> str:
    from earnest.foundation.instants import duration_text, rfc3339  # noqa: PLC0415
    from earnest.foundation.text import printable  # noqa: PLC0415

    spent = duration_text(line.result.elapsed_ms) if line.result else ""
    intent = printable(line.intent[:INTENT_CHARACTERS])
    return f"{line.run_id}  {rfc3339(line.started_ms)}  {_status(line):<10}  {spent:>8}  {intent}"


def _json_line(line: "RunLine") -> str:
    import json  # noqa: PLC0415

    form = {
        "run": line.run_id,
        "started_ms": line.started_ms,
        "source": line.source,
        "intent": line.intent,
        "status": _status(line),
        "elapsed_ms": line.result.elapsed_ms if line.result else None,
    }
    return json.dumps(form, ensure_ascii=False)


def _json_view(view: "RunView") -> str:
    import json  # noqa: PLC0415

    from earnest.engine.codec import encode  # noqa: PLC0415

    def messages(one: "RoundView") -> list[object]:
        found = [one.plan, *one.calls, *one.outcomes, one.judgement, one.directive]
        return [{"kind": type(message).__name__, **encode(message)} for message in found if message is not None]

    result = view.line.result
    form = {
        **json.loads(_json_line(view.line)),
        "resumed": view.resumed,
        "facts": view.facts,
        "unknown_effects": view.unknown_effects,
        "rounds": [{"round": one.number, "messages": messages(one)} for one in view.rounds],
        "remembered": [encode(megram) for megram in view.remembered],
        "result": encode(result) if result else None,
    }
    return json.dumps(form, ensure_ascii=False)


def _view_lines(view: "RunView") -> "list[str]":
    from earnest.foundation.text import printable  # noqa: PLC0415
    from earnest.surfaces.cli.lines import ending_lines, lines_of  # noqa: PLC0415

    found = [_text_line(view.line), f"from {view.line.source}, {view.facts} facts, resumed {view.resumed} times"]
    for one in view.rounds:
        messages = (one.plan, *one.calls, *one.outcomes, one.judgement, one.directive)
        found += ["", *(f"  {text}" for message in messages for text, _ in lines_of(message))]
    found += ["", "remembered:" if view.remembered else "nothing was remembered"]
    for megram in view.remembered:
        lesson = megram.lesson
        found.append(f"  {lesson.state:<16} {lesson.tag.space} · {lesson.tag.entity}: {printable(lesson.content)}")
    found += [f"unknown effect: {key}" for key in view.unknown_effects]
    result = view.line.result
    if result is not None:
        found += ["", *ending_lines(result)]
    return found
