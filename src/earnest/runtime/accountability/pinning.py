"""The operator accepts a contract, says when and how often it holds, and lets a task begin anew."""

import json
from collections.abc import Mapping
from dataclasses import replace

from earnest.accountability.agreement import (
    CONTRACT_BYTES_MAX,
    Agreement,
    contract_of,
    possible_of,
    without_attempts,
)
from earnest.accountability.service import AGREEMENTS
from earnest.client.payloads_scores import Agreed, TaskReset
from earnest.contracts.heartbeat.task import HeartbeatContract, promise_of
from earnest.foundation.canonical import canonical_text
from earnest.foundation.errors import Faulty, Refused
from earnest.foundation.zones import is_time, is_zone
from earnest.identity.account import AccountKind
from earnest.identity.caller import Scope
from earnest.identity.service import ACCOUNTS
from earnest.runtime.desk import StoryContext


def agree(
    entry: StoryContext, account_id: str, contract: str | None, accepts: str | None, given: Mapping[str, object]
) -> Agreed:
    """Accept a contract, by its text or by the digest of the one that the agent offers; and change how it holds.

    `given`: members of `Agreement` by name (zone, interval_s, active_from, active_to, is_enabled, is_paused). Raises
    `Refused`: `scope_forbidden`, `not_found`, `validation`, `too_large`, `etag_mismatch` for a digest that is not
    the offered contract's.
    """
    entry.me.need(Scope.OPERATOR)
    account = ACCOUNTS.find(entry.transaction, account_id)
    if account.kind is not AccountKind.AGENT:
        raise Refused("not_found", f"{account_id} is no agent")
    _check(given)
    if contract is not None and accepts is not None:
        raise Refused("validation", "give a contract, or accept the offered one, not both")
    known = AGREEMENTS.get(entry.transaction, account_id)
    text = contract if accepts is None else _offered(known, accepts)
    before = known or Agreement(account_id=account_id, text="", digest="", pinned_at_ms=entry.now_ms, pinned_by="")
    after: Agreement = replace(before, **given)  # type: ignore[arg-type]
    if text is not None:
        after = _pinned(entry, after, text)
    elif known is None:
        raise Refused("validation", "there is no contract yet: give its text")
    after = replace(after, possible=possible_of(after, entry.now_ms))
    save_agreement(entry, known, after, event="agreed")
    return {"account_id": account_id, "digest": after.digest, "possible": after.possible}


def begin_anew(entry: StoryContext, account_id: str, task: str) -> TaskReset:
    """Give a task all its attempts back. Raises `Refused`: `scope_forbidden`, `not_found`."""
    entry.me.need(Scope.OPERATOR)
    before = AGREEMENTS.find(entry.transaction, account_id)
    if task not in before.progress_by_task():
        raise Refused("not_found", f"{task[:80]!r} was not asked for")
    after = without_attempts(before, task)
    AGREEMENTS.change(entry.transaction, entry.now_ms, before, after, touching=(account_id,), event="reset", task=task)
    return {"account_id": account_id, "task": task}


def read_contract(text: str) -> HeartbeatContract:
    """What somebody sent as a contract. Raises `Refused`: `too_large`, `validation`."""
    if len(text.encode(errors="replace")) > CONTRACT_BYTES_MAX:
        raise Refused("too_large", f"a contract has at most {CONTRACT_BYTES_MAX} bytes")
    try:
        return contract_of(text)
    except Faulty as faulty:
        raise Refused("validation", f"the contract cannot be read: {faulty}") from None


def save_agreement(entry: StoryContext, known: Agreement | None, after: Agreement, *, event: str) -> Agreement:
    """`after` in the place of what was known, or as the first; it is returned."""
    if known is None:
        AGREEMENTS.open(entry.transaction, entry.now_ms, after, touching=(after.account_id,), event=event)
    else:
        AGREEMENTS.change(entry.transaction, entry.now_ms, known, after, touching=(after.account_id,), event=event)
    return after


def _pinned(entry: StoryContext, agreement: Agreement, text: str) -> Agreement:
    contract = read_contract(text)
    was, now = ({task.id: promise_of(task) for task in one.tasks} for one in (agreement.contract, contract))
    exhausted = [task for task in json.loads(agreement.exhausted) if was.get(task) in (None, now.get(task))]
    return replace(
        agreement,
        text=text,
        digest=contract.digest,
        pinned_at_ms=entry.now_ms,
        pinned_by=entry.me.id,
        exhausted=canonical_text(exhausted),
        offered="",
        weakened="{}",
    )


def _offered(known: Agreement | None, digest: str) -> str:
    """What the agent offers or has offered first, if it is what the operator means."""
    text = "" if known is None else known.offered or known.text
    if not text or contract_of(text).digest != digest:
        raise Refused("etag_mismatch", "the agent offers another contract by now, or none: look at it again")
    return text


def _check(given: Mapping[str, object]) -> None:
    for name, value in given.items():
        is_good = is_zone(str(value)) if name == "zone" else is_time(str(value)) if name.startswith("active_") else True
        if not is_good:
            wanted = "a zone of the IANA database" if name == "zone" else "HH:MM, from 00:00 to 24:00"
            errors = [{"pointer": f"#/{name}", "code": "validation", "detail": wanted}]
            raise Refused("validation", f"{name} must be {wanted}", errors=errors)
