"""What every role on the bus is: an inbox, a state per run, and an ear that never blocks."""

from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from earnest.effects.ground.bus.api import Envelope, Subscription
from earnest.engine.gradient.cascade import AbandonCause
from earnest.engine.messages import Role
from earnest.engine.run import EngineRun

State = TypeVar("State")
Work = Coroutine[None, None, None]


class Participant(ABC, Generic[State]):
    """A role. `hear` folds a message into the run's state at once; what takes time it returns as a coroutine."""

    role: ClassVar[Role]
    hears: ClassVar[tuple[type, ...]]
    fresh: ClassVar[type[Any]]
    """The type of its state of a run, made before anything was heard of it."""

    def __init__(self, runs: Mapping[str, EngineRun]) -> None:
        self._runs = runs
        self._states: dict[str, State] = {}

    @abstractmethod
    def hear(self, run: EngineRun, state: State, envelope: Envelope, /) -> Work | None:
        """Take notice of one message."""

    async def attend(self, inbox: Subscription) -> None:
        """Serve the inbox until it is closed. What comes for a run that has ended is passed over."""
        async for envelope in inbox:
            run = self._runs.get(envelope.run_id)
            if run is not None:
                self._serve(run, envelope)

    def forget(self, run_id: str) -> None:
        """Drop the state of a run that has ended."""
        self._states.pop(run_id, None)

    def _serve(self, run: EngineRun, envelope: Envelope) -> None:
        state = self._states.get(run.id)
        if state is None:
            state = self._states[run.id] = self.fresh()
        try:
            work = self.hear(run, state, envelope)
        except Exception as error:
            run.stop(Role.RUNTIME, AbandonCause.FAULT, f"{self.role}: {type(error).__name__}: {error}")
        else:
            if work is not None:
                run.spawn(work)
