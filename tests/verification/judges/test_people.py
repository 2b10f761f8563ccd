"""Is a person's decision one: complete, bound to exactly this work and these criteria, and nobody else's?"""

from dataclasses import replace
from pathlib import Path

import pytest

from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Refused, Unavailable
from earnest.testing.check_conformance import CheckCase, CheckConformance
from earnest.testing.model_server import ModelServer
from earnest.testing.scripted_judge import approves
from earnest.verification.checks import human, proposer_review
from earnest.verification.plugin import ConfiguredCheck, Promise
from earnest.verification.reviews.review import Decider, Decision, Review, Rubric, RubricItem, decide
from earnest.verification.verdict import Answer, Cause, Verdict

from .judging_cases import GOOD, judged, model_at

RUBRIC: JsonObject = {
    "rubric": [{"criterion": "clear", "points": 5, "threshold": 2}, {"criterion": "right", "points": 5}],
    "threshold": 6,
}
REVIEW = Review(
    snapshot="sha256:1",
    asked="sha256:2",
    criterion_id="C1",
    criterion_text="x",
    decider=Decider.PERSON,
    rubric=Rubric(
        items=(
            RubricItem(criterion="clear", points=5, threshold=2),
            RubricItem(criterion="right", points=5),
        ),
        threshold=6,
    ),
    why="a person has to judge it",
)


class Desk:
    """Reviews in a list; whoever is asked decides as told, or not at all."""

    def __init__(self, **words: object) -> None:
        self.asked: list[Review] = []
        self.decisions: dict[str, Decision] = {}
        self.words = words

    async def find(self, review_id: str, /) -> Decision | None:
        return self.decisions.get(review_id)

    async def ask(self, verdict: Verdict, /) -> None:
        self.asked += verdict.reviews
        for review in verdict.reviews if self.words else ():
            words = {"approve": None, "scores": (), "reason": "seen", **self.words}
            self.decisions[review.id] = decide(review, by="local", at_ms=1, **words)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["human", "proposer_review"])
@pytest.mark.parametrize(
    ("config", "words", "answer"),
    [
        ({}, {"approve": True}, Answer.VERIFIED),
        ({}, {"approve": False}, Answer.NOT_VERIFIED),
        (RUBRIC, {"scores": (3, 3)}, Answer.VERIFIED),
        (RUBRIC, {"scores": (1, 5)}, Answer.NOT_VERIFIED),
        (RUBRIC, {"scores": (2, 3)}, Answer.NOT_VERIFIED),
    ],
)
async def test_it_waits_for_a_person_and_is_then_what_the_person_said(
    tmp_path: Path, kind: str, config: JsonObject, words: dict[str, object], answer: Answer
) -> None:
    desk = Desk(**words)
    first = await judged(tmp_path, GOOD, None, kind=kind, config=config, reviews=desk)
    assert (first.answer, first.criteria[0].cause) == (Answer.UNCLEAR, Cause.VERIFIER)
    assert f"earnest review decide {desk.asked[0].id}" in first.criteria[0].reason
    second = await judged(tmp_path, GOOD, None, kind=kind, config=config, reviews=desk)
    assert second.answer is answer
    assert "by local" in second.criteria[0].reason
    assert "seen" in second.criteria[0].reason
    assert len(desk.asked) == 1


async def test_a_decision_is_for_one_work_and_one_question_only(tmp_path: Path) -> None:
    desk = Desk(approve=True)
    await judged(tmp_path / "1", GOOD, None, kind="human", config={}, reviews=desk)
    others: list[dict[str, object]] = [
        {"work": {"report.md": b"something else"}},
        {"promise": Promise(text="another task")},
        {"kind": "proposer_review"},
        {"config": RUBRIC},
    ]
    desk.words = {}
    for at, other in enumerate(others):
        options = {"work": GOOD, "kind": "human", "config": {}, **other}
        work = options.pop("work")
        verdict = await judged(tmp_path / f"other{at}", work, None, reviews=desk, **options)  # type: ignore[arg-type]
        assert verdict.answer is Answer.UNCLEAR
    assert (await judged(tmp_path / "1", GOOD, None, kind="human", config={}, reviews=desk)).answer is Answer.VERIFIED


async def test_a_decision_filed_under_another_question_settles_nothing(tmp_path: Path) -> None:
    desk = Desk(approve=True)
    await judged(tmp_path, GOOD, None, kind="human", config={}, reviews=desk)
    (identity, decision), *_ = desk.decisions.items()
    desk.decisions[identity] = replace(decision, snapshot="sha256:0")
    assert (await judged(tmp_path, GOOD, None, kind="human", config={}, reviews=desk)).answer is Answer.UNCLEAR


