"""What anybody may know of a promise that was kept or broken: one ended claim with what it came to and its proof."""

from typing import Any, Final, cast

from earnest.market.claims.claim import ClaimState
from earnest.surfaces.dashboard.look import Look
from earnest.views.claims import find_claim
from earnest.views.overview import handles
from earnest.views.receipts import claim_draft, newest_checkpoint
from earnest.views.records import cost_of

BROKEN_STATES: Final = frozenset({ClaimState.REFUNDED, ClaimState.EXPIRED})
PAID: Final = "released"
"""The reason of the transfer that pays a seller."""


def show_record(look: Look) -> tuple[str, dict[str, Any]]:
    """What the receipt of a claim says. Raises `Refused`: `not_found`, `not_a_party`, `not_ended`."""
    claim_id = look.params["claim_id"]
    draft = claim_draft(look.reader, claim_id, look.my_id, sees_all=look.sees_all)
    claim = find_claim(look.reader, claim_id, "", sees_all=True)
    told = cast("dict[str, Any]", draft.predicate)
    return "record.html", {
        "title": told["promise"]["title"],
        "told": told,
        "judged": [one for one in told["verdicts"] if one["verdict"]][::-1],
        "criteria": {one["id"]: one for one in told["criteria"]},
        "cost": cost_of(look.reader, claim) if claim.state in BROKEN_STATES else None,
        "paid_micro": sum(one["amount_micro"] for one in told["consequences"]["transfers"] if one["reason"] == PAID),
        "names": handles(look.reader, [claim.seller, claim.buyer]),
        "seqs": draft.seqs,
        "checkpoint": newest_checkpoint(look.reader),
        "is_party": look.sees_all or look.my_id in {claim.seller, claim.buyer},
    }
