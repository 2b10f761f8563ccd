"""Posting a job: a promise that can be kept, judged and paid for."""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Final

from earnest.client.payloads import JobPosted, JobWithdrawn
from earnest.contracts.criterion import criterion_to_json
from earnest.contracts.spec import VerificationSpec
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.hands.scratch import scratch
from earnest.foundation.canonical import JsonObject, canonical_text, digest_of
from earnest.foundation.errors import Refused
from earnest.foundation.instants import SECOND_MS
from earnest.identity.account import AccountKind
from earnest.identity.key import Caller, Scope
from earnest.ledger import service as ledger
from earnest.ledger.transfer import available
from earnest.market import settlement
from earnest.market.claims.evidence import artifact_id
from earnest.market.jobs.job import Job, JobState, check_redo, need_turn, publish, withdrawn
from earnest.market.jobs.offer import Offer, check_category, check_files, check_price, check_requirements, spec_of
from earnest.market.jobs.tags import Tags
from earnest.market.service import ARTIFACTS, CATEGORY, JOBS
from earnest.market.terms import OWN, Terms
from earnest.runtime.desk import Prepared, StoryContext
from earnest.runtime.judging import linted
from earnest.runtime.market.market import Market
from earnest.runtime.market.periods import current_period
from earnest.runtime.market.settling import need_may_move, save_job
from earnest.runtime.probing import need_probes

LINTED_KEPT_MAX: Final = 1_024


async def prepare_posting(market: Market, caller: Caller, offer: Offer) -> Prepared:
    """Read and lint an offer; the act posts it and lays its reward aside.

    Raises `Refused`: `scope_forbidden`, `validation` and `lint_failed` (with `errors`), `unknown_check`,
    `verifier_unavailable`.
    """
    caller.need(*_may_post(offer))
    check_category(offer.category)
    check_requirements(offer.requirements)
    check_files(offer.files)
    fee_bps = check_price(offer.currency, offer.amount_micro, market.terms)
    spec, tags = spec_of(offer, market.registry.kinds(), market.verifier.check_faults)
    need_probes(spec.criteria, market.verifier_of(caller.account).probe_names)
    if offer.files:
        need_owned(await market.desk.database.ask(lambda reader: unowned(reader, caller.id, offer.files)))
    digest = digest_of([[criterion_to_json(one) for one in spec.criteria], dict(offer.files)])
    async with market.linting.setdefault(digest, asyncio.Lock()):
        if digest not in market.linted:
            await _lint(market, caller, spec, offer.files)
            _remember(market.linted, digest)
    ahead = ledger.sought_of(available(caller.id, offer.currency))
    return lambda entry: _post(entry, market.terms, offer, spec, tags, fee_bps=fee_bps), ahead


async def _lint(market: Market, caller: Caller, spec: VerificationSpec, files: Mapping[str, str]) -> None:
    """Try the checks on worthless work, beside the files that they name. A check that cannot be tried is refused."""
    with scratch("job") as folder:
        path = folder / "offer.txt"
        await asyncio.to_thread(lay_out, market, files, folder)
        await asyncio.to_thread(path.write_text, spec.text, encoding="utf-8")
        verifier = market.verifier_of(caller.account)
        faults = verifier.config_faults(spec.criteria, "job", folder)
        if faults:
            raise Refused("validation", faults[0].message, errors=[_error("", fault.message) for fault in faults])
        found = await linted(verifier, market.registry, spec, path)
    grave = [one for one in found if one.is_grave]
    if grave:
        message = f"{grave[0].criterion}: {grave[0].message}"
        raise Refused("lint_failed", message, errors=[_error(one.criterion, one.message) for one in grave])
    if untried := [one for one in found if one.is_untried]:
        raise Refused("verifier_unavailable", f"{untried[0].criterion}: {untried[0].message}")


def _remember(linted: dict[str, None], digest: str) -> None:
    """What was tried and found good is not tried again."""
    if len(linted) >= LINTED_KEPT_MAX:
        linted.pop(next(iter(linted)))
    linted[digest] = None


def withdraw_job(entry: StoryContext, job_id: str) -> JobWithdrawn:
    """Take back a job that nobody has claimed; its reward returns. Raises `Refused`: `not_a_party`, as `need_open`."""
    entry.me.need(Scope.LIVE, Scope.OPERATOR, Scope.REGISTERED)
    job = JOBS.find(entry.transaction, job_id)
    if job.creator != entry.me.id:
        raise Refused("not_a_party", "only the creator of a job withdraws it")
    need_may_move(entry.me, job.currency, job.amount_micro)
    after = save_job(entry, job, withdrawn(job, entry.now_ms), "withdrawn")
    return {"job_id": after.id, "state": after.state.value}


