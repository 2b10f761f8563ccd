"""Names of the ledger's accounts.

Per party `available`, `clearing`, `pending_out`; per job `escrow`; per dispute `stake`; of the platform `fees`,
`external` (what is outside: its debit is what came in) and `treasury` (what of ai$ has not been given out). Market
ruling a.9.
"""

from typing import Final

PLATFORM: Final = "platform"


def available(account_id: str, currency: str) -> str:
    """What a party may spend."""
    return f"{account_id}:available:{currency}"


def clearing(account_id: str, currency: str) -> str:
    """What a party has earned and may not spend yet."""
    return f"{account_id}:clearing:{currency}"


def pending_out(account_id: str, currency: str) -> str:
    """What is on its way out."""
    return f"{account_id}:pending_out:{currency}"


def escrow(job_id: str, currency: str) -> str:
    """What lies ready for a job; 0 once the job is closed."""
    return f"{job_id}:escrow:{currency}"


def stake(dispute_id: str, currency: str) -> str:
    """What the parties of a dispute have staked."""
    return f"{dispute_id}:stake:{currency}"


def fees(currency: str) -> str:
    """What the platform has earned."""
    return f"{PLATFORM}:fees:{currency}"


def external(currency: str) -> str:
    """The world outside."""
    return f"{PLATFORM}:external:{currency}"


def treasury(currency: str) -> str:
    """What the platform may still give out: a fixed amount at the start, bounded below by 0."""
    return f"{PLATFORM}:treasury:{currency}"


def is_guarded(account: str) -> bool:
    """True for every account but the world outside: it never gives more than it got."""
    return not account.startswith(f"{PLATFORM}:external:")


def owner_of(account: str) -> str:
    """Whose account it is: a party's, a job's, a dispute's, the platform's."""
    return account.partition(":")[0]


def currency_of(account: str) -> str:
    """The last part of every account's name."""
    return account.rpartition(":")[2]
