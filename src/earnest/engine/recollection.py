"""What memory has to say about one tag: rules, leaning, recent events, ideas."""

from dataclasses import dataclass

from earnest.memory.megram import Tag
from earnest.memory.potential import Advice, Potentials


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Common sense (C level): what must not be done (`avoid`) or should be preferred. The id comes back in plans."""

    id: str
    text: str
    avoid: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """What memory has to say about one tag: the potentials, the newest contents, the rules, and untried ideas.

    `content_ids` are the entries of `contents`, in order. `hypotheses` may be shown to a planner under break_symmetry
    only.
    """

    tag: Tag
    potentials: Potentials
    contents: tuple[str, ...] = ()
    content_ids: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    hypotheses: tuple[str, ...] = ()

    @property
    def action(self) -> Advice:
        """What the newest rule says; where there is none, what the potentials say."""
        if self.rules:
            return Advice.AVOID if self.rules[0].avoid else Advice.EXPLOIT
        return self.potentials.action