@pytest.mark.parametrize("approve", [True, False])
async def test_a_person_decides_where_a_model_was_not_enough(tmp_path: Path, approve: bool) -> None:
    work = {"report.md": b"All is\xe2\x80\x8bwell."}
    desk = Desk(approve=approve)
    async with ModelServer(approves) as server:
        first = await judged(tmp_path, work, model_at(server.base_url), reviews=desk)
        second = await judged(tmp_path, work, model_at(server.base_url), reviews=desk)
    assert first.answer is Answer.UNCLEAR
    assert desk.asked[0].flags == ("a hidden character in 'report.md', line 1: 'All is\\u200bwell.'",)
    assert second.answer is (Answer.VERIFIED if approve else Answer.NOT_VERIFIED)
    assert len(server.chats) == 2  # nobody asks a model after a person has spoken


@pytest.mark.parametrize("error", [Refused("data_directory_in_use", "process 7 writes it"), Unavailable("disk away")])
async def test_a_queue_that_takes_nothing_is_said(tmp_path: Path, error: Exception) -> None:
    class Closed(Desk):
        async def ask(self, verdict: Verdict, /) -> None:
            raise error

    verdict = await judged(tmp_path, GOOD, None, kind="human", config={}, reviews=Closed())
    assert verdict.answer is Answer.UNCLEAR
    assert f"could not be put in the queue: {error}" in verdict.criteria[0].reason


@pytest.mark.parametrize(
    "words",
    [
        {"scores": ()},
        {"scores": (1,)},
        {"scores": (1, 2, 3)},
        {"scores": (6, 0)},
        {"scores": (-1, 5)},
        {"scores": (3, 3), "approve": True},
        {"approve": True},
        {"scores": (3, 3), "reason": " "},
        {"scores": (3, 3), "reason": "x" * 5_000},
    ],
)
def test_half_a_decision_is_refused(words: dict[str, object]) -> None:
    given = {"approve": None, "scores": (3, 3), "reason": "seen", **words}
    with pytest.raises(Refused) as caught:
        decide(REVIEW, by="local", at_ms=1, **given)  # type: ignore[arg-type]
    assert caught.value.code == "review_incomplete"


@pytest.mark.parametrize("approve", [None])
def test_without_a_rubric_somebody_says_yes_or_no(approve: bool | None) -> None:
    plain = replace(REVIEW, rubric=Rubric())
    for scores in ((), (1,)):
        with pytest.raises(Refused):
            decide(plain, approve=approve, scores=scores, reason="seen", by="local", at_ms=1)


@pytest.mark.parametrize(
    ("config", "part"),
    [
        ({"rubric": [{"criterion": "clear", "points": 5}]}, "give a threshold"),
        ({"rubric": [{"criterion": "clear", "points": 5}], "threshold": 6}, "must be 0 to 5"),
        ({"rubric": [{"criterion": "clear", "points": 5, "threshold": 6}]}, "must be 0 to 5"),
        ({"rubric": []}, "1 to 20 items"),
        ({"threshold": 3}, "give one"),
        ({"rubrik": []}, "did you mean 'rubric'?"),
    ],
)
def test_a_rubric_that_decides_nothing_is_a_fault(config: JsonObject, part: str) -> None:
    assert any(part in fault.message for fault in human.CHECK.config_faults(config, None))


@pytest.mark.parametrize("check", [human.CHECK, proposer_review.CHECK], ids=lambda check: check.kind)
class TestConformance(CheckConformance):
    """They keep the contract of checks; that good work waits for somebody is told above."""

    @pytest.fixture
    def case(self, check: ConfiguredCheck[Rubric]) -> CheckCase:
        return CheckCase(check=check, config=RUBRIC, submission=GOOD)

    def test_an_empty_and_an_unknown_config_are_faulty(self, case: CheckCase) -> None:
        assert list(case.check.config_faults({}, None)) == []
        assert case.check.config_faults({"no_such_key": 1}, None)

    async def test_good_work_is_verified(self, case: CheckCase, tmp_path: Path) -> None:
        desk = Desk(scores=(5, 5))
        for answer in (Answer.UNCLEAR, Answer.VERIFIED):
            verdict = await judged(tmp_path, GOOD, None, kind=case.check.kind, config=RUBRIC, reviews=desk)
            assert verdict.answer is answer
