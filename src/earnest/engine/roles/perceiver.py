"""R1 receives the user's words and carries them in, faithfully. A receiver, not a resolver."""

from earnest.effects.ground.bus.api import Envelope
from earnest.engine.asking import Asking
from earnest.engine.messages import Role, TaskRequested
from earnest.engine.participant import Participant, Work
from earnest.engine.run import EngineRun
from earnest.foundation.errors import Broken
from earnest.foundation.names import is_slug


class PerceiverRole(Participant[None]):
    """TaskRequested → TaskSpec. The task class becomes a memory tag, so only a slug passes."""

    role = Role.R1
    hears = (TaskRequested,)
    fresh = type(None)

    def hear(self, run: EngineRun, _state: None, envelope: Envelope) -> Work | None:
        """Restate the request."""
        assert isinstance(envelope.payload, TaskRequested)
        return self._perceive(run, envelope, envelope.payload)

    async def _perceive(self, run: EngineRun, envelope: Envelope, request: TaskRequested) -> None:
        with run.effect():  # waiting for a person is not silence
            spec = await run.perceiver.perceive(request, Asking(run, Role.R1, envelope))
        if not is_slug(spec.task_class):
            raise Broken(f"R1 gave the task class {spec.task_class!r}, which is not a slug")
        run.post.send(Role.R1, "spec", spec, envelope)
