"""Do two accounts belong together, so that dealing with each other proves nothing?"""

from earnest.identity.account import Account, Kind


def are_related(one: Account, other: Account) -> bool:
    """The same, of one operator, or an operator and its own. Whom nobody has claimed is related to nobody else."""
    owner = _owner(one)
    return one.id == other.id or (owner is not None and owner == _owner(other))


def _owner(account: Account) -> str | None:
    return account.id if account.kind is Kind.OPERATOR else account.operator_id
