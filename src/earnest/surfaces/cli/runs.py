"""`earnest runs` and `earnest show`: what was run, and what happened in it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from earnest.foundation.instants import duration_text, rfc3339
from earnest.surfaces.cli.here import list_from_books, read_books, settings_of
from earnest.surfaces.cli.options import Whole, json_lines_option, run_argument
from earnest.surfaces.cli.printing import present, say, say_json, short

if TYPE_CHECKING:
    from earnest.engine.messages import ToolCalled
    from earnest.views.runs import RoundView, RunLine, RunView

INTENT_CHARACTERS = 60
CHANGES_SHOWN_MAX = 5
NO_RUNS = "no runs yet; try `earnest run PLAYBOOK`"


@click.command()
@click.option(
    "--limit", type=Whole(1, 1000), metavar="N", default=20, show_default=True, help="How many, the newest first."
)
@json_lines_option
def runs(*, limit: int, as_json: bool) -> None:
    """List runs, the newest first."""
    from earnest.views.runs import list_runs  # noqa: PLC0415

    lines = list_from_books(lambda reader: list_runs(reader, limit))
    for line in lines:
        present(_line_form(line), run_line(line), as_json=as_json)
    if not lines and not as_json:
        say(NO_RUNS)


@click.command()
@run_argument
@click.option("--log", is_flag=True, help="Show what models were told and answered instead.")
@click.option("--plot", is_flag=True, help="Draw the loss over the rounds, too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; with --log, one a line.")
def show(*, run: str | None, log: bool, plot: bool, as_json: bool) -> None:
    """Show a run: criteria, evidence, rounds, and what was remembered."""
    from earnest.surfaces.charts import terminal  # noqa: PLC0415
    from earnest.surfaces.cli.task_log import print_log  # noqa: PLC0415
    from earnest.surfaces.loss import loss_chart  # noqa: PLC0415
    from earnest.views.runs import newest_run, show_run  # noqa: PLC0415

    settings = settings_of()
    view = read_books(lambda reader: show_run(reader, run or newest_run(reader)), settings)
    if log:
        print_log(settings, view.line.run_id, as_json=as_json)
    elif as_json:
        say_json(_view_form(view))
    else:
        say(*_view_lines(view))
        if plot:
            say("", *terminal(loss_chart(view)))


def _status(line: "RunLine") -> str:
    return line.result.directive if line.result else "unfinished"


def run_line(line: "RunLine") -> str:
    """A run in one line."""
    spent = duration_text(line.result.elapsed_ms) if line.result else ""
    intent = short(line.intent, INTENT_CHARACTERS)
    return f"{line.run_id}  {rfc3339(line.started_ms)}  {_status(line):<10}  {spent:>8}  {intent}"


def _line_form(line: "RunLine") -> dict[str, object]:
    return {
        "run": line.run_id,
        "started_ms": line.started_ms,
        "source": line.source,
        "intent": line.intent,
        "status": _status(line),
        "elapsed_ms": line.result.elapsed_ms if line.result else None,
    }


def _view_form(view: "RunView") -> dict[str, object]:
    from earnest.engine.codec import encode  # noqa: PLC0415

    def messages(one: "RoundView") -> list[dict[str, object]]:
        return [{"kind": type(message).__name__, **encode(message)} for message in one.messages]

    result = view.line.result
    return {
        **_line_form(view.line),
        "resumed": view.resumed,
        "facts": view.facts,
        "unknown_effects": view.unknown_effects,
        "rounds": [{"round": one.number, "messages": messages(one)} for one in view.rounds],
        "remembered": [encode(megram) for megram in view.remembered],
        "result": encode(result) if result else None,
    }


def _view_lines(view: "RunView") -> Iterator[str]:
    from earnest.engine.messages import ToolCalled  # noqa: PLC0415
    from earnest.surfaces.cli.lines import Teller, ending_lines  # noqa: PLC0415

    yield run_line(view.line)
    resumed = f", resumed {view.resumed} time{'s' * (view.resumed != 1)}" if view.resumed else ""
    yield f"{view.line.source}, {view.facts} facts{resumed}"
    teller = Teller()
    for one in view.rounds:
        yield ""
        for message in one.messages:
            yield from (f"  {text}" for text, _ in teller.lines_of(message))
            if isinstance(message, ToolCalled) and message.record.changed:
                yield f"    {_changed(message)}"
    yield from ("", "remembered:" if view.remembered else "nothing was remembered")
    for megram in view.remembered:
        lesson = megram.lesson
        yield f"  {lesson.state:<15}  {lesson.tag.space} · {lesson.tag.entity}: {lesson.content}"
    yield from (f"unknown effect: {key}" for key in view.unknown_effects)
    yield ""
    if view.line.result is None:
        yield f"UNFINISHED  `earnest resume {view.line.run_id}` goes on"
    else:
        yield from ending_lines(view.line.result)


def _changed(called: "ToolCalled") -> str:
    """Which paths the call changed or removed, and how large they now are."""
    changes = called.record.changed
    told = [f"{c.path} removed" if c.digest is None else f"{c.path} {c.size_bytes} bytes" for c in changes]
    more = len(told) - CHANGES_SHOWN_MAX
    return f"changed: {', '.join(told[:CHANGES_SHOWN_MAX])}{f' and {more} more' if more > 0 else ''}"
