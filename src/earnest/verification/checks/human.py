"""Check kinds decided by people, `human` here: a person finds by a rubric that the work meets the criterion."""

from earnest.verification.plugin import CheckTools, ConfiguredCheck, Findings, Subject
from earnest.verification.reviews.asking import decided, decision_on, review_about, waiting
from earnest.verification.reviews.review import Decider, Rubric, read_rubric


def person_check(kind: str, decider: Decider) -> ConfiguredCheck[Rubric]:
    """See docs/checks/human.md and docs/checks/proposer_review.md: the kinds differ in who may decide."""

    async def measure(rubric: Rubric, subject: Subject, tools: CheckTools) -> Findings:
        """Without a decision the findings name the review that waits for one."""
        review = review_about(subject, tools.criterion, decider=decider, rubric=rubric, why="no machine decides it")
        decision = await decision_on(review, tools)
        return waiting(review) if decision is None else decided(decision)

    return ConfiguredCheck(kind=kind, version=1, read=read_rubric, measure=measure, reproducible=False)


CHECK = person_check("human", Decider.PERSON)
