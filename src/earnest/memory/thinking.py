"""What is above all experience (level T): the laws, which nobody changes, and the persona, which a person approves."""

from collections.abc import Iterable
from itertools import islice
from typing import Final

from earnest.foundation.errors import Refused
from earnest.memory.consolidation import MemoryRevision, RevisionReason
from earnest.memory.megram import NOTES, PERSONA, Level, Megram, MegramState
from earnest.memory.potential import Potentials

LAWS: Final = (
    "Never deceive: what was done or achieved is never misrepresented.",
    "Never harm the user's environment without explicit confirmation of exactly that action.",
    "Deliver as well as possible within the laws above; stop when it only gets worse.",
    "Preserve the ability to function: stop on divergence, remember nothing for the wrong cause, respect the budget.",
)
"""The Four Laws, number 0 first; a lower one never overrides a higher one (seed, section 9)."""

PERSONA_ID: Final = "persona"
PERSONA_CHARACTERS_MAX: Final = 4_000
HELD_ATTENTION: Final = 2.5
HELD_DECISION: Final = 1.5
"""Half of what it takes to make a rule: that much makes the next one, which takes its place."""
LINES_MAX: Final = 10
LINE_CHARACTERS_MAX: Final = 300


def proposal(rules: Iterable[tuple[Megram, Potentials]]) -> str:
    """A persona made of rules that held: what was seen since each was made speaks for it, clearly. Or nothing.

    It is none before a person approves it (`persona`); they may change every word.
    """
    held = [(rule, since) for rule, since in rules if _held(rule, since)]
    held.sort(key=lambda pair: (-pair[1].attention, pair[0].id))
    lines = (f"{'I avoid' if rule.sigma < 0 else 'I prefer'}: {' '.join(rule.content.split())}" for rule, _ in held)
    return "\n".join(line[:LINE_CHARACTERS_MAX] for line in islice(lines, LINES_MAX))


def _held(rule: Megram, since: Potentials) -> bool:
    is_rule = rule.level is Level.C and (rule.space, rule.entity) != (NOTES.space, NOTES.entity)
    return is_rule and since.attention >= HELD_ATTENTION and rule.sigma * since.decision >= HELD_DECISION


def persona(text: str, by: str, now_ms: int) -> MemoryRevision:
    """The persona in the place of the one before. Raises `Refused("persona_invalid")` for a text or name out of bounds.

    `by` is the person who approved it, 1 to 100 printable characters.
    """
    text, by = text.strip(), by.strip()
    if not 1 <= len(text) <= PERSONA_CHARACTERS_MAX:
        raise Refused("persona_invalid", f"a persona has 1 to {PERSONA_CHARACTERS_MAX} characters")
    if not 1 <= len(by) <= 100 or not by.isprintable():
        raise Refused("persona_invalid", "who approves it is named, in 1 to 100 printable characters")
    megram = Megram(
        id=PERSONA_ID,
        level=Level.T,
        created_at_ms=now_ms,
        space=PERSONA.space,
        entity=PERSONA.entity,
        content=text,
        state=MegramState.ACCEPT,
        f=1.0,
        sigma=1.0,
        k=0.0,
        agent=by,
        run_id=PERSONA_ID,
    )
    return MemoryRevision(why=RevisionReason.PERSONA, forget=(PERSONA_ID,), remember=(megram,))
