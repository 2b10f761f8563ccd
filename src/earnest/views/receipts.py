"""What a receipt says of a claim, a heartbeat day or a run: promise, criteria, verdicts, consequences, and the facts
that hold them. And the proof that the platform dropped and altered nothing: a checkpoint, a place under it (RFC 9162).
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import date as Date  # noqa: N812 - `date` is a day's name here
from datetime import timedelta
from typing import Any, Final, cast

from earnest.accountability.days import begins_at_ms, day_id
from earnest.accountability.heartbeat import CheckInState, Heartbeat
from earnest.accountability.rows import DAYS, HEARTBEATS
from earnest.client.payloads_platform import Checkpoint, Consistency, Proof
from earnest.effects.ground.storage.facts import StoredFact
from earnest.effects.ground.storage.reader import BooksReader
from earnest.engine.facts import FINISHED, OUTCOME, STARTED
from earnest.foundation.canonical import JsonObject, JsonValue, Members
from earnest.foundation.errors import Broken, Refused
from earnest.foundation.instants import rfc3339, rfc3339_s
from earnest.journal.heads import Head
from earnest.journal.proving import Prover, head_at, newest_head, sealed_heads
from earnest.journal.receipt import Draft, Subject
from earnest.market.claims.claim import TERMINAL, Claim
from earnest.market.claims.evidence import Submission
from earnest.market.rows import JOBS, SUBMISSIONS
from earnest.verification.verdict import Answer
from earnest.views.claims import find_claim, submission_json
from earnest.views.jobs import PUBLIC_CHECKS, public_criterion
from earnest.views.records import is_public
from earnest.views.runs import find_run
from earnest.views.score import day_json, heartbeat_json

HEARTBEATS_MAX: Final = 400
"""Of a day: what is beyond is more than an agent can check in."""
_BOOKED: Final = ("id", "kind", "debit", "credit", "amount_micro", "reason")
_VERDICT: Final = "/verdict"


def claim_draft(reader: BooksReader, claim_id: str, viewer: str, *, sees_all: bool) -> Draft:
    """Of a claim that has ended: for its parties; for anybody, without what is theirs alone, if its end stands in
    its seller's record. Raises `Refused`: `not_found`, `not_a_party`, `not_ended`.
    """
    claim = find_claim(reader, claim_id, viewer, sees_all=True)
    is_theirs = sees_all or viewer in {claim.seller, claim.buyer}
    if not is_theirs and not is_public(reader, claim):
        find_claim(reader, claim_id, viewer, sees_all=False)
    if claim.state not in TERMINAL:
        raise Refused("not_ended", f"the claim is {claim.state}: its receipt is given when it has ended")
    job = JOBS.get(reader, claim.job_id)
    if job is None:
        raise Broken(f"the job of {claim.id} is gone")
    submissions = list(SUBMISSIONS.where(reader, "claim_id = ? ORDER BY revision", (claim.id,)))
    promise = [*reader.facts(kind="job.opened", subject=job.id, limit=1)]
    own = [*reader.facts(kind=("claim.opened", "claim.changed", "ledger.posted"), subject=claim.id)]
    judged = [fact for one in submissions for fact in reader.facts(subject=one.id)]
    criteria = [public_criterion(one) for one in json.loads(job.criteria)]
    verdicts, consequences = [_submission(one) for one in submissions], _consequences(claim, own)
    if not is_theirs:
        verdicts = [_for_anybody(one, criteria) for one in verdicts]
        consequences = {**consequences, "reason": "", "cited_criteria": []}
    predicate: Members = {
        "kind": "claim",
        "id": claim.id,
        "promise": {
            "job_id": job.id,
            "title": job.title,
            "text": job.text,
            "spec_digest": claim.spec_digest,
            "acceptance": claim.acceptance,
            "seller": claim.seller,
            "buyer": claim.buyer,
            "currency": claim.currency,
            "amount_micro": claim.amount_micro,
            "fee_micro": claim.fee_micro,
            "claimed_at": rfc3339_s(claim.claimed_at_ms),
            "due_at": rfc3339_s(claim.due_at_ms),
        },
        "criteria": cast("list[JsonValue]", criteria),
        "verdicts": cast("list[JsonValue]", verdicts),
        "consequences": consequences,
    }
    subjects = [
        Subject(name=f"{one.id}/{item['path']}", sha256=_digest(item["sha256"]))
        for one in submissions
        for item in json.loads(one.manifest)
    ]
    # Where nothing was handed in, the promise itself was judged by its deadline.
    subjects = subjects or [Subject(name=f"{job.id}/spec", sha256=_digest(claim.spec_digest))]
    return _draft(subjects, predicate, (*promise, *own, *judged))


def day_draft(reader: BooksReader, account_id: str, handle: str, date: str, now_ms: int) -> Draft:
    """Of an agent's day with all its heartbeats. Raises `Refused`: `not_found`, `not_ended`."""
    heartbeats = list(
        HEARTBEATS.where(
            reader, f"account_id = ? AND date = ? ORDER BY at_ms, id LIMIT {HEARTBEATS_MAX}", (account_id, date)
        )
    )
    day = DAYS.get(reader, day_id(account_id, date))
    if not heartbeats or day is None:
        raise Refused("not_found", f"{handle} did not check in on {date[:80]}")
    following = (Date.fromisoformat(date) + timedelta(days=1)).isoformat()
    if now_ms < begins_at_ms(following, day.zone) or any(one.state is not CheckInState.JUDGED for one in heartbeats):
        raise Refused("not_ended", f"{date} is not over, or not judged: its receipt is given then")
    predicate: Members = {
        "kind": "day",
        "id": f"{handle}/{date}",
        "promise": {"account_id": account_id, "contracts": sorted({one.contract_digest for one in heartbeats})},
        "criteria": [{"heartbeat_id": one.id, "asked": json.loads(one.asked)} for one in heartbeats],
        "verdicts": [heartbeat_json(one) for one in heartbeats],
        "consequences": day_json(day, day.floor),
    }
    facts = [fact for one in heartbeats for fact in reader.facts(subject=one.id)]
    return _draft(_day_subjects(heartbeats), predicate, facts)


