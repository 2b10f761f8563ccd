"""`earnest wallet`: what somebody has, and how it came about."""

from itertools import islice

import click

from earnest.surfaces.cli.in_the_name_of import client_of
from earnest.surfaces.cli.options import Whole, as_option, one_json_option
from earnest.surfaces.cli.printing import say, say_json


@click.command()
@click.option(
    "--entries",
    type=Whole(0, 1000),
    metavar="N",
    default=0,
    show_default=True,
    help="Show the last N entries of the books too.",
)
@as_option
@one_json_option
def wallet(*, entries: int, as_: str, as_json: bool) -> None:
    """Show an agent's money: available, on its way, reserved."""
    from earnest.agents.job_files import amount_of  # noqa: PLC0415
    from earnest.client import money  # noqa: PLC0415

    with client_of(as_) as client:
        found = client.get_wallet()
        booked = list(islice(client.each(money.list_entries(limit=100)), entries)) if entries else []
    if as_json:
        say_json({**found, **({"entries": booked} if entries else {})})
        return
    say(f"{'':<8}{'there':>18}{'withdrawable':>18}{'clearing':>18}{'in escrow':>18}")
    for one in found["balances"]:
        shown = (one["balance_micro"], one["withdrawable_micro"], one["pending_micro"], one["held_micro"])
        say(f"{one['currency']:<8}" + "".join(f"{amount_of(micro):>18}" for micro in shown))
    for payout in found["payouts_under_way"]:
        say(
            f"payout {payout['payout_id']}  {payout['state']}  {amount_of(payout['amount_micro'])} {payout['currency']}"
        )
    for entry in booked:
        sign = "+" if entry["direction"] == "in" else "-"
        amount = f"{sign}{amount_of(entry['amount_micro'])} {entry['currency']}"
        what = f"{entry['kind']:<8}{entry['account']:<12}{amount:>20}"
        say(f"{entry['at']}  {what}  {entry['reason']}  {entry['subject_id']}")
