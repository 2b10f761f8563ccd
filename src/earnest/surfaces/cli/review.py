"""`earnest review`: what waits for a person, and how to decide it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from earnest.verification.reviews.review import Decision
    from earnest.views.reviews import ReviewView

app = typer.Typer(help="What waits for a person's decision.", no_args_is_help=True)
WHAT_CHARACTERS = 80
LOCAL = "local"
"""Whoever may write the data directory: the only identity there is on one machine."""

Name = Annotated[str, typer.Argument(metavar="REVIEW", help="A review, a run or a snapshot, or its beginning.")]


@app.command(name="list")
def list_(
    everything: Annotated[bool, typer.Option("--all", help="Also those that are decided.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, the oldest first.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
) -> None:
    """List what waits, the oldest first."""
    from earnest.app.readers import reading_books  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.foundation.errors import Refused  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415
    from earnest.views.reviews import list_reviews  # noqa: PLC0415

    try:
        with reading_books(read_settings()) as books:
            views = books.read_sync(lambda reader: list_reviews(reader, with_decided=everything, limit=limit))
    except Refused as refusal:
        if refusal.code != "no_database":
            raise
        views = ()
    for view in views:
        if as_json:
            say_json(_form(view))
        else:
            say(_line(view))
    if not views and not as_json:
        say("nothing waits for a decision")


@app.command()
def show(review: Name, as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """Show one review: the work, the criterion, the rubric, what machines say, and the decision."""
    from earnest.app.readers import reading_books  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415
    from earnest.views.reviews import find_review  # noqa: PLC0415

    with reading_books(read_settings()) as books:
        view = books.read_sync(lambda reader: find_review(reader, review))
    if as_json:
        say_json(_form(view))
    else:
        say(*_lines(view))


@app.command()
def decide(
    review: Name,
    reason: Annotated[str, typer.Option("--reason", help="Why, in a sentence; the worker reads it.")],
    approve: Annotated[bool | None, typer.Option("--approve/--reject", help="Without a rubric: yes or no.")] = None,
    score: Annotated[list[int] | None, typer.Option("--score", help="With a rubric: once for each line.")] = None,
) -> None:
    """Decide a review, for good, for this work and these criteria."""
    import asyncio  # noqa: PLC0415

    from earnest.app.platform import open_platform  # noqa: PLC0415
    from earnest.app.readers import reading_books  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say  # noqa: PLC0415
    from earnest.views.reviews import find_review  # noqa: PLC0415

    settings = read_settings()
    with reading_books(settings) as books:
        review_id = books.read_sync(lambda reader: find_review(reader, review)).review.id

    async def work() -> "Decision":
        async with open_platform(settings) as platform:
            return await platform.reviews.decide(
                review_id, approve=approve, scores=score or (), reason=reason, by=LOCAL
            )

    say(f"{review_id}  {_told(asyncio.run(work()))}")


def _line(view: "ReviewView") -> str:
    from earnest.foundation.instants import rfc3339  # noqa: PLC0415
    from earnest.surfaces.cli.printing import short  # noqa: PLC0415

    review = view.review
    state = "waiting" if view.decision is None else _word(view.decision)
    what = f"{review.title or review.origin} · {review.criterion_id}: {review.criterion_text}"
    return f"{review.id}  {rfc3339(view.asked_ms)}  {state:<8}  {short(what, WHAT_CHARACTERS)}"


def _lines(view: "ReviewView") -> Iterator[str]:
    review = view.review
    yield _line(view)
    yield f"work      {review.origin or 'unknown'}  {review.snapshot}"
    yield f"asks      {review.criterion_text}"
    yield f"decides   {review.decider}"
    yield f"because   {review.why}"
    for flag in review.flags:
        yield f"look at   {flag}"
    for at, item in enumerate(review.rubric.items, start=1):
        yield f"score {at:<2}  0 to {item.points}, at least {item.threshold}: {item.criterion}"
    if review.rubric.threshold:
        yield f"in all    at least {review.rubric.threshold}"
    for one in view.advice:
        yield f"machines  {one.answer:<12}  {one.id}: {one.reason}"
    if view.decision is not None:
        yield f"decision  {_told(view.decision)}"


def _told(decision: "Decision") -> str:
    from earnest.foundation.instants import rfc3339  # noqa: PLC0415

    scores = f" with {'+'.join(map(str, decision.scores))} points" if decision.scores else ""
    return f"{_word(decision)} by {decision.by} at {rfc3339(decision.at_ms)}{scores}: {decision.reason}"


def _word(decision: "Decision") -> str:
    return "approved" if decision.approved else "rejected"


def _form(view: "ReviewView") -> dict[str, object]:
    from dataclasses import asdict  # noqa: PLC0415

    return {"id": view.review.id, **asdict(view)}