def run_draft(reader: BooksReader, run_id: str) -> Draft:
    """Of a run that was accepted. A beginning of its id will do. Raises `Refused`: `run_unknown`, `not_ended`."""
    full_id = find_run(reader, run_id)
    facts = [*reader.facts(kind=(STARTED, OUTCOME, FINISHED), subject=full_id)]
    facts = [fact for fact in facts if fact.kind != OUTCOME or str(fact.body["key"]).endswith(_VERDICT)]
    started, ended = facts[0], facts[-1]
    result: Any = ended.body.get("result") if ended.kind == FINISHED else None
    if result is None or result["directive"] != "accept":
        raise Refused("not_ended", f"{full_id} was not accepted: only an accepted run has a receipt")
    judged = [fact for fact in facts if fact.kind == OUTCOME]
    if not judged:
        raise Broken(f"{full_id} was accepted without a verdict")
    predicate: Members = {
        "kind": "run",
        "id": full_id,
        **_order(started),
        "verdicts": [{**fact.body, "at": rfc3339(fact.at_ms)} for fact in judged],
        "consequences": {"ended_at": rfc3339(ended.at_ms), "result": result},
    }
    subjects = [
        Subject(name=str(fact.body["key"]).removesuffix(_VERDICT), sha256=_digest(str(fact.body["snapshot"])))
        for fact in judged
        if fact.body.get("snapshot")
    ]
    subjects = subjects or [Subject(name="order", sha256=started.leaf.hex())]
    return _draft(subjects, predicate, facts)


def _draft(subjects: Iterable[Subject], predicate: Members, facts: Iterable[StoredFact]) -> Draft:
    seqs = sorted({fact.seq for fact in facts})
    return Draft(subjects=tuple(subjects), predicate=predicate, seqs=tuple(seqs))


def _submission(submission: Submission) -> JsonObject:
    return {name: cast("JsonValue", value) for name, value in submission_json(submission).items() if name != "items"}


