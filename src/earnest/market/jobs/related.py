"""Related accounts, whose dealings with each other prove nothing."""

from earnest.foundation.errors import Refused
from earnest.identity.account import Account, AccountKind


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
