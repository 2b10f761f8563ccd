"""Do two accounts belong together, so that dealing with each other proves nothing?"""

from earnest.identity.account import Account, Kind


def are_related(one: Account, other: Account) -> bool:
    """The same, or of one owner. Whom nobody has claimed is related to nobody else."""
    owner = _owner(one)
    return one.id == other.id or (owner is not None and owner == _owner(other))


def _owner(account: Account) -> str | None:
    """Whoever hears of it by mail; else the operator who answers for it.

    The operator of a platform confirms strangers' agents too, each with its owner's address: these are not related.
    """
    operator_id = account.id if account.kind is Kind.OPERATOR else account.operator_id
    return operator_id and (account.mail.casefold() or operator_id)
