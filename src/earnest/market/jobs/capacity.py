"""Who may take a job: how many claims somebody may work on, when they are there, and whose work proves nothing."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from earnest.foundation.errors import Refused
from earnest.foundation.instants import SECOND_MS
from earnest.identity.account import Account, AccountKind
from earnest.market.capabilities.availability import DAYS
from earnest.market.capabilities.capability import Capability
from earnest.market.claims.claim import WORKING, Claim
from earnest.market.jobs.job import Job
from earnest.market.terms import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """Claims that can be worked on at once."""

    max: int
    used: int

    @property
    def free(self) -> int:
        """Never below 0, though a limit may have been lowered under what is in work."""
        return max(0, self.max - self.used)


def capacity(capabilities: Iterable[Capability], claims: Iterable[Claim], terms: Terms) -> Capacity:
    """Of an account, by its capabilities and its claims as seller."""
    used = sum(claim.state in WORKING for claim in claims)
    return Capacity(max=account_capacity(capabilities, terms), used=used)


def account_capacity(capabilities: Iterable[Capability], terms: Terms) -> int:
    """The largest of its capabilities; without one the operator's default."""
    return max((_concurrent(one, terms) for one in capabilities if not one.removed), default=terms.capacity_default)


def need_room(job: Job, capabilities: Sequence[Capability], claims: Sequence[Claim], terms: Terms) -> None:
    """Room for one claim more: of the account, for ai$ jobs without capabilities, and of the capability for such work.

    Raises `Refused("capacity_exceeded")` with `max` and `used`.
    """
    able = [one for one in capabilities if not one.removed]
    working = [claim for claim in claims if claim.state in WORKING]
    _need_free(Capacity(max=account_capacity(able, terms), used=len(working)), "in all")
    if not able and job.currency == "AID":
        used = sum(claim.currency == "AID" for claim in working)
        _need_free(Capacity(max=terms.capacity_aid, used=used), "of ai$ jobs")
    fitting = [one for one in able if (one.category, one.task_class) == (job.category, job.task_class)]
    if fitting:
        used = sum((claim.category, claim.task_class) == (job.category, job.task_class) for claim in working)
        most = max(_concurrent(one, terms) for one in fitting)
        _need_free(Capacity(max=most, used=used), f"of {job.category}")


def has_hours(able: Capability) -> bool:
    """Time decides whether it is offered."""
    return bool(_availability(able).get("hours"))


def is_available(able: Capability, now_ms: int) -> bool:
    """Not paused, and within its hours, if it has any."""
    offered = _availability(able)
    hours = offered.get("hours")
    return not offered.get("paused") and (not hours or any(_is_within(span, now_ms) for span in hours))


def _is_within(span: Mapping[str, Any], now_ms: int) -> bool:
    local = datetime.fromtimestamp(now_ms // SECOND_MS, ZoneInfo(span["tz"]))
    return DAYS[local.weekday()] in span["days"] and span["from"] <= local.strftime("%H:%M") < span["to"]


def _concurrent(able: Capability, terms: Terms) -> int:
    offered = _availability(able)
    return 0 if offered.get("paused") else min(offered["max_concurrent"], terms.capacity_max)


def _availability(able: Capability) -> Mapping[str, Any]:
    offered: Mapping[str, Any] = json.loads(able.availability)
    return offered


def _need_free(room: Capacity, of_what: str) -> None:
    if room.used >= room.max:
        message = f"you work on {room.used} claims {of_what}, and {room.max} is the most"
        raise Refused("capacity_exceeded", message, max=room.max, used=room.used)


def are_related(one: Account, other: Account) -> bool:
    """The same, or of one owner. Whom nobody has claimed is related to nobody else."""
    owner = owner_of(one)
    return one.id == other.id or (owner is not None and owner == owner_of(other))


def proves_nothing(one: Account, other: Account) -> bool:
    """True for related accounts, and where nobody answers for a side: it may be the other one again."""
    owner, other_owner = owner_of(one), owner_of(other)
    return one.id == other.id or owner is None or other_owner is None or owner == other_owner


def need_neutral(judge: Account, seller: Account, buyer: Account) -> None:
    """Nobody judges a case of their own, or of an agent of theirs against a stranger.

    Raises `Refused("related_party")`.
    """
    sides = [are_related(judge, party) for party in (seller, buyer)]
    if judge.id in {seller.id, buyer.id} or sides.count(True) == 1:
        raise Refused("related_party", "a side of this is yours: somebody else decides, or at last the clock")


def owner_of(account: Account) -> str | None:
    """None where nobody answers for it; else whoever hears of it by mail; else the operator who answers for it.

    The operator of a platform confirms strangers' agents too, each with its owner's address: these are not related.
    """
    operator_id = account.id if account.kind is AccountKind.OPERATOR else account.operator_id
    return operator_id and (account.mail.casefold() or operator_id)
