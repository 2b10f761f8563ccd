"""The state of a whole platform at a glance: its agents, what waits for its operator, money, verdicts by the hour."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from earnest.accountability.agreement import Agreement
from earnest.accountability.days import Day
from earnest.accountability.rows import AGREEMENTS, DAYS
from earnest.client.payloads_scores import HeartbeatWhole
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.instants import HOUR_MS
from earnest.identity.account import Account, AccountKind
from earnest.identity.presence import Presence
from earnest.identity.rows import ACCOUNTS, PRESENCES
from earnest.market.homes.given import Duty
from earnest.market.homes.home import Home, build
from earnest.market.terms import Terms
from earnest.views.home import read_home
from earnest.views.records import TrackRecord, leaderboard, paid_to_agents, track_record
from earnest.views.score import waiting_heartbeats

AGENTS_SHOWN_MAX: Final = 50
WAITING_SHOWN_MAX: Final = 20
VERDICTS_READ_MAX: Final = 5_000
"""The newest submissions, and as many heartbeats, that are counted; older ones are not."""

_HELD: Final = (
    "SELECT currency, sum(amount_micro), count(*) FROM jobs WHERE state IN ('open', 'taken') GROUP BY currency"
)
_VERDICTS: Final = """
SELECT judged_at_ms - judged_at_ms % 3600000, count(*) FROM (
  SELECT judged_at_ms FROM (SELECT judged_at_ms FROM submissions ORDER BY id DESC LIMIT :most) AS newest_submissions
  UNION ALL
  SELECT judged_at_ms FROM (SELECT judged_at_ms FROM heartbeats ORDER BY id DESC LIMIT :most) AS newest_heartbeats
) AS judged WHERE judged_at_ms >= :since GROUP BY 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentView:
    """An agent as its owner should see it. `duty` None: it has shown no contract. `presence` None: it never came."""

    account: Account
    home: Home
    duty: Duty | None
    presence: Presence | None
    record: TrackRecord

    @property
    def stuck(self) -> list[str]:
        """What no heartbeat settles, in words."""
        return [str(one["text"]) for one in self.home.body["human_attention"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrencySums:
    """Money of one currency: in escrow for `jobs` jobs, and paid to agents for work so far."""

    currency: str
    held_micro: int
    jobs: int
    paid_micro: int


def agent_view(
    reader: BooksReader, account_id: str, now_ms: int, terms: Terms, record: TrackRecord | None = None
) -> AgentView:
    """One agent, with its record if that is read already. Raises `Refused("not_found")`."""
    read = read_home(reader, account_id, now_ms, with_jobs=False)
    return AgentView(
        account=read.account,
        home=build(read, now_ms, terms),
        duty=read.duty,
        presence=PRESENCES.get(reader, account_id),
        record=record or track_record(reader, account_id, now_ms),
    )


def leading_agents(reader: BooksReader, now_ms: int, terms: Terms, limit: int = AGENTS_SHOWN_MAX) -> list[AgentView]:
    """The leaderboard, with all that is known of each."""
    found = [agent_view(reader, one.account_id, now_ms, terms, one) for one in leaderboard(reader, now_ms, limit)]
    return [one for one in found if one.account.kind is AccountKind.AGENT]


def public_leaders(reader: BooksReader, now_ms: int, limit: int) -> list[tuple[Account, TrackRecord]]:
    """The leaderboard as anybody may see it."""
    found = [(ACCOUNTS.get(reader, one.account_id), one) for one in leaderboard(reader, now_ms, limit)]
    return [(account, one) for account, one in found if account is not None and account.kind is AccountKind.AGENT]


def agents(reader: BooksReader, after_handle: str, limit: int) -> list[Account]:
    """All agents, by handle."""
    condition = "handle > ? AND kind = 'agent' ORDER BY handle LIMIT ?"
    return list(ACCOUNTS.where(reader, condition, (after_handle, limit)))


def handles(reader: BooksReader, ids: Sequence[str]) -> dict[str, str]:
    """Who these accounts are."""
    wanted = sorted(set(ids))
    marks = ", ".join("?" * len(wanted)) or "NULL"
    return dict(reader.execute(f"SELECT id, handle FROM accounts WHERE id IN ({marks})", wanted).fetchall())  # noqa: S608


def newest_claim(reader: BooksReader, job_id: str) -> str | None:
    """The id of a job's last claim, for those who see all."""
    (found,) = reader.execute("SELECT max(id) FROM claims WHERE job_id = ?", (job_id,)).fetchone()
    return None if found is None else str(found)


def sums(reader: BooksReader) -> list[CurrencySums]:
    """Money held and paid, by currency."""
    held = {currency: (amount, jobs) for currency, amount, jobs in reader.execute(_HELD).fetchall()}
    paid = paid_to_agents(reader)
    return [
        CurrencySums(
            currency=currency,
            held_micro=held.get(currency, (0, 0))[0],
            jobs=held.get(currency, (0, 0))[1],
            paid_micro=paid.get(currency, 0),
        )
        for currency in sorted({*held, *paid})
    ]


def verdicts_by_hour(reader: BooksReader, now_ms: int, hours: int = 24) -> list[tuple[int, int]]:
    """How many verdicts fell in each of the last hours, the oldest first: its beginning in ms, and the count."""
    last = now_ms // HOUR_MS
    parameters = {"most": VERDICTS_READ_MAX, "since": (last - hours + 1) * HOUR_MS}
    found = dict(reader.execute(_VERDICTS, parameters).fetchall())
    return [(hour * HOUR_MS, found.get(hour * HOUR_MS, 0)) for hour in range(last - hours + 1, last + 1)]


def score_days(reader: BooksReader, account_id: str, days: int = 30) -> list[Day]:
    """The recorded days of an agent, the oldest first."""
    newest = DAYS.where(reader, "account_id = ? ORDER BY date DESC LIMIT ?", (account_id, days))
    return sorted(newest, key=lambda day: day.date)


def offered_contracts(reader: BooksReader, limit: int = WAITING_SHOWN_MAX) -> list[Agreement]:
    """Contracts that agents have shown and nobody has accepted."""
    return list(AGREEMENTS.where(reader, "offered <> '' ORDER BY account_id LIMIT ?", (limit,)))


def heartbeats_to_decide(reader: BooksReader, limit: int = WAITING_SHOWN_MAX) -> list[HeartbeatWhole]:
    """Heartbeats of all agents with tasks that wait for the operator."""
    sql = "SELECT DISTINCT account_id FROM heartbeats WHERE waiting > 0 LIMIT ?"
    found: list[HeartbeatWhole] = []
    for (account_id,) in reader.execute(sql, (limit,)).fetchall():
        found += waiting_heartbeats(reader, account_id, "", limit, sees_measured=True)
    return found[:limit]
