"""Verification of the journal: whether it is what was recorded, and which facts are not."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from earnest.effects.ground.storage.facts import StoredFact
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Broken
from earnest.journal.heads import SEALED, Head, Seal, seal_in
from earnest.journal.merkle import Frontier
from earnest.journal.redaction import is_redacted, redactions_in

FINDINGS_MAX: Final = 1_000
NEAR: Final = 8
"""How far from its number a fact is looked for that may have been moved."""

SWAPS_MAX: Final = 128
"""Altered facts that are compared with each other, to see whether they changed places."""

_BEFORE_ALL: Final = -(2**63)
_CHANGED: Final = "the content is not the one that was recorded"


class What(StrEnum):
    """What can be wrong."""

    CHANGED = "changed"
    """The content is not the one that the leaf was made of."""
    MOVED = "moved"
    """The content was recorded, but under another number."""
    MISSING = "missing"
    INSERTED = "inserted"
    UNFIT = "unfit"
    """Some of these facts were altered together with their leaves: their root is not the sealed one."""
    FALSE_HEAD = "false_head"
    """A head in the journal contradicts itself."""
    CONTRADICTED = "contradicted"
    """A head from elsewhere has another root: facts were altered together with the heads in the journal."""
    CUT_OFF = "cut_off"
    """A head from elsewhere knows facts after the last one."""
    DAMAGED = "damaged"
    """Tables, indexes or triggers are not as they were made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalFinding:
    """Something wrong with the facts `first_seq` to `last_seq`; both 0 if it concerns no fact in particular."""

    what: What
    first_seq: int
    last_seq: int
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalReport:
    """What a verification saw. `unsealed` facts follow the last head: only a later head can vouch for them.

    Of `redacted` facts texts were removed, as later facts say.
    """

    facts: int
    last_seq: int
    heads: int
    last_seal: Seal | None
    heads_from_elsewhere: int
    unsealed: int
    redacted: int
    findings: tuple[JournalFinding, ...]
    findings_left_out: int

    @property
    def last_head(self) -> Head | None:
        """The last head in the journal."""
        return self.last_seal.head if self.last_seal else None

    @property
    def intact(self) -> bool:
        """True if nothing is wrong with what can be verified."""
        return not self.findings


def verify_journal(
    reader: BooksReader | None, heads_from_elsewhere: Iterable[Head] = (), since: Seal | None = None
) -> JournalReport:
    """Recompute every leaf, every head and every given head in one pass, in memory that does not grow with the facts.

    A head from elsewhere is one that was noted where whoever can write to the database cannot. No reader: no facts.
    `since`: the facts under this seal, and the pages of the file, were found in order before and are not read again.
    """
    walk = _Walk(heads_from_elsewhere, since)
    if reader is None:
        walk.end()
        return walk.report()
    try:
        for problem in reader.faults(whole=since is None):
            walk.find(What.DAMAGED, 0, 0, problem)
        walk.redactions = redactions_in(reader)
        for fact in reader.facts(after_seq=_BEFORE_ALL if since is None else since.head.size):
            walk.visit(fact)
        walk.end()
        walk.name_altered(reader)
    except Broken as error:
        walk.find(What.DAMAGED, walk.last_seq, walk.last_seq, f"nothing can be read after this fact: {error}")
    return walk.report()