def _for_anybody(judged: JsonObject, criteria: Iterable[Mapping[str, Any]]) -> JsonObject:
    """Without what work or a check holds: the reason stands where a criterion whose check is public was not met."""
    verdict: Any = judged["verdict"]
    if verdict is None:
        return judged
    told = {one["id"] for one in criteria if (one.get("check") or {}).get("kind") in PUBLIC_CHECKS}
    shown = [
        one if one["id"] in told and one["verdict"] == Answer.NOT_VERIFIED else {**one, "reason": "", "evidence": []}
        for one in verdict["criteria"]
    ]
    return {**judged, "verdict": {**verdict, "reason": "", "flags": [], "criteria": shown}}


def _consequences(claim: Claim, facts: Iterable[StoredFact]) -> JsonObject:
    transfers: list[JsonValue] = []
    for fact in facts:
        match fact.body:
            case {"transfers": [*booked]}:
                transfers += [{name: one[name] for name in _BOOKED} for one in booked if isinstance(one, Mapping)]
    return {
        "state": claim.state.value,
        "ended_at": rfc3339_s(claim.ended_at_ms),
        "late": claim.late,
        "verdict": claim.last_verdict or None,
        "declined_by": claim.declined_by or None,
        "reason": claim.reason,
        "cited_criteria": json.loads(claim.cited),
        "dispute_id": claim.dispute_id,
        "transfers": transfers,
    }


def _day_subjects(heartbeats: Iterable[Heartbeat]) -> Iterator[Subject]:
    for one in heartbeats:
        yield Subject(name=f"{one.id}/HEARTBEAT.md", sha256=_digest(one.contract_digest))
        for item in json.loads(one.artifacts):
            yield Subject(name=f"{one.id}/{item['path']}", sha256=_digest(item["sha256"]))


def _order(started: StoredFact) -> JsonObject:
    """What was promised, and by which criteria: of a playbook, or of a request in words."""
    body: Mapping[str, Any] = started.body
    groups: list[JsonObject] = []
    match body:
        case {"playbook": {"intent": intent, "criteria": criteria, "subtasks": [*subtasks]}}:
            groups.append({"subtask": None, "criteria": criteria})
            groups += [{"subtask": one["id"], "criteria": one["criteria"]} for one in subtasks]
        case {"request": {"raw_input": intent}}:
            pass  # the planner made its criteria: they stand in the run's messages, and by id in the verdicts
        case _:
            raise Broken(f"the start of {started.subject} cannot be read")
    return {
        "promise": {
            "intent": intent,
            "digest": body.get("digest"),
            "started_at": rfc3339(started.at_ms),
        },
        "criteria": groups,
    }


def _digest(text: str) -> str:
    return text.removeprefix("sha256:")


def newest_checkpoint(reader: BooksReader) -> Checkpoint:
    """The newest sealed head: so many facts have this Merkle root (SHA-256, hexadecimal). Size 0: nothing is sealed."""
    for head, at_ms in sealed_heads(reader):
        return _shown(head, at_ms)
    return {"size": 0, "root": "", "sealed_at": None}


def proof_of(reader: BooksReader, seq: int) -> Proof:
    """The leaf of fact `seq` and its path to the newest checkpoint. It shows hashes alone, never what the fact says.

    Raises `Refused("not_found")` for a fact that is not under the checkpoint.
    """
    head, at_ms = next(sealed_heads(reader), (None, 0))
    if head is None or not 1 <= seq <= head.size:
        raise Refused("not_found", f"the newest checkpoint has {head.size if head else 0} facts")
    path = Prover(reader, head).inclusion(seq)
    leaf = next(reader.leaves(after_seq=seq - 1, limit=1))
    return {"seq": seq, "leaf": leaf.hex(), "checkpoint": _shown(head, at_ms), "path": [node.hex() for node in path]}


def consistency_of(reader: BooksReader, old: int, new: int | None) -> Consistency:
    """That the checkpoint of `new` facts, by default the newest, only added to that of `old`.

    Raises `Refused("not_found")` for a size that has no checkpoint.
    """
    later = newest_head(reader) if new is None else head_at(reader, new)
    if later is None:
        raise Refused("not_found", "there is no checkpoint yet")
    path = Prover(reader, later).consistency(head_at(reader, old))
    return {"from": old, "to": later.size, "path": [node.hex() for node in path]}


def _shown(head: Head, at_ms: int) -> Checkpoint:
    return {"size": head.size, "root": head.root.hex(), "sealed_at": rfc3339_s(at_ms)}
