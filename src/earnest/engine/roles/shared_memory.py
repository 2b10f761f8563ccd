"""R5 answers R2's questions and says what that recalled. What R7 emits reaches the store through the facts."""

from collections.abc import Sequence

from earnest.effects.ground.bus.api import Envelope
from earnest.engine.memory_messages import MemoryAnswered, MemoryAsked, MemoryRecalled
from earnest.engine.messages import PlanReady, Role
from earnest.engine.participant import Participant, Work
from earnest.engine.ports import Recall
from earnest.engine.run import EngineRun
from earnest.memory.megram import NOTES, RECALL_MAX


class SharedMemoryRole(Participant[None]):
    """MemoryAsked → MemoryAnswered, and MemoryRecalled for its rules; PlanReady → MemoryRecalled for its contents.

    What the user had remembered for every task is answered unasked.
    """

    role = Role.R5
    hears = (MemoryAsked, PlanReady)
    fresh = type(None)

    def __init__(self, runs: dict[str, EngineRun], recall: Recall) -> None:
        super().__init__(runs)
        self._recall = recall

    def hear(self, run: EngineRun, _state: None, envelope: Envelope) -> Work | None:
        """Look-ups are constant in time, so the answer is given at once."""
        match envelope.payload:
            case MemoryAsked(tags=tags):
                unasked = [] if NOTES in tags else [NOTES]
                found = self._recall.look_up(tags)
                found += tuple(one for one in self._recall.look_up(unasked) if one.rules)
                sent = run.post.send(Role.R5, "memory/answered", MemoryAnswered(recollections=found), envelope)
                rules = [rule.id for one in found for rule in one.rules]
                self._recalled(run, "memory/recalled", rules, sent)
            case PlanReady(round=number, recalled=contents):
                self._recalled(run, f"r{number}/recalled", contents, envelope)
        return None

    @staticmethod
    def _recalled(run: EngineRun, key: str, ids: Sequence[str], cause: Envelope) -> None:
        if ids:
            message = MemoryRecalled(megram_ids=tuple(dict.fromkeys(ids))[:RECALL_MAX])
            run.post.send(Role.R5, key, message, cause)
