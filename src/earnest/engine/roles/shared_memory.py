"""R5 answers R2's questions: the memory's place on the bus. What R7 emits reaches the store through the facts."""

from earnest.effects.bus.api import Envelope
from earnest.engine.messages import MemoryAnswered, MemoryAsked, Role
from earnest.engine.participant import Participant, Work
from earnest.engine.ports import Recall
from earnest.engine.run import Run


class SharedMemoryRole(Participant[None]):
    """MemoryAsked → MemoryAnswered."""

    role = Role.R5
    hears = (MemoryAsked,)

    def __init__(self, runs: dict[str, Run], recall: Recall) -> None:
        super().__init__(runs)
        self._recall = recall

    def fresh(self) -> None:
        """R5 keeps nothing of a run."""

    def hear(self, run: Run, _state: None, envelope: Envelope) -> Work | None:
        """Look-ups are constant in time, so the answer is given at once."""
        assert isinstance(envelope.payload, MemoryAsked)
        answer = MemoryAnswered(recollections=self._recall.look_up(envelope.payload.tags))
        run.post.send(Role.R5, "memory/answered", answer, envelope)
        return None
