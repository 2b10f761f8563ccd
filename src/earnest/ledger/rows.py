"""The tables of money, each with the value that a row of it is."""

from typing import Final

from earnest.effects.ground.storage.rows import Rows
from earnest.ledger.payout import Deposit, Destination, Payout
from earnest.ledger.rules import LedgerAccount
from earnest.ledger.transfer import BookedTransfer, Transfer

TRANSFERS: Final = Rows(Transfer, "transfers")
BOOKED: Final = Rows(BookedTransfer, "transfers")
LEDGER_ACCOUNTS: Final = Rows(LedgerAccount, "ledger_accounts")
PAYOUTS: Final = Rows(Payout, "payouts")
DEPOSITS: Final = Rows(Deposit, "deposits")
DESTINATIONS: Final = Rows(Destination, "destinations", "account_id")
