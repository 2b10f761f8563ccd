"""Tables of money."""

from earnest.effects.ground.storage.tables import table_of
from earnest.ledger.payout import Deposit, Destination, Payout
from earnest.ledger.transfer import BookedTransfer, LedgerAccount

LEDGER_ACCOUNTS = table_of(LedgerAccount, "ledger_accounts")
TRANSFERS = table_of(BookedTransfer, "transfers", key="number", unique=("id",))
PAYOUTS = table_of(Payout, "payouts", ("account_id", "requested_at_ms"), ("state", "requested_at_ms"))
DEPOSITS = table_of(Deposit, "deposits", ("account_id", "asked_at_ms"), ("state", "asked_at_ms"))
DESTINATIONS = table_of(Destination, "destinations", key="account_id")
