"""When events become a rule, when a rule falls, and what takes its place. (seed R5, upward flow)"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Broken
from earnest.memory.megram import HYPOTHESES, Level, Megram, MegramState, Tag, decode_megram, encode_megram, of_state
from earnest.memory.potential import TOLERANCE, Potentials

ATTENTION_RIPE: Final = 5.0
DECISION_RIPE: Final = 3.0
SUPPORT_MIN: Final = 2
"""Agents, or tasks, whose events agree, before they become a rule."""
CLUSTER_MAX: Final = 256
"""Events that one rule takes the place of, the newest of its pair."""
CONTENTS_MAX: Final = 10
"""Contents that a rule is distilled from, the newest."""
RULE_CHARACTERS_MAX: Final = 400
DEMOTED_K: Final = 0.05
"""Decay of a rule that has fallen."""
DREAMER: Final = "dreamer"
"""The agent of what memory made of itself."""


class RevisionReason(StrEnum):
    """Why memory was revised."""

    CONSOLIDATED = "consolidated"
    DEMOTED = "demoted"
    PERSONA = "persona"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRevision:
    """What memory forgets and, in the same step, remembers instead. Applying it again changes nothing."""

    why: RevisionReason
    forget: tuple[str, ...]
    remember: tuple[Megram, ...]
    seen_seq: int | None = None
    """The fact up to which memory was applied when this was decided; None: it holds whatever came since."""

    def to_json(self) -> JsonObject:
        """The body of its fact."""
        remember = [encode_megram(megram) for megram in self.remember]
        body: JsonObject = {"why": self.why.value, "forget": list(self.forget), "remember": remember}
        return body if self.seen_seq is None else {**body, "seen_seq": self.seen_seq}

    @classmethod
    def from_json(cls, body: JsonObject) -> "MemoryRevision":
        """Raises `Broken` for what no version of ours wrote."""
        match body:
            case {"why": str(why), "forget": [*forget], "remember": [*remember]} if why in list(RevisionReason):
                megrams = tuple(decode_megram(one) for one in remember if isinstance(one, dict))
                seen = body.get("seen_seq")
                seen_seq = seen if isinstance(seen, int) else None
                return cls(why=RevisionReason(why), forget=tuple(map(str, forget)), remember=megrams, seen_seq=seen_seq)
        raise Broken("a revision of memory cannot be read")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The events of a pair: at most CLUSTER_MAX, the newest first and never none. `rules` are those it has already."""

    tag: Tag
    potentials: Potentials
    events: tuple[Megram, ...]
    rules: tuple[Megram, ...] = ()

    @property
    def avoid(self) -> bool:
        """They speak for a constraint, not for a best practice."""
        return self.potentials.decision < 0

    @property
    def ripe(self) -> bool:
        """Enough was seen, by more than one, and it points one way."""
        attention, decision = self.potentials.attention, abs(self.potentials.decision)
        return attention >= ATTENTION_RIPE - TOLERANCE and decision >= DECISION_RIPE - TOLERANCE and self.supported

    @property
    def supported(self) -> bool:
        """Two agents, or two tasks, found the same: what one task met again and again may be its own."""
        agreeing = [one for one in self.events if (one.sigma < 0) == self.avoid and one.sigma]
        agents = {one.agent for one in agreeing} - {DREAMER}
        return max(len(agents), len({one.task for one in agreeing})) >= SUPPORT_MIN

    @property
    def newest(self) -> tuple[Megram, ...]:
        """What a rule is distilled from."""
        return self.events[:CONTENTS_MAX]


@dataclass(frozen=True, slots=True, kw_only=True)
class Distilled:
    """A cluster in words: what to do or leave, and an idea that nobody has tried, or nothing."""

    rule: str
    hypothesis: str = ""


def consolidated(cluster: Cluster, words: Distilled, now_ms: int) -> MemoryRevision:
    """One rule in the place of the cluster's events and of the pair's older rule.

    An older rule that said the opposite has fallen before (`has_fallen`) and is one of the events. What the rule
    weighs should it fall is how much the events agreed. What a user had remembered is left alone.
    """
    potentials, newest = cluster.potentials, cluster.events[0]
    rule = Megram(
        id=_id("rule", cluster),
        level=Level.C,
        created_at_ms=now_ms,
        space=cluster.tag.space,
        entity=cluster.tag.entity,
        content=words.rule,
        state=MegramState.ABANDON if cluster.avoid else MegramState.ACCEPT,
        f=min(1.0, abs(potentials.decision) / potentials.attention),
        sigma=-1.0 if cluster.avoid else 1.0,
        k=0.0,
        agent=DREAMER,
        run_id=newest.run_id,
    )
    older = (one for one in cluster.rules if one.agent == DREAMER)
    return MemoryRevision(
        why=RevisionReason.CONSOLIDATED,
        forget=tuple(one.id for one in (*cluster.events, *older)),
        remember=(rule, *_hypotheses(cluster, words, now_ms)),
    )


def has_fallen(rule: Megram, potentials: Potentials) -> bool:
    """Trust bankruptcy: sigma of the rule times M_dec < 0; M_dec holds the rule's own weight and what was seen since.

    A rule was made of at least DECISION_RIPE and does not decay. Only what the dreamer made falls by itself; what a
    user had remembered is for the user to take back.
    """
    return rule.agent == DREAMER and rule.sigma * potentials.decision + DECISION_RIPE < -TOLERANCE


def demoted(rule: Megram) -> Megram:
    """The knowledge that remains of a rule."""
    return replace(rule, level=Level.K, k=DEMOTED_K)


def fall(rule: Megram) -> MemoryRevision:
    """A rule is knowledge again, and fades."""
    return MemoryRevision(why=RevisionReason.DEMOTED, forget=(rule.id,), remember=(demoted(rule),))


def _hypotheses(cluster: Cluster, words: Distilled, now_ms: int) -> Sequence[Megram]:
    if not words.hypothesis:
        return ()
    idea = of_state(
        MegramState.CHANGE_PATH,  # the only row that speaks for nothing: sigma is 0
        megram_id=_id("idea", cluster),
        level=Level.M,
        created_at_ms=now_ms,
        tag=Tag(space=cluster.tag.space, entity=HYPOTHESES),
        content=words.hypothesis,
        agent=DREAMER,
        run_id=cluster.events[0].run_id,
    )
    return (idea,)


def _id(kind: str, cluster: Cluster) -> str:
    """Short, for rule ids go into plans and come back; the same for the same newest event."""
    place = "\n".join((cluster.tag.space, cluster.tag.entity, cluster.events[0].id))
    return f"{kind}_{hashlib.sha256(place.encode()).hexdigest()[:16]}"
