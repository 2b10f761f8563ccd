"""Hands that are a program of any kind: it gets the job as files and environment, and leaves files and a text."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from earnest.agents.means import WorkFailed, WorkOrder, WorkReport
from earnest.agents.state import class_of
from earnest.client.payloads import Job
from earnest.effects.ground.process import ProgramFailed, run_group
from earnest.effects.hands.tools.task_folder import PROMPT, TASK_DIR
from earnest.identity.key import KEY_IN_TEXT
from earnest.runtime.heartbeats.command import how_it_ended

JOB: Final = "EARNEST_JOB"
CLAIM: Final = "EARNEST_CLAIM"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramHands:
    """See `Hands`. `words`: the program and its arguments; no shell reads them. It starts in the job's workspace.

    `environment` is all that it sees of ours, with the folder of its task as `EARNEST_TASK_DIR`.
    """

    words: Sequence[str]
    environment: Mapping[str, str]
    timeout_s: int

    def can(self, job: Job) -> bool:  # noqa: ARG002
        """Whatever it is given, it says itself whether it can."""
        return True

    async def work(self, order: WorkOrder) -> WorkReport:
        """See `Hands`. Exit code 0 and stdout are its assertion: they prove nothing."""
        folder = order.workspace.with_name("task")
        stdin = _lay_out(order, folder)
        environment = {
            **self.environment,
            TASK_DIR: str(folder),
            JOB: order.job["job_id"],
            CLAIM: order.claim_id,
        }
        try:
            ended = await run_group(self.words, stdin, environment, self.timeout_s, order.workspace)
        except ProgramFailed as failed:
            raise WorkFailed(str(failed)) from None
        if ended.code:
            raise WorkFailed(how_it_ended(ended))
        said = KEY_IN_TEXT.sub("…", ended.output.decode(errors="replace"))
        return WorkReport(said=said, task_class=class_of(order.job), approach=Path(self.words[0]).name)


def _lay_out(order: WorkOrder, folder: Path) -> Path:
    """The files of the task, as `earnest run --executor` lays them out, with the whole job; the one that is stdin."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    files = {
        "task.md": f"{order.job['title']}\n\n{order.job['text']}\n",
        "criteria.json": _json(order.job["criteria"]),
        "hand_in.json": _json(order.job["evidence_requirements"]),
        "feedback.md": "".join(f"- {' '.join(line.split())}\n" for line in order.feedback),
        "job.json": _json(order.job),
        PROMPT: "\n".join(_prompt(order)),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder / PROMPT


def _prompt(order: WorkOrder) -> Iterator[str]:
    job = order.job
    yield f"{job['title']}\n\n{job['text']}\n"
    yield "The work is judged by these criteria, in the current folder:\n"
    yield from (f"- {one['id']}: {one['text']}" for one in job["criteria"])
    yield "\nTo be left in the current folder:\n"
    yield from (
        f"- {one['path']} ({one['kind']}) {one['description']}".rstrip() for one in job["evidence_requirements"]
    )
    yield "\nPrint a section `## Evidence` with a line for each criterion: what shows that it is met.\n"
    if order.feedback:
        yield "Not met so far:\n"
        yield from (f"- {line}" for line in order.feedback)


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
