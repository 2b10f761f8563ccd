"""The runs, and what happened in one, from the facts alone, beside whoever writes them."""

from collections import deque
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from earnest.effects.ground.bus.api import Envelope
from earnest.effects.ground.storage.facts import StoredFact
from earnest.effects.ground.storage.reader import BooksReader
from earnest.engine.codec import decode
from earnest.engine.facts import FINISHED, INTENT, MESSAGES, OUTCOME, RESUMED, STARTED, message_of
from earnest.engine.memory_messages import MegramEmitted
from earnest.engine.messages import (
    CorrectionSignal,
    FinalResult,
    OutcomeSummary,
    PlanDirective,
    PlanReady,
    ReplanRequest,
    SubTaskOutcome,
    ToolCalled,
)
from earnest.foundation.errors import Broken, Refused

RUNS_SHOWN_MAX: Final = 1_000
MESSAGES_SHOWN_MAX: Final = 200

RoundMessage: TypeAlias = (
    PlanReady | ToolCalled | CorrectionSignal | SubTaskOutcome | ReplanRequest | OutcomeSummary | PlanDirective
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """One run in a list. `result` is None while it works, and after a crash until it is resumed."""

    run_id: str
    started_ms: int
    source: str
    intent: str
    result: FinalResult | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundView:
    """One round as it went: the plan, what was called, what came out of it, what R4b and R7 said."""

    number: int
    messages: list[RoundMessage] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class RunView:
    """One run in full. `unknown_effects` are intents of which no outcome was recorded; `messages` the newest."""

    line: RunLine
    rounds: list[RoundView] = field(default_factory=list)
    remembered: list[MegramEmitted] = field(default_factory=list)
    resumed: int = 0
    facts: int = 0
    unknown_effects: list[str] = field(default_factory=list)
    messages: deque[Envelope] = field(default_factory=lambda: deque(maxlen=MESSAGES_SHOWN_MAX))


def list_runs(reader: BooksReader, limit: int = 50, before: str = "") -> tuple[RunLine, ...]:
    """The newest runs first; those that began before another one, if it is given."""
    last = next(reader.facts(kind=STARTED, subject=before, limit=1), None) if before else None
    up_to = None if last is None else last.seq - 1
    started = reader.facts(kind=STARTED, up_to_seq=up_to, newest_first=True, limit=min(limit, RUNS_SHOWN_MAX))
    return tuple(_line(fact, _end(reader, fact.subject)) for fact in started)


def newest_run(reader: BooksReader) -> str:
    """The id of the run that was started last. Raises `Refused("run_unknown")`."""
    newest = next(reader.facts(kind=STARTED, newest_first=True, limit=1), None)
    if newest is None:
        raise Refused("run_unknown", "there is no run yet")
    return newest.subject


def show_run(reader: BooksReader, run_id: str) -> RunView:
    """Everything about one run. An unambiguous beginning of its id will do. Raises `Refused("run_unknown")`."""
    full_id = find_run(reader, run_id)
    view: RunView | None = None
    intents: dict[str, None] = {}
    for fact in reader.facts(subject=full_id):
        if fact.kind == STARTED:
            view = RunView(line=_line(fact, None))
        if view is None:
            raise Broken(f"the facts of {full_id} do not begin with its start")
        view.facts += 1
        if fact.kind in MESSAGES:
            _see(view, message_of(full_id, fact.at_ms, fact.body))
        elif fact.kind == INTENT and "prompt" not in fact.body:  # what a model is asked leaves nothing behind
            intents[str(fact.body["key"])] = None
        elif fact.kind == OUTCOME:
            intents.pop(str(fact.body["key"]), None)
        elif fact.kind == RESUMED:
            view.resumed += 1
        elif fact.kind == FINISHED:
            view.line = replace(view.line, result=_result(fact))
    assert view is not None
    view.unknown_effects = list(intents)
    return view


def _see(view: RunView, envelope: Envelope) -> None:
    view.messages.append(envelope)
    message = envelope.payload
    if isinstance(message, PlanReady):
        view.rounds.append(RoundView(number=message.round, messages=[message]))
    elif isinstance(message, MegramEmitted):
        view.remembered.append(message)
    elif isinstance(message, RoundMessage):
        view.rounds[-1].messages.append(message)


def find_run(reader: BooksReader, run_id: str) -> str:
    """The run whose id this is, or begins. Raises `Refused("run_unknown")`."""
    beginning = f"run_{run_id.removeprefix('run_')}"
    found = reader.subjects_like(beginning, 2) if run_id else []
    if len(found) == 1 or beginning in found:
        return found[0]
    problem = f"at least 2 runs begin with {run_id}" if found else f"there is no run {run_id}"
    raise Refused("run_unknown", f"{problem}; see `earnest runs`")


def _end(reader: BooksReader, run_id: str) -> FinalResult | None:
    end = next(reader.facts(kind=FINISHED, subject=run_id, newest_first=True, limit=1), None)
    return None if end is None else _result(end)


def _line(fact: StoredFact, result: FinalResult | None) -> RunLine:
    match fact.body:
        case {"playbook": {"intent": str(intent)}} | {"request": {"raw_input": str(intent)}}:
            pass
        case _:
            raise Broken(f"the start of {fact.subject} cannot be read")
    return RunLine(
        run_id=fact.subject, started_ms=fact.at_ms, source=str(fact.body["source"]), intent=intent, result=result
    )


def _result(fact: StoredFact) -> FinalResult:
    fields = fact.body["result"]
    assert isinstance(fields, dict)
    result = decode(FinalResult.__name__, fields)
    assert isinstance(result, FinalResult)
    return result
