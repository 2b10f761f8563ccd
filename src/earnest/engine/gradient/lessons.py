"""What a run leaves for the next one to remember, and its tags."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from earnest.engine.gradient.blocking import SubTaskTrial, failed_targets, failures_of, logically_failing, passing
from earnest.engine.gradient.cascade import MacroState, SolverDecision, Trend
from earnest.engine.gradient.constants import Constants
from earnest.engine.gradient.loss import failure_class_of
from earnest.engine.gradient.trajectory import Observation, Round, Trajectory
from earnest.foundation.failures import FailureClass
from earnest.foundation.text import head_tail
from earnest.memory.megram import Level, Tag, approach_tag, intent_tag, target_tag

CONTENT_CHARACTERS_MAX: Final = 1_000
LESSONS_MAX: Final = 200
"""Of one kind in one step: as many as a plan has subtasks. Refused targets beyond it stay blocked all the same."""
SUMMARY: Final = "run:summary"
"""The entity under which runs are told in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """One Megram to be written; `state` names its row of the quantization matrix. `content` holds text from outside."""

    state: MacroState
    tag: Tag
    content: str
    level: Level = Level.M


def lessons(
    *,
    task_class: str,
    before: Trajectory,
    after: Trajectory,
    observation: Observation | None,
    constants: Constants,
) -> tuple[Lesson, ...]:
    """What one step of a run teaches: a round (`observe`), or an end from outside (`halt`, `observation` None).

    Each lesson names its own cause, whatever the round as a whole was decided to be:

    * a target the environment refused: the `change_path` row for `tool:<tool>`, `path:<target>`, once a run;
    * an approach that failed logically: `change_approach`, environmentally: `change_path`, for
      `approach:<task_class>/<subtask>`, `approach:<id>`; without an approach, `change_approach` for each call that
      failed logically itself: a call that did what it should is never blamed;
    * what works now and did not before, under `break_symmetry` or `refine`, if quality improved: that row;
    * an approach that works in an accepted or successful run: that row;
    * an end: its row for `intent:<task_class>`, `env:local`, and one entry of level K that tells the run in words.

    An abandon whose cause says nothing about the task is told apart, where it weighs against nothing.
    """
    found: list[Lesson] = []
    if observation is not None:
        current = after.rounds[-1]
        found += islice(_targets(before, after), LESSONS_MAX)
        found += islice(_failures(task_class, observation, constants), LESSONS_MAX)
        found += islice(_breakthroughs(task_class, before, current, observation), LESSONS_MAX)
        found += islice(_proven(task_class, current, observation), LESSONS_MAX)
    if after.end is not None:
        found += _end(task_class, after, after.end, observation)
    return tuple(dict.fromkeys(found))


def _targets(before: Trajectory, after: Trajectory) -> Iterator[Lesson]:
    known = frozenset(before.blocked.targets)
    for target in after.blocked.targets:
        if target not in known:
            content = f"{target.tool} could not be used on {target.target}: the environment was in the way."
            yield _lesson(MacroState.CHANGE_PATH, target_tag(target.tool, target.target), content)


def _failures(task_class: str, observation: Observation, constants: Constants) -> Iterator[Lesson]:
    """A failure of unknown class teaches nothing."""
    failed = failures_of(observation.judged)
    logical = logically_failing(observation.judged, constants)
    for trial in observation.trials:
        unmet = failed.get(trial.subtask)
        if unmet is None:
            continue
        names = ", ".join(criterion.name for criterion in unmet)
        if trial.approach is not None and failure_class_of(unmet) is not None:
            wrong = trial.subtask in logical
            reason = "the approach was wrong" if wrong else "the environment was in the way"
            state = MacroState.CHANGE_APPROACH if wrong else MacroState.CHANGE_PATH
            content = f"{trial.approach} did not meet {names}: {reason}."
            yield _lesson(state, approach_tag(task_class, trial.subtask, trial.approach), content)
        elif trial.approach is None and trial.subtask in logical:
            for target in failed_targets(trial, FailureClass.LOGICAL):
                content = f"{target.tool} failed on {target.target} while {names} stayed unmet."
                yield _lesson(MacroState.CHANGE_APPROACH, target_tag(target.tool, target.target), content)


def _breakthroughs(task_class: str, before: Trajectory, current: Round, observation: Observation) -> Iterator[Lesson]:
    if current.previous not in (MacroState.BREAK_SYMMETRY, MacroState.REFINE) or current.trend is not Trend.IMPROVING:
        return
    state = MacroState(current.previous)
    news = passing(observation.judged) - before.passing
    for trial in observation.trials:
        if trial.subtask not in news:
            continue
        content = f"After {state} it worked for {trial.subtask}"
        if trial.approach is not None:
            yield _lesson(
                state, approach_tag(task_class, trial.subtask, trial.approach), f"{content}: {trial.approach}."
            )
        else:
            for target in (target for call in trial.calls if call.ok for target in call.targets):
                yield _lesson(
                    state, target_tag(target.tool, target.target), f"{content}: {target.tool} on {target.target}."
                )


def _proven(task_class: str, current: Round, observation: Observation) -> Iterator[Lesson]:
    state = current.decision.state
    if state not in (MacroState.ACCEPT, MacroState.SUCCESS):
        return
    kept = passing(observation.judged)
    for trial in observation.trials:
        if trial.subtask in kept and trial.approach is not None:
            content = f"{trial.approach} met every criterion of {trial.subtask}."
            yield _lesson(state, approach_tag(task_class, trial.subtask, trial.approach), content)


def _end(task_class: str, after: Trajectory, end: SolverDecision, observation: Observation | None) -> Iterator[Lesson]:
    """The K entry has an entity of its own, so that one run does not weigh twice."""
    tag = intent_tag(task_class)
    if end.cause is not None and not end.cause.about_task:
        yield _lesson(end.state, Tag(space=tag.space, entity=f"cause:{end.cause}"), end.rationale)
        return
    yield _lesson(end.state, tag, end.rationale)
    words = _in_words(after, end, observation)
    yield _lesson(end.state, Tag(space=tag.space, entity=SUMMARY), words, Level.K)


def _in_words(after: Trajectory, end: SolverDecision, observation: Observation | None) -> str:
    trials = observation.trials if observation is not None else ()
    worked = [_way(trial) for trial in trials if trial.subtask in after.passing]
    set_aside = [_named(tried.subtask, tried.approach) for tried in after.blocked.approaches]
    set_aside += after.blocked.tools
    set_aside += (f"{target.tool} on {target.target}" for target in after.blocked.targets)
    parts = [f"{end.state} in round {len(after.rounds)}. {end.rationale}"]
    parts += [f"Worked: {'; '.join(worked)}."] if worked else []
    parts += [f"Set aside: {'; '.join(set_aside)}."] if set_aside else []
    return " ".join(parts)


def _way(trial: SubTaskTrial) -> str:
    """Of a trial that worked; without an approach, the tools that did what they should."""
    if trial.approach is not None:
        return _named(trial.subtask, trial.approach)
    tools = sorted({tool for call in trial.calls if call.ok for tool in call.tools})
    return f"{trial.subtask} with {', '.join(tools)}" if tools else trial.subtask


def _named(subtask: str, approach: str) -> str:
    return f"{subtask} by {approach}"


def _lesson(state: MacroState, tag: Tag, content: str, level: Level = Level.M) -> Lesson:
    return Lesson(state=state, tag=tag, content=head_tail(content, CONTENT_CHARACTERS_MAX), level=level)
