"""`earnest review`: what waits for a person, and how to decide it."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from earnest.foundation.instants import rfc3339
from earnest.surfaces.cli.here import act, list_from_books, read_books
from earnest.surfaces.cli.options import JsonLines, OneJson
from earnest.surfaces.cli.printing import present, say, short

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
    as_json: JsonLines = False,
) -> None:
    """List what waits, the oldest first."""
    from earnest.views.reviews import list_reviews  # noqa: PLC0415

    views = list_from_books(lambda reader: list_reviews(reader, with_decided=everything, limit=limit))
    for view in views:
        present(_form(view), _line(view), as_json=as_json)
    if not views and not as_json:
        say("nothing waits for a decision")


@app.command()
def show(review: Name, as_json: OneJson = False) -> None:
    """Show one review: the work, the criterion, the rubric, what machines say, and the decision."""
    view = _found(review)
    present(_form(view), *_lines(view), as_json=as_json)


@app.command()
def decide(
    review: Name,
    reason: Annotated[str, typer.Option("--reason", help="Why, in a sentence; the worker reads it.")],
    approve: Annotated[bool | None, typer.Option("--approve/--reject", help="Without a rubric: yes or no.")] = None,
    score: Annotated[list[int] | None, typer.Option("--score", help="With a rubric: once for each line.")] = None,
) -> None:
    """Decide a review, for good, for this work and these criteria."""
    review_id = _found(review).review.id
    decision = act(
        lambda platform: platform.reviews.decide(
            review_id, approve=approve, scores=score or (), reason=reason, by=LOCAL
        )
    )
    say(f"{review_id}  {_told(decision)}")


def _found(review: str) -> "ReviewView":
    from earnest.views.reviews import find_review  # noqa: PLC0415

    return read_books(lambda reader: find_review(reader, review))


def _line(view: "ReviewView") -> str:
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
    scores = f" with {'+'.join(map(str, decision.scores))} points" if decision.scores else ""
    return f"{_word(decision)} by {decision.by} at {rfc3339(decision.at_ms)}{scores}: {decision.reason}"


def _word(decision: "Decision") -> str:
    return "approved" if decision.approved else "rejected"


def _form(view: "ReviewView") -> dict[str, object]:
    return {"id": view.review.id, **asdict(view)}
