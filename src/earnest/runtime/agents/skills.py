"""Hands chosen by the job: the first skill that fits, else what is always there."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from earnest.agents.ports import JobHands, WorkFailed, WorkOrder, WorkReport
from earnest.client.payloads import Job

TITLE_CHARACTERS_MAX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Skilled:
    """Hands for jobs of this category whose title holds this pattern; empty: any."""

    category: str
    title: str
    hands: JobHands

    def fits(self, job: Job) -> bool:
        """Is it such a job?"""
        is_of = self.category in {"", job["category"]}
        return is_of and re.search(self.title, job["title"][:TITLE_CHARACTERS_MAX]) is not None and self.hands.can(job)


class SkilledHands:
    """See `JobHands`."""

    def __init__(self, skills: Sequence[Skilled]) -> None:
        self._skills = skills

    def can(self, job: Job) -> bool:
        """See `JobHands`."""
        return any(skill.fits(job) for skill in self._skills)

    async def work(self, order: WorkOrder) -> WorkReport:
        """See `JobHands`."""
        for skill in self._skills:
            if skill.fits(order.job):
                return await skill.hands.work(order)
        raise WorkFailed("there is no way to do this job")
