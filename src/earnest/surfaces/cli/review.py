"""`earnest review`: what waits for a person, and how to decide it."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from earnest.verification.reviews.review import Decision
    from earnest.views.reviews import ReviewView

app = typer.Typer(help="What waits for a person's decision.", no_args_is_help=True)
LOCAL = "local"
"""Whoever may write the data directory: the only identity there is on one machine."""

Name = Annotated[str, typer.Argument(metavar="REVIEW", help="A review, a run or a snapshot, or its beginning.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON: one object a review.")]


@app.command(name="list")
def list_(
    everything: Annotated[bool, typer.Option("--all", help="Also those that are decided.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, the oldest first.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List what waits, the oldest first."""
    from earnest.app.readers import reading_books  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.foundation.errors import Refused  # noqa: PLC0415
    from earnest.views.reviews import list_reviews  # noqa: PLC0415

    try:
        with reading_books(read_settings()) as books:
            views = books.read_sync(lambda reader: list_reviews(reader, with_decided=everything, limit=limit))
    except Refused as refusal:
        if refusal.code != "no_database":
            raise
        views = ()
    for view in views:
        typer.echo(_json(view) if as_json else _line(view))
    if not views and not as_json:
        typer.echo("nothing waits for a decision")


@app.command()
def show(review: Name, as_json: AsJson = False) -> None:
    """Show one review: the work, the criterion, the rubric, what machines say, and the decision."""
    from earnest.app.readers import reading_books  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.views.reviews import find_review  # noqa: PLC0415

    with reading_books(read_settings()) as books:
        view = books.read_sync(lambda reader: find_review(reader, review))
    for text in [_json(view)] if as_json else _lines(view):
        typer.echo(text)


@app.command()
def decide(
    review: Name,
    reason: Annotated[str, typer.Option("--reason", help="Why, in a sentence; the worker reads it.")],
    approve: Annotated[bool | None, typer.Option("--approve/--reject", help="Without a rubric: yes or no.")] = None,
    score: Annotated[list[int] | None, typer.Option("--score", help="With a rubric: once for each line.")] = None,
) -> None:
    """Decide a review, once and for good. It counts for exactly this work and these criteria."""
    import asyncio  # noqa: PLC0415

    from earnest.app.platform import open_platform  # noqa: PLC0415
    from earnest.app.readers import reading_books  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.views.reviews import find_review  # noqa: PLC0415

    settings = read_settings()
    with reading_books(settings) as books:
        review_id = books.read_sync(lambda reader: find_review(reader, review)).review.id

    async def work() -> "Decision":
        async with open_platform(settings) as platform:
            return await platform.reviews.decide(
                review_id, approve=approve, scores=score or (), reason=reason, by=LOCAL
            )

    typer.echo(f"{review_id}  {_decided(asyncio.run(work()))}")


def _line(view: "ReviewView") -> str:
    from earnest.foundation.instants import rfc3339  # noqa: PLC0415
    from earnest.foundation.text import printable  # noqa: PLC0415

    review = view.review
    state = "waiting" if view.decision is None else "approved" if view.decision.approved else "rejected"
    what = printable(f"{review.title or review.origin} · {review.criterion_id}: {review.criterion_text}")
    return f"{review.id}  {rfc3339(view.asked_ms)}  {state:<8}  {what}"


def _lines(view: "ReviewView") -> "list[str]":
    from earnest.foundation.text import printable  # noqa: PLC0415

    review = view.review
    found = [
        _line(view),
        f"work      {printable(review.origin) or 'unknown'}  {review.snapshot}",
        f"decides   {review.decider}",
        f"because   {printable(review.why)}",
    ]
    found += [f"look at   {printable(flag)}" for flag in review.flags]
    for at, item in enumerate(review.rubric.items, start=1):
        found.append(f"score {at}   0 to {item.points}, at least {item.threshold}: {printable(item.criterion)}")
    if review.rubric.items:
        found.append(f"in all    at least {review.rubric.threshold}")
    found += [f"machines  {one.answer:<12}  {one.id}: {printable(one.reason)}" for one in view.advice]
    if view.decision is not None:
        found.append(f"decision  {_decided(view.decision)}")
    return found


def _decided(decision: "Decision") -> str:
    from earnest.foundation.instants import rfc3339  # noqa: PLC0415
    from earnest.foundation.text import printable  # noqa: PLC0415

    word = "approved" if decision.approved else "rejected"
    scores = f" with {'+'.join(map(str, decision.scores))} points" if decision.scores else ""
    return f"{word} by {printable(decision.by)} at {rfc3339(decision.at_ms)}{scores}: {printable(decision.reason)}"


def _json(view: "ReviewView") -> str:
    import json  # noqa: PLC0415
    from dataclasses import asdict  # noqa: PLC0415

    return json.dumps({"id": view.review.id, **asdict(view)}, ensure_ascii=False)
