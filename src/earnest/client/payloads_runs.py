"""What a platform answers about the runs of its data directory, and about judging and checking again."""

from typing import Literal

from typing_extensions import TypedDict


class ReplacedPath(TypedDict):
    """A file or folder of the operator's, and how many paths in it took another content."""

    path: str
    count: int


class RunChanged(TypedDict):
    """What became of a run's change. `replaced` is empty where everything was so already."""

    run_id: str
    standing: Literal["applied", "undone"]
    replaced: list[ReplacedPath]


class EffectDecided(TypedDict):
    """What a person said of an effect of which nobody knew whether it had happened."""

    run_id: str
    key: str
    decision: Literal["happened", "absent", "give-up"]


class LeaveDecided(TypedDict):
    """What a person said to a call of a run that waits for leave."""

    run_id: str
    key: str
    approved: bool


class ReviewDecided(TypedDict):
    """A person's decision on a piece of work. `scores`: one for each line of the rubric; empty without one."""

    review_id: str
    approved: bool
    scores: list[int]
    reason: str
    by: str
    at: str


class JudgedAgain(TypedDict):
    """One criterion judged twice."""

    id: str
    agreement: Literal["agrees", "disagrees", "not_comparable", "different_now"]
    detail: str


class Replay(TypedDict):
    """A verdict beside the one that the same work has now. `same_work`: what was judged is what was judged then."""

    claim_id: str
    revision: int
    same_work: bool
    criteria: list[JudgedAgain]


class JournalFinding(TypedDict):
    """Something wrong with the facts from `first_seq` to `last_seq`; both 0 where it is about none in particular."""

    what: str
    first_seq: int
    last_seq: int
    detail: str


class JournalChecked(TypedDict):
    """What a look at every fact showed, and at the auditor's log. `verified_before` facts were not read again."""

    intact: bool
    facts: int
    heads: int
    heads_from_elsewhere: int
    unsealed: int
    redacted: int
    findings: list[JournalFinding]
    findings_left_out: int
    verified_before: int
    audit_log: list[str]
