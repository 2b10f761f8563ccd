"""Check kinds decided by people, `human` here: a person finds by a rubric that the work meets the criterion."""

from collections.abc import Sequence
from pathlib import Path

from earnest.contracts.node import node_of
from earnest.contracts.reader import NodeReader
from earnest.foundation.canonical import JsonObject
from earnest.verification.plugin import CheckTools, ConfigFault, Findings, Subject, faults_of
from earnest.verification.reviews.asking import decided, decision_on, review_about, waiting
from earnest.verification.reviews.review import Decider
from earnest.verification.reviews.rubric import read_rubric


class PersonCheck:
    """See docs/checks/human.md and docs/checks/proposer_review.md: the kinds differ in who may decide."""

    version = 1
    runs_code = False
    reproducible = False

    def __init__(self, kind: str, decider: Decider) -> None:
        self.kind = kind
        self._decider = decider

    def config_faults(self, config: JsonObject, _base_folder: Path | None) -> Sequence[ConfigFault]:
        """See `Check`."""
        return faults_of(config, read_rubric)

    async def run(self, config: JsonObject, subject: Subject, tools: CheckTools) -> Findings:
        """See `Check`. Without a decision the findings name the review that waits for one."""
        rubric = read_rubric(NodeReader(), node_of(config))
        review = review_about(
            subject, tools.criterion, decider=self._decider, rubric=rubric, why="no machine decides it"
        )
        decision = await decision_on(review, tools)
        return waiting(review) if decision is None else decided(decision)


CHECK = PersonCheck("human", Decider.PERSON)
