"""`earnest review`: what waits for a person, and how to decide it."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from earnest.foundation.instants import rfc3339
from earnest.surfaces.cli.here import act, list_from_books, read_books
from earnest.surfaces.cli.options import Group, Whole, json_lines_option, one_json_option
from earnest.surfaces.cli.printing import present, say, short

if TYPE_CHECKING:
    from earnest.verification.reviews.review import Decision
    from earnest.views.reviews import ReviewView


@click.group(cls=Group)
def review() -> None:
    """What waits for a person's decision."""


WHAT_CHARACTERS = 80
LOCAL = "local"
"""Whoever may write the data directory: the only identity there is on one machine."""

name_argument = click.argument("review", help="A review, a run or a snapshot, or its beginning.")


@review.command("list")
@click.option("--all", "everything", is_flag=True, help="Also those that are decided.")
@click.option("--limit", type=Whole(1, 1000), default=50, show_default=True, help="How many, the oldest first.")
@json_lines_option
def list_(*, everything: bool, limit: int, as_json: bool) -> None:
    """List what waits, the oldest first."""
    from earnest.views.reviews import list_reviews  # noqa: PLC0415

    views = list_from_books(lambda reader: list_reviews(reader, with_decided=everything, limit=limit))
    for view in views:
        present(_form(view), _line(view), as_json=as_json)
    if not views and not as_json:
        say("nothing waits for a decision")


@review.command()
@name_argument
@one_json_option
def show(*, review: str, as_json: bool) -> None:
    """Show one review: the work, the criterion, the rubric, what machines say, and the decision."""
    view = _found(review)
    present(_form(view), *_lines(view), as_json=as_json)


@review.command()
@name_argument
@click.option("--reason", required=True, help="Why, in a sentence; the worker reads it.")
@click.option("--approve/--reject", default=None, help="Without a rubric: yes or no.")
@click.option("--score", multiple=True, type=Whole(0), help="With a rubric: once for each line.")
def decide(*, review: str, reason: str, approve: bool | None, score: tuple[int, ...]) -> None:
    """Decide a review, for good, for this work and these criteria."""
    review_id = _found(review).review.id
    decision = act(
        lambda platform: platform.reviews.decide(review_id, approve=approve, scores=score, reason=reason, by=LOCAL)
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
