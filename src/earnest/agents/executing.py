"""A job from its claim to what is handed in, in steps that a killed agent takes again without harm."""

import json
import os
import re
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from earnest.agents.actions import ExecuteJob
from earnest.agents.job_files import evidence_of, read_file
from earnest.agents.means import Means, WorkFailed, WorkOrder, WorkReport
from earnest.agents.state import REJECTED, WAITING, WORKING, ActionResult, came_to
from earnest.client.payloads import Claim, Item, Job
from earnest.client.problem import Problem
from earnest.effects.ground.text_file import located
from earnest.foundation.errors import EarnestError, Refused

CLAIMS_KEPT: Final = 20
NOTE_CHARACTERS_MAX: Final = 1_000
FAILURES_MAX: Final = 2
FAILED: Final = "failed"
LOOK_MS: Final = 200
LOOK_LONGEST_MS: Final = 2_000
MACHINE_ADDED: Final = (
    "\n## Evidence\n\n<!-- added by the runtime: it says nothing, and proves nothing -->\n- (see the files)\n"
)
_EVIDENCE: Final = re.compile(r"^#{1,6} +evidence\b", re.IGNORECASE | re.MULTILINE)
_WANTED: Final = re.compile(r"\[verifier:|evidence required", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WorkRevision:
    """The files of one revision of a claim: `folder` is there once its work is whole."""

    place: Path
    number: int

    @property
    def folder(self) -> Path:
        """What is handed in."""
        return self.place / f"r{self.number}"

    @property
    def told(self) -> Path:
        """What whoever worked has said."""
        return self.place / f"r{self.number}.json"


async def execute(payload: ExecuteJob, tick: str, means: Means) -> ActionResult:
    """Claim, work, hand in, and wait a while for the verdict. Raises `Problem`, `Unavailable`."""
    claim_id = payload.claim_id
    if not claim_id:
        claim_id = (await means.client.keyed(f"{tick}-claim").claim_job(payload.job_id))["claim_id"]
    claim = await means.client.get_claim(claim_id)
    if claim["state"] == "declined":
        await means.client.keyed(f"{claim_id}-concede").concede_claim(claim_id)
        return came_to("conceded: the work was declined", claim_id, ok=False)
    if claim["state"] in WORKING:
        if claim["state"] == "claimed":
            await means.client.keyed(f"{claim_id}-start").start_claim(claim_id)
        try:
            claim = await _hand_in(claim, means)
        except (WorkFailed, Refused, OSError) as error:
            return await _failed(claim, means, str(error))
    return await _verdict(claim, means)


async def _hand_in(claim: Claim, means: Means) -> Claim:
    job = await means.client.get_job(claim["job_id"])
    revision = WorkRevision(means.folder / claim["claim_id"], claim["revision"] + 1)
    worked = await _worked(job, claim, revision, means)
    evidence = _evidence(worked.said)
    _complete(job, revision.folder)
    items: list[Item] = []
    for one in evidence_of(job["evidence_requirements"], revision.folder):
        item = {**one.item, "note": evidence} if evidence else one.item
        if one.content is not None:
            item["sha256"] = (await means.client.upload(one.content, item["media_type"]))["sha256"]
        items.append(item)
    keyed = means.client.keyed(f"{claim['claim_id']}-r{revision.number}")
    await keyed.submit_evidence(claim["claim_id"], items)
    return await means.client.get_claim(claim["claim_id"])


async def _worked(job: Job, claim: Claim, revision: WorkRevision, means: Means) -> WorkReport:
    """The work of a revision, as it was done; done now where it is not whole. It begins with what the last one left."""
    if revision.folder.is_dir():
        return WorkReport(**json.loads(revision.told.read_text(encoding="utf-8")))
    _forget_old(means.folder)
    new = revision.place / "new"
    shutil.rmtree(new, ignore_errors=True)
    before = WorkRevision(revision.place, revision.number - 1).folder
    if before.is_dir():
        shutil.copytree(before, new, symlinks=True)
    else:
        new.mkdir(mode=0o700, parents=True)
    kept = revision.place / f"r{revision.number}.run"
    order = WorkOrder(job=job, claim_id=claim["claim_id"], workspace=new, kept=kept, feedback=tuple(feedback_on(claim)))
    worked = await means.hands.work(order)
    revision.told.write_text(json.dumps(asdict(worked)), encoding="utf-8")
    new.rename(revision.folder)
    return worked


def feedback_on(claim: Claim) -> list[str]:
    """What was not met in the newest revision, a line each."""
    verdict = claim["submissions"][0]["verdict"] if claim["submissions"] else None
    found = [
        f"{one['id']}: {one['reason']}" for one in (verdict or {}).get("criteria", ()) if one["verdict"] != "verified"
    ]
    is_said = bool(found) and all(line in claim["reason"] for line in found)  # a machine's reason is made of these
    return found if is_said or not claim["reason"] else [*found, claim["reason"]]


async def _failed(claim: Claim, means: Means, why: str) -> ActionResult:
    """Work that failed is tried once more at the next tick; then the claim is given back, which is honest and free."""
    claim_id = claim["claim_id"]
    tried = sum(1 for row in means.book.rows(FAILED) if row["claim_id"] == claim_id) + 1
    means.book.add(FAILED, f"{claim_id}/failed/{tried}", claim_id=claim_id, text=why, at_ms=means.clock.now_ms())
    if tried < FAILURES_MAX:
        return came_to(f"the work failed: {why}", claim_id, ok=False)
    await means.client.keyed(f"{claim_id}-cancel").cancel_claim(claim_id)
    return came_to(f"given back, the work failed: {why}", claim_id, ok=False)


async def _verdict(claim: Claim, means: Means) -> ActionResult:
    """The state of the claim once a machine has judged it, or after `verdict_ms`."""
    wait_ms, until_ms = LOOK_MS, means.clock.now_ms() + means.verdict_ms
    while claim["state"] in WAITING and claim["verdict"] is None and means.clock.now_ms() < until_ms:
        await means.clock.sleep_ms(wait_ms)
        wait_ms = min(2 * wait_ms, LOOK_LONGEST_MS)
        claim = await means.client.get_claim(claim["claim_id"])
    said = f"handed in: {claim['verdict'] or 'not judged yet'}, {claim['state']}"
    return came_to(said, claim["claim_id"], ok=claim["state"] not in REJECTED)


def _evidence(said: str) -> str:
    """The Evidence section of what was said; all of it where there is none."""
    found = _EVIDENCE.search(said)
    return said[found.start() :][:NOTE_CHARACTERS_MAX].strip() if found else said[:NOTE_CHARACTERS_MAX].strip()


def _complete(job: Job, folder: Path) -> None:
    """Give the first Markdown file a section where the job's format wants one and nobody wrote it."""
    if not _WANTED.search(f"{job['title']}\n{job['text']}"):
        return
    wanted = [folder / one["path"] for one in job["evidence_requirements"] if one["path"].endswith(".md")]
    paths = [located(path, folder) for path in wanted if path.is_file()]
    if paths and not any(_EVIDENCE.search(read_file(path).decode(errors="replace")) for path in paths):
        with paths[0].open("a", encoding="utf-8") as file:
            file.write(MACHINE_ADDED)


def _forget_old(folder: Path) -> None:
    """Of claims long over, the work goes."""
    if not folder.is_dir():
        return
    places = sorted((entry for entry in os.scandir(folder) if entry.is_dir()), key=lambda one: one.stat().st_mtime)
    for entry in places[:-CLAIMS_KEPT]:
        shutil.rmtree(entry.path, ignore_errors=True)


def is_final(error: EarnestError) -> bool:
    """Would the same request be refused again?"""
    return isinstance(error, Problem) and 400 <= error.status < 500 and not error.retryable