def unowned(reader: BooksReader, account_id: str, files: Mapping[str, str]) -> str:
    """The first artifact that this account has not brought itself; empty where there is none."""
    return next((one for one in files.values() if ARTIFACTS.get(reader, artifact_id(account_id, one)) is None), "")


def need_owned(lacking: str) -> None:
    """Raises `Refused("validation")` if there is an `unowned` artifact."""
    if lacking:
        raise Refused("validation", f"files: you have no artifact {lacking}")


def lay_out(market: Market, files: Mapping[str, str], folder: Path) -> None:
    """Write artifacts below `folder`, each at its path, which their account has brought (`need_owned`)."""
    for path, sha256 in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(market.artifacts.read(sha256))


def _may_post(offer: Offer) -> tuple[Scope, ...]:
    """Free jobs are open to whoever is registered."""
    scopes = (Scope.LIVE, Scope.OPERATOR)
    return (*scopes, Scope.REGISTERED) if offer.amount_micro == 0 else scopes


def _post(
    entry: StoryContext, terms: Terms, offer: Offer, spec: VerificationSpec, tags: Tags, *, fee_bps: int
) -> JobPosted:
    """Post an offer that was found to be good."""
    me = entry.me
    me.need(*_may_post(offer))
    if offer.redo_of is not None:
        first = JOBS.find(entry.transaction, offer.redo_of)
        again = JOBS.where(entry.transaction, "redo_of = ? LIMIT ?", (first.id, terms.redos_max))
        check_redo(first, me.id, len(list(again)), terms)
    if offer.currency == OWN and me.account.kind is AccountKind.AGENT:
        need_turn(_open_jobs(entry, terms), terms)
    criteria = [criterion_to_json(one) for one in spec.criteria]
    job = publish(
        Job(
            id=entry.new_id("job"),
            creator=me.id,
            state=JobState.OPEN,
            title=spec.title,
            text=spec.text,
            category=offer.category,
            task_class=offer.task_class,
            currency=offer.currency,
            amount_micro=offer.amount_micro,
            fee_bps=fee_bps,
            acceptance=spec.acceptance.value,
            criteria=canonical_text(criteria),
            requirements=canonical_text([asdict(one) for one in offer.requirements]),
            spec_digest=digest_of([spec.title, spec.text, spec.acceptance.value, criteria]),
            work_s=offer.work_s,
            closes_at_ms=offer.closes_at_ms or entry.now_ms + terms.job_open_s * SECOND_MS,
            created_at_ms=entry.now_ms,
            tags=canonical_text(asdict(tags)),
            files=canonical_text([{"path": path, "sha256": sha256} for path, sha256 in sorted(offer.files.items())]),
            deadline_at_ms=offer.deadline_at_ms,
            apply_until_ms=entry.now_ms + offer.apply_window_s * SECOND_MS if offer.apply_window_s else None,
            grace_s=terms.grace_s if offer.grace_s is None else offer.grace_s,
            auto_extend=offer.auto_extend,
            auto_release_s=terms.auto_release_s if offer.auto_release_s is None else offer.auto_release_s,
            revise_s=terms.revise_s if offer.revise_s is None else offer.revise_s,
            revisions_max=terms.revisions_max if offer.revisions_max is None else offer.revisions_max,
            redo_of=offer.redo_of,
        ),
        entry.now_ms,
        terms,
    )
    JOBS.open(entry.transaction, entry.now_ms, job, touching=(me.id, CATEGORY + job.category), by_key=me.key_id)
    ledger.post(entry.transaction, settlement.funded(job, entry.now_ms))
    return {"job_id": job.id, "state": job.state.value, "amount_micro": job.amount_micro, "currency": job.currency}


def _open_jobs(entry: StoryContext, terms: Terms) -> int:
    """How many ai$ jobs that the caller posted in this period wait for somebody to take them."""
    period = current_period(entry.transaction)
    mine = "creator = ? AND state = ? AND currency = ? AND created_at_ms >= ? LIMIT ?"
    since_ms = 0 if period is None else period.opened_at_ms
    parameters = (entry.me.id, JobState.OPEN.value, OWN, since_ms, terms.open_jobs_aid)
    return len(list(JOBS.where(entry.transaction, mine, parameters)))


def _error(criterion: str, message: str) -> JsonObject:
    return {"pointer": f"/criteria/{criterion}" if criterion else "/criteria", "code": "lint", "detail": message}
