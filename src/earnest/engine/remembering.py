"""R7 as the only writer of memory: its answers to requests and to verdicts of others, and the rules that it blames."""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from earnest.effects.ground.bus.api import Envelope
from earnest.engine.gradient.blocking import logically_failing
from earnest.engine.gradient.cascade import MacroState
from earnest.engine.gradient.constants import Constants
from earnest.engine.gradient.lessons import CONTENT_CHARACTERS_MAX, Lesson
from earnest.engine.gradient.trajectory import Observation
from earnest.engine.memory_messages import (
    FeedbackGiven,
    ForgetRequested,
    MegramEmitted,
    MegramWithdrawn,
    Recollection,
    RememberRequested,
)
from earnest.engine.messages import PlanReady, Role
from earnest.foundation.errors import Refused
from earnest.foundation.text import head_tail
from earnest.memory.megram import NO_RUN, NOTES, Level, Tag, intent_tag

SESSION: Final = NO_RUN
"""The run of what is said between runs."""


def answer(request: Envelope, at_ms: int) -> Envelope:
    """What R7 says to a RememberRequested, ForgetRequested or FeedbackGiven, caused by it.

    Raises `Refused("note_too_long")` for a text that is not 1 to CONTENT_CHARACTERS_MAX characters.
    """
    payload: object
    match request.payload:
        case RememberRequested() as wanted:
            payload = MegramEmitted(megram_id=request.id, lesson=_note(wanted))
        case ForgetRequested(megram_id=megram_id):
            payload = MegramWithdrawn(megram_id=megram_id)
        case FeedbackGiven() as given:
            payload = MegramEmitted(megram_id=request.id, lesson=_verdict(given))
        case other:
            raise TypeError(f"R7 has no answer to {type(other).__name__}")
    return Envelope(
        id=f"{request.id}/answer",
        run_id=request.run_id,
        sender=Role.R7,
        causation_id=request.id,
        at_ms=at_ms,
        payload=payload,
    )


def preferring(recollections: Collection[Recollection]) -> dict[str, Tag]:
    """The rules that say what to do, by their ids, with the pair that each belongs to.

    A user's notes are not among them: they are for the user to take back.
    """
    return {
        rule.id: given.tag for given in recollections if given.tag != NOTES for rule in given.rules if not rule.avoid
    }


def dissonances(
    plan: PlanReady | None,
    rules: Mapping[str, Tag],
    observation: Observation | None,
    lessons: Collection[Lesson],
    constants: Constants,
) -> Iterator[tuple[str, Lesson]]:
    """Rules that the plan followed and the lesson against each, if something failed logically under it.

    This is the seed's RecordNegativeFeedback: memory is not changed, something is added that speaks against it. A pair
    that the round already teaches something about gets no second lesson. A rule against something is refuted only by
    its success, which the round's own lessons tell.
    """
    if plan is None or observation is None or not logically_failing(observation.judged, constants):
        return
    taught = {lesson.tag for lesson in lessons}
    for rule_id in plan.rules:
        tag = rules.get(rule_id)
        if tag is not None and tag not in taught:
            content = f"The rule {rule_id} was followed in round {plan.round}, and the work failed."
            yield rule_id, Lesson(state=MacroState.CHANGE_APPROACH, tag=tag, content=content)


def _verdict(given: FeedbackGiven) -> Lesson:
    """What others found counts as what a run of its own finds: the task was met, or its approach was wrong."""
    state = MacroState.ACCEPT if given.is_good else MacroState.CHANGE_APPROACH
    said = f"{given.job}: {given.why} Criteria: {'; '.join(given.criteria)}"
    return Lesson(state=state, tag=intent_tag(given.task_class), content=head_tail(said, CONTENT_CHARACTERS_MAX))


def _note(wanted: RememberRequested) -> Lesson:
    if not 1 <= len(wanted.text.strip()) <= CONTENT_CHARACTERS_MAX:
        raise Refused("note_too_long", f"a note has 1 to {CONTENT_CHARACTERS_MAX} characters")
    state = MacroState.ABANDON if wanted.avoid else MacroState.ACCEPT
    return Lesson(state=state, tag=wanted.tag, content=wanted.text.strip(), level=Level.C)
