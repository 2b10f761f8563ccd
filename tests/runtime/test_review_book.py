"""Are questions and decisions kept once, in the books, and does nobody decide twice?"""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.foundation.errors import Refused
from earnest.runtime.review_book import ReviewBook
from earnest.verification.reviews.facts import DECIDED, WAITING
from earnest.verification.reviews.review import Decider, Review, Rubric, RubricItem
from earnest.verification.verdict import Answer, CriterionVerdict, Verdict
from earnest.views.reviews import ReviewView, find_review, list_reviews

CLOCK = VirtualClock()
REVIEW = Review(
    snapshot="sha256:" + "1" * 64,
    asked="sha256:" + "2" * 64,
    criterion_id="C2",
    criterion_text="it is beautiful",
    decider=Decider.PERSON,
    rubric=Rubric(items=(RubricItem(criterion="line", points=5),), threshold=3),
    why="a person has to judge it",
    origin="run_1",
    flags=("a flag",),
)
ADVICE = CriterionVerdict(id="C1", answer=Answer.NOT_VERIFIED, reason="a file is missing")
WAITING_ONE = CriterionVerdict(id="C2", answer=Answer.UNCLEAR, reason="waits")
VERDICT = Verdict(answer=Answer.UNCLEAR, criteria=(ADVICE, WAITING_ONE), snapshot=REVIEW.snapshot, reviews=(REVIEW,))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database.open(tmp_path / "books.sqlite3", CLOCK)
    yield opened
    opened.close()


@pytest.fixture
def book(database: Database) -> ReviewBook:
    return ReviewBook(clock=CLOCK, reading=lambda: nullcontext(database), writing=lambda: nullcontext(database))


def views(database: Database, **options: bool) -> tuple[ReviewView, ...]:
    return database.read_sync(lambda reader: list_reviews(reader, **options))


async def test_a_question_is_kept_once_with_the_advice_of_machines(database: Database, book: ReviewBook) -> None:
    await book.ask(VERDICT)
    await book.ask(VERDICT)
    assert database.last_seq == 1
    (view,) = views(database)
    assert (view.review, view.advice, view.decision) == (REVIEW, (ADVICE,), None)
    assert view.asked_ms == CLOCK.now_ms()


async def test_a_question_that_is_known_needs_no_lock(database: Database, book: ReviewBook) -> None:
    def locked() -> nullcontext[Database]:
        raise Refused("data_directory_in_use", "process 7 writes it")

    beside = ReviewBook(clock=CLOCK, reading=book.reading, writing=locked)
    with pytest.raises(Refused):
        await beside.ask(VERDICT)
    await book.ask(VERDICT)
    await beside.ask(VERDICT)


async def test_a_decision_stands_and_the_same_words_change_nothing(database: Database, book: ReviewBook) -> None:
    await book.ask(VERDICT)
    assert await book.find(REVIEW.id) is None
    first = await book.decide(REVIEW.id, approve=None, scores=(4,), reason="fine", by="local")
    CLOCK.jump_ms(1_000)
    assert await book.decide(REVIEW.id, approve=None, scores=(4,), reason="fine ", by="local") == first
    assert await book.find(REVIEW.id) == first
    assert first.approved
    for words in ({"scores": (1,)}, {"by": "other"}, {"reason": "bad"}):
        given = {"scores": (4,), "reason": "fine", "by": "local", **words}
        with pytest.raises(Refused) as caught:
            await book.decide(REVIEW.id, approve=None, **given)  # type: ignore[arg-type]
        assert caught.value.code == "review_decided"
    kinds = database.read_sync(lambda reader: [fact.kind for fact in reader.facts()])
    assert kinds == [WAITING, DECIDED]
    assert views(database) == ()
    assert [view.decision for view in views(database, with_decided=True)] == [first]


async def test_half_a_decision_is_refused_and_not_kept(database: Database, book: ReviewBook) -> None:
    await book.ask(VERDICT)
    with pytest.raises(Refused) as caught:
        await book.decide(REVIEW.id, approve=True, scores=(), reason="fine", by="local")
    assert caught.value.code == "review_incomplete"
    assert database.last_seq == 1


async def test_what_nobody_asked_is_not_decided(book: ReviewBook) -> None:
    with pytest.raises(Refused) as caught:
        await book.decide(REVIEW.id, approve=True, scores=(), reason="fine", by="local")
    assert caught.value.code == "review_unknown"


@pytest.mark.parametrize("name", [REVIEW.id, REVIEW.id[:9], REVIEW.id[4:12], "run_1", "1111", REVIEW.snapshot])
async def test_a_review_is_found_by_its_beginning_its_run_or_its_snapshot(
    database: Database, book: ReviewBook, name: str
) -> None:
    await book.ask(VERDICT)
    assert database.read_sync(lambda reader: find_review(reader, name)).review == REVIEW


@pytest.mark.parametrize("name", ["", "rev_zzz", "run_2", "2222"])
async def test_a_name_that_means_nothing_is_refused(database: Database, book: ReviewBook, name: str) -> None:
    await book.ask(VERDICT)
    with pytest.raises(Refused) as caught:
        database.read_sync(lambda reader: find_review(reader, name))
    assert caught.value.code == "review_unknown"
