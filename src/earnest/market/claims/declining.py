"""How much work a buyer may decline."""

from earnest.foundation.errors import Refused
from earnest.market.terms import Terms


def declines_max(judged: int, terms: Terms) -> int:
    """The quota of a buyer who judged so many claims in the last week: a fixed number or a share, whichever is more."""
    return max(terms.declines_per_week, judged * terms.declines_share_percent // 100)


def check_quota(declined: int, judged: int, terms: Terms) -> None:
    """Refuse one decline more. `declined` and `judged` (declines included) are counted over the window.

    Raises `Refused("decline_quota")`.
    """
    most = declines_max(judged, terms)
    if declined >= most:
        raise Refused("decline_quota", f"you declined {declined} claims within a week, and {most} is the most now")
