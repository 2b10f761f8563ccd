"""What must hold in a market's books at every moment."""

from collections.abc import Iterator

from earnest.effects.ground.storage.reader import BooksReader
from earnest.market.claims.claim import TERMINAL
from earnest.runtime.market.trials import WELCOME

_ENDED = ", ".join(f"'{state.value}'" for state in sorted(TERMINAL))

_OWNER = (
    "CASE WHEN {0}.kind <> 'operator' AND {0}.operator_id IS NULL THEN NULL WHEN {0}.mail <> '' THEN lower({0}.mail) "
    "ELSE coalesce({0}.operator_id, {0}.id) END"
)
_PROVES_NOTHING = (
    "JOIN accounts s ON s.id = c.seller JOIN accounts b ON b.id = c.buyer WHERE (c.amount_micro = 0 "
    f"OR {_OWNER.format('s')} IS NULL OR {_OWNER.format('b')} IS NULL OR {_OWNER.format('s')} = {_OWNER.format('b')})"
)
"""By what the accounts say, whatever the claim does."""

QUESTIONS = {
    "the accounts of a currency do not add up to nothing": (
        "SELECT currency, sum(credits_posted - debits_posted) FROM ledger_accounts GROUP BY currency "
        "HAVING sum(credits_posted - debits_posted) <> 0"
    ),
    "an account has given more than it had": (
        "SELECT id, credits_posted - debits_posted - debits_pending FROM ledger_accounts "
        "WHERE guarded = 1 AND credits_posted < debits_posted + debits_pending"
    ),
    "an escrow holds money of a job that has ended": (
        "SELECT j.id, a.credits_posted - a.debits_posted FROM jobs j JOIN ledger_accounts a "
        "ON a.id = j.id || ':escrow:' || j.currency WHERE j.ended_at_ms IS NOT NULL "
        "AND (a.credits_posted <> a.debits_posted OR a.debits_pending <> 0)"
    ),
    "an escrow lacks money of a job that goes on": (
        "SELECT j.id, coalesce(a.credits_posted - a.debits_posted, 0) FROM jobs j LEFT JOIN ledger_accounts a "
        "ON a.id = j.id || ':escrow:' || j.currency WHERE j.ended_at_ms IS NULL "
        "AND coalesce(a.credits_posted - a.debits_posted, 0) <> j.amount_micro"
    ),
    "an account has transfers that its list does not lead to, or the reverse": (
        "WITH RECURSIVE walked (account, number) AS (SELECT id, last FROM ledger_accounts WHERE last > 0 UNION ALL "
        "SELECT w.account, CASE WHEN t.debit = w.account THEN t.debit_before ELSE t.credit_before END "
        "FROM walked w JOIN transfers t ON t.number = w.number AND w.account IN (t.debit, t.credit) "
        "WHERE w.number > 0), named (account, number) AS "
        "(SELECT debit, number FROM transfers UNION ALL SELECT credit, number FROM transfers) "
        "SELECT account, number FROM (SELECT account, number FROM walked WHERE number > 0 EXCEPT SELECT * FROM named) "
        "UNION ALL SELECT account, number FROM (SELECT * FROM named EXCEPT SELECT account, number FROM walked)"
    ),
    "a claim that has ended holds money": (
        f"SELECT c.id, t.id FROM claims c JOIN transfers t ON t.id IN (c.id || '/seller', c.id || '/fee') "  # noqa: S608
        f"WHERE c.state IN ({_ENDED}) AND t.resolved = ''"
    ),
    "a claim goes on and nothing will ever end it": (
        f"SELECT id, state FROM claims WHERE state NOT IN ({_ENDED}) AND wake_ms IS NULL AND state <> 'disputed'"  # noqa: S608
    ),
    "a job has a live claim that is not live": (
        f"SELECT j.id, c.state FROM jobs j JOIN claims c ON c.id = j.live_claim WHERE c.state IN ({_ENDED})"  # noqa: S608
    ),
    "two claims of one job are live": (
        f"SELECT job_id, count(*) FROM claims WHERE state NOT IN ({_ENDED}) GROUP BY job_id HAVING count(*) > 1"  # noqa: S608
    ),
    "somebody works for themselves": "SELECT id, seller FROM claims WHERE seller = buyer",
    "a gift was made for work that proves nothing": (
        f"SELECT t.id, t.amount_micro FROM claims c JOIN transfers t "  # noqa: S608
        f"ON t.id IN (c.id || '/bonus/seller', c.id || '/bonus/buyer') {_PROVES_NOTHING}"
    ),
    "a signal weighs of work that proves nothing": (
        f"SELECT g.id, g.weight FROM signals g JOIN claims c ON c.id = g.claim_id {_PROVES_NOTHING} AND g.weight > 0"  # noqa: S608
    ),
    "a review weighs of work that proves nothing": (
        f"SELECT r.id, r.weight FROM reviews r JOIN claims c ON c.id = r.claim_id {_PROVES_NOTHING} AND r.weight > 0"  # noqa: S608
    ),
    "somebody whom nobody owns was given ai$": (
        "SELECT a.id, t.id FROM accounts a JOIN transfers t ON t.credit = a.id || ':available:AID' "
        "WHERE a.kind = 'agent' AND a.operator_id IS NULL AND t.reason IN ('bonus', 'genesis')"
    ),
    "somebody whom nobody owns was paid for more test jobs than their first": (
        "SELECT a.id, count(*) FROM accounts a JOIN transfers t ON t.credit = a.id || ':available:AID' "  # noqa: S608
        "WHERE a.kind = 'agent' AND a.operator_id IS NULL AND t.reason = 'trial' "
        f"GROUP BY a.id HAVING count(*) > {WELCOME}"
    ),
    "a review is seen before its time": (
        "SELECT r.id, r.published_at_ms FROM reviews r JOIN claims c ON c.id = r.claim_id "
        "WHERE r.published_at_ms IS NOT NULL AND r.published_at_ms < c.reviews_close_at_ms "
        "AND (SELECT count(*) FROM reviews o WHERE o.claim_id = r.claim_id) < 2"
    ),
}
"""What is wrong → a question whose every answer is a case of it."""


def broken(reader: BooksReader) -> Iterator[str]:
    """Every case of every wrong, in words; nothing where all holds."""
    for wrong, sql in QUESTIONS.items():
        for name, value in reader.execute(sql).fetchall():
            yield f"{wrong}: {name} ({value})"
