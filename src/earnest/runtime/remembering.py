"""The stories of a word to memory: remember this, forget that, be such a one, it was found so. R7 alone writes."""

from dataclasses import dataclass, replace

from earnest.effects.ground.bus.api import Bus, Envelope
from earnest.effects.ground.clock import Chance, Clock
from earnest.effects.ground.storage.database import Database
from earnest.engine.facts import message_fact
from earnest.engine.memory_messages import FeedbackGiven, ForgetRequested, RememberRequested
from earnest.engine.messages import Role
from earnest.engine.remembering import SESSION, answer
from earnest.foundation.canonical import digest_bytes
from earnest.foundation.errors import Refused
from earnest.foundation.facts import Fact
from earnest.memory.megram import NOTES, Tag
from earnest.memory.service import Memory
from earnest.memory.thinking import PERSONA_ID, persona
from earnest.runtime.dreaming import Dreaming
from earnest.runtime.recall import FORGOTTEN, MemoryRecall, megram_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembering:
    """Each request is a message of the user that R7 answers. Records `memory.megram` and `memory.forgotten`."""

    memory: Memory
    recall: MemoryRecall
    dreaming: Dreaming
    database: Database
    bus: Bus
    clock: Clock
    chance: Chance

    async def remember(self, text: str, *, tag: Tag = NOTES, avoid: bool = False) -> str:
        """Keep a rule for good; its id. Raises `Refused` (`note_too_long`, `megram_invalid`)."""
        request = self._request("note", RememberRequested(text=text, tag=tag, avoid=avoid))
        said = answer(request, self.clock.now_ms())
        return await self._keep(request, said)

    async def feedback(self, key: str, given: FeedbackGiven) -> None:
        """Hand R7 a verdict of others. The same `key` again changes nothing. Raises `Refused("megram_invalid")`."""
        megram_id = f"feedback_{digest_bytes(key.encode()).removeprefix('sha256:')[:32]}"
        if self.memory.get(megram_id) is None:
            request = replace(self._request("feedback", given), id=megram_id, sender=Role.RUNTIME)
            await self._keep(request, answer(request, self.clock.now_ms()))

    async def forget(self, megram_id: str) -> None:
        """Forget one entry. The fact comes first, so that a crash cannot bring it back.

        Raises `Refused` (`megram_unknown`, `persona_stays`).
        """
        if megram_id == PERSONA_ID:
            raise Refused("persona_stays", "a persona is replaced, not forgotten: `earnest memory persona set`")
        await self.memory.caught_up()
        if self.memory.get(megram_id) is None:
            raise Refused("megram_unknown", f"there is no entry {megram_id}; see `earnest memory show`")
        request = self._request("forget", ForgetRequested(megram_id=megram_id))
        self._publish(request, answer(request, self.clock.now_ms()))
        fact = Fact(kind=FORGOTTEN, subject=megram_id, at_ms=self.clock.now_ms(), body={"by": "user"})
        seq = await self.database.write(lambda transaction: transaction.record(fact))
        await self.memory.forget(megram_id, fact_seq=seq)

    async def approve_persona(self, text: str, by: str) -> None:
        """Replace the persona, in the name of the person `by`. Raises `Refused("persona_invalid")`."""
        await self.dreaming.revise(persona(text, by, self.clock.now_ms()))

    async def _keep(self, request: Envelope, said: Envelope) -> str:
        megram = megram_of(said)  # refused before anybody hears of it
        self._publish(request, said)
        facts = (message_fact(request), message_fact(said))
        _, seq = await self.database.write(lambda transaction: [transaction.record(fact) for fact in facts])
        self.recall.project(seq, said)
        await self.memory.flush()
        return megram.id

    def _request(self, kind: str, payload: RememberRequested | ForgetRequested | FeedbackGiven) -> Envelope:
        now_ms = self.clock.now_ms()
        return Envelope(
            id=f"{kind}_{self.chance.new_id(now_ms)}",
            run_id=SESSION,
            sender=Role.USER,
            causation_id=None,
            at_ms=now_ms,
            payload=payload,
        )

    def _publish(self, *said: Envelope) -> None:
        for envelope in said:
            self.bus.publish(envelope)
