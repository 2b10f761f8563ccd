"""A check that asks a person: it looks whether one has decided; if not, its findings say that one must."""

from earnest.contracts.criterion import Criterion, criterion_to_json
from earnest.foundation.canonical import digest_of
from earnest.foundation.text import printable
from earnest.verification.plugin import CheckTools, Findings, Subject
from earnest.verification.reviews.review import Decider, Decision, Review, Rubric


def review_about(
    subject: Subject, criterion: Criterion, *, decider: Decider, rubric: Rubric, why: str, flags: tuple[str, ...] = ()
) -> Review:
    """The question whether the work meets `criterion`."""
    promise = subject.promise
    judged_by = [criterion_to_json(each) for each in (criterion, *subject.criteria)]
    return Review(
        snapshot=subject.snapshot.digest,
        asked=digest_of([promise.title, promise.text, judged_by]),
        criterion_id=criterion.id,
        criterion_text=criterion.text,
        decider=decider,
        rubric=rubric,
        why=why,
        title=promise.title,
        origin=promise.origin,
        flags=flags,
    )


async def decision_on(review: Review, tools: CheckTools) -> Decision | None:
    """What a person decided about exactly this, or None."""
    if tools.judges.reviews is None:
        return None
    decision = await tools.judges.reviews.find(review.id)
    return decision if decision is not None and decision.settles(review) else None


def decided(decision: Decision) -> Findings:
    """A person's word as findings. It closes the flags: they were what the person was asked to look at."""
    word = "approved" if decision.approved else "rejected"
    scores = f" with {', '.join(map(str, decision.scores))} points" if decision.scores else ""
    return Findings(
        passed=decision.approved,
        reason=f"{word} by {printable(decision.by)}{scores}: {printable(decision.reason)}",
        evidence=(decision.review_id,),
    )


def waiting(review: Review, *, passed: bool | None = None) -> Findings:
    """Nobody has decided yet. `passed` is what a machine would say alone."""
    who = "whoever asked for the work" if review.decider is Decider.CREATOR else "a person"
    reason = f"{review.why}: {who} has to decide (`earnest review decide {review.id}`)"
    return Findings(passed=passed, reason=reason, flags=review.flags, review=review)
