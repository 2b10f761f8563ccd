"""Hands that are the engine: a run for each revision of a job, resumed where a kill has left it."""

import shutil
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from earnest.agents.means import WorkFailed, WorkOrder, WorkReport
from earnest.agents.state import class_of
from earnest.client.payloads import Job
from earnest.client.private_file import write_private
from earnest.engine.gradient.cascade import MacroState
from earnest.engine.messages import FinalResult
from earnest.foundation.errors import EarnestError
from earnest.runtime.order import Order, PlaybookOrder
from earnest.runtime.task_run import TaskRuns


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineHands:
    """See `Hands`. `order_of` makes an order of a job and what was not met; `open_runs` opens the agent's own books."""

    open_runs: Callable[[], AbstractAsyncContextManager[TaskRuns]]
    order_of: Callable[[WorkOrder], Order]
    approach: str

    def can(self, job: Job) -> bool:  # noqa: ARG002
        """Whatever it is given; its criteria say whether it could."""
        return True

    async def work(self, order: WorkOrder) -> WorkReport:
        """See `Hands`. Only what the engine itself accepts is handed in."""
        try:
            async with self.open_runs() as runs:
                wanted = self.order_of(order)
                run_id = order.kept.read_text(encoding="ascii").strip() if order.kept.is_file() else ""
                if not run_id:
                    run_id = await runs.begin(wanted)
                    write_private(order.kept, run_id)
                ended = await runs.untold(run_id)
                result = ended.result if ended else await runs.work(run_id)
                shutil.copytree(runs.workspace_of(run_id), order.workspace, symlinks=True, dirs_exist_ok=True)
        except EarnestError as error:
            raise WorkFailed(str(error)) from error
        if result.directive is not MacroState.ACCEPT:
            order.kept.unlink(missing_ok=True)  # the next try is a run of its own
            raise WorkFailed(f"{run_id}: {result.summary}")
        task_class = wanted.playbook.task_class if isinstance(wanted, PlaybookOrder) else class_of(order.job)
        return WorkReport(said=_evidence(order.job, run_id, result), task_class=task_class, approach=self.approach)


def words_for(order: WorkOrder) -> str:
    """A job as a task in words, and what is to lie in the workspace in the end."""
    job = order.job
    lines = [job["title"], "", job["text"], "", "It is judged by:"]
    lines += [f"- {one['text']}" for one in job["criteria"]]
    lines += ["", "To be left in the workspace:"]
    lines += [f"- {one['path']} {one['description']}".rstrip() for one in job["evidence_requirements"]]
    lines += ["", "Not met so far:", *(f"- {line}" for line in order.feedback)] if order.feedback else []
    return "\n".join(lines)


def _evidence(job: Job, run_id: str, result: FinalResult) -> str:
    """What the engine has verified by itself, by criterion; the platform judges anew."""
    lines = [f"- {one['id']}: worked in {run_id}, {result.summary}" for one in job["criteria"]]
    return "\n".join(["## Evidence", "", *lines])