class _Walk:
    """One pass over the facts.

    The stored leaves are taken for the tree, and each content is compared with its leaf: so a changed content is one
    named fact, and a head that does not fit says that leaves were altered. From such a head the pass goes on with the
    tree that the head holds, so that what was altered once is not reported again at every later head.
    """

    def __init__(self, heads_from_elsewhere: Iterable[Head], since: Seal | None) -> None:
        self.redactions: Mapping[int, bytes] = {}
        self._redacted = 0
        frontier = since.frontier() if since else Frontier()
        self.last_seq = frontier.size
        known = {head for head in heads_from_elsewhere if since is None or head.size >= frontier.size}
        self._elsewhere = sorted(known, key=lambda head: (-head.size, head.root))
        self._elsewhere_count = len(self._elsewhere)
        self._vouched_size = frontier.size
        self._contradicted = False
        self._facts = 0
        self._heads = 0
        self._last_seal: Seal | None = None
        self._last_head_seq = frontier.size
        self._unsealed_from = frontier.size + 1
        self._sealed_tree = frontier
        self._whole_tree = frontier  # one tree, until a head holds another
        self._shift = 0
        self._head_shift = 0
        self._altered: list[int] = []
        self._findings: list[JournalFinding] = []
        self._latest: dict[What, int] = {}
        self._left_out = 0

    def visit(self, fact: StoredFact) -> None:
        """Take the next fact in order of number."""
        self._facts += 1
        if fact.seq < 1:
            self.find(What.INSERTED, fact.seq, fact.seq, "the first fact has number 1")
            return
        self._compare_elsewhere(below=fact.seq)
        if fact.seq != self.last_seq + 1:
            self.find(What.MISSING, self.last_seq + 1, fact.seq - 1, "there are no facts with these numbers")
        if self._is_genuine(fact) and fact.kind == SEALED:
            self._visit_head(fact)
        self._sealed_tree.append(fact.leaf)
        if self._whole_tree is not self._sealed_tree:
            self._whole_tree.append(fact.leaf)
        self.last_seq = fact.seq

    def end(self) -> None:
        """Compare what is left of the heads from elsewhere."""
        self._compare_elsewhere(below=self.last_seq + 1)
        if self._elsewhere:
            known = self._elsewhere[0].size
            self.find(What.CUT_OFF, self.last_seq + 1, known, f"a head from elsewhere is one of {known} facts")

    def name_altered(self, reader: BooksReader) -> None:
        """Tell the altered facts that changed places from those that changed."""
        for seq in self._altered:
            fact = next(reader.facts(after_seq=seq - 1, limit=1))
            was = next((other for other in self._altered if fact.leaf_as(other) == fact.leaf), None)
            if was is None:
                self.find(What.CHANGED, seq, seq, _CHANGED)
            else:
                self.find(What.MOVED, seq, seq, f"recorded as fact {was}")

    def find(self, what: What, first_seq: int, last_seq: int, detail: str) -> None:
        """Name something, in one finding with the facts just before if the same is wrong with them."""
        place = self._latest.get(what)
        before = None if place is None else self._findings[place]
        if place is not None and before and before.detail == detail and 0 < before.last_seq == first_seq - 1:
            self._findings[place] = replace(before, last_seq=last_seq)
        elif len(self._findings) < FINDINGS_MAX:
            self._latest[what] = len(self._findings)
            self._findings.append(JournalFinding(what=what, first_seq=first_seq, last_seq=last_seq, detail=detail))
        else:
            self._left_out += 1

    def report(self) -> JournalReport:
        """What was seen."""
        return JournalReport(
            facts=self._facts,
            last_seq=self.last_seq,
            heads=self._heads,
            last_seal=self._last_seal,
            heads_from_elsewhere=self._elsewhere_count,
            unsealed=max(0, self.last_seq - self._last_head_seq),
            redacted=self._redacted,
            findings=tuple(sorted(self._findings, key=lambda finding: finding.first_seq)),
            findings_left_out=self._left_out,
        )

    def _is_genuine(self, fact: StoredFact) -> bool:
        """True if the content has its leaf, under its own number or the one that it was moved from."""
        if fact.is_intact:
            self._shift = 0
            return True
        if is_redacted(fact, self.redactions):
            self._redacted += 1
            return True
        near = (self._shift, *(sign * distance for distance in range(1, NEAR + 1) for sign in (1, -1)))
        shift = next((shift for shift in near if shift and fact.leaf_as(fact.seq - shift) == fact.leaf), 0)
        self._shift = shift
        if shift:
            direction = "lower" if shift > 0 else "higher"
            self.find(What.MOVED, fact.seq, fact.seq, f"recorded under a number {abs(shift)} {direction}")
            return True
        if len(self._altered) < SWAPS_MAX:
            self._altered.append(fact.seq)
        else:
            self.find(What.CHANGED, fact.seq, fact.seq, _CHANGED)
        return False

    def _visit_head(self, fact: StoredFact) -> None:
        try:
            seal = seal_in(fact.body)
        except (ValueError, RecursionError) as error:
            self.find(What.FALSE_HEAD, fact.seq, fact.seq, str(error))
            return
        self._compare_count(fact.seq, seal)
        if self._sealed_tree.root() != seal.head.root:
            self.find(What.UNFIT, self._unsealed_from, fact.seq - 1, f"fact {fact.seq} sealed another root")
            self._sealed_tree = seal.frontier()
        self._heads += 1
        self._last_seal, self._last_head_seq = seal, fact.seq
        self._unsealed_from = fact.seq

    def _compare_count(self, seq: int, seal: Seal) -> None:
        """A head speaks of every fact before it: if there are more now, or fewer, the rest was renumbered."""
        shift = seq - 1 - seal.head.size
        more, self._head_shift = shift - self._head_shift, shift
        if more > 0:
            self.find(What.INSERTED, self._unsealed_from, seq - 1, f"{more} more than were sealed")
        elif more < 0:
            self.find(
                What.MISSING, self._unsealed_from, seq - 1, f"{-more} fewer than were sealed, the rest renumbered"
            )

    def _compare_elsewhere(self, *, below: int) -> None:
        while self._elsewhere and self._elsewhere[-1].size < below:
            head = self._elsewhere.pop()
            if head.size == self._whole_tree.size and head.root == self._whole_tree.root():
                self._vouched_size = head.size
                self._contradicted = False
            elif not self._contradicted:  # every later head says the same, of more facts
                detail = f"a head from elsewhere, of {head.size} facts, has another root"
                self.find(What.CONTRADICTED, self._vouched_size + 1, head.size, detail)
                self._contradicted = True
