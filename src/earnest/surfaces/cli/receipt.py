"""`earnest receipt`: what came of a promise, signed, and checked with a public key alone."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from earnest.foundation.instants import rfc3339
from earnest.surfaces.cli.here import settings_of
from earnest.surfaces.cli.in_the_name_of import client_of, platform_url
from earnest.surfaces.cli.options import PATH, Group, one_json_option
from earnest.surfaces.cli.printing import complain, present, say, say_json

if TYPE_CHECKING:
    from earnest.journal.receipt import CheckedReceipt


@click.group(cls=Group)
def receipt() -> None:
    """Signed receipts of what ended: show, export, verify; and witness a log."""


what_argument = click.argument("what", help="A claim (clm_…), a day (HANDLE/YYYY-MM-DD) or a run.")
agent_option = click.option(
    "--as", "as_", metavar="HANDLE", default="", help="Ask the platform, in the name of this agent here."
)


@receipt.command()
@what_argument
@agent_option
@one_json_option
def show(*, what: str, as_: str, as_json: bool) -> None:
    """Show the receipt of a claim, day or run."""
    import base64  # noqa: PLC0415

    statement = json.loads(base64.b64decode(json.loads(_receipt(what, as_))["payload"]))
    if as_json:
        say_json(statement)
    else:
        say(*_told(statement))


@receipt.command()
@what_argument
@click.argument("path", required=False, type=PATH, metavar="[FILE]", help="Where to; by default WHAT.receipt.json.")
@agent_option
@one_json_option
def export(*, what: str, path: Path | None, as_: str, as_json: bool) -> None:
    """Write a receipt to a new file."""
    data = _receipt(what, as_)
    target = path or Path(f"{what.replace('/', '-')}.receipt.json")
    with target.open("xb") as file:
        file.write(data)
    present(
        {"file": str(target), "size_bytes": len(data)},
        f"{target}: {len(data)} bytes; check it with `earnest receipt verify {target} --key KEY`",
        as_json=as_json,
    )


@receipt.command()
@click.argument("path", type=PATH, metavar="FILE", help="A receipt, or a checkpoint.")
@click.option("--key", multiple=True, metavar="KEY", help="The log's verifier key, or a file with it.")
@click.option("--witness", multiple=True, metavar="KEY", help="A witness that must have cosigned; several times.")
@one_json_option
def verify(*, path: Path, key: tuple[str, ...], witness: tuple[str, ...], as_json: bool) -> None:
    """Check a receipt or checkpoint offline; without --key by the data directory's log keys.

    Exit codes: 0 it holds, 1 it does not, 3 bad input or usage.
    """
    from earnest.app.receipts import (  # noqa: PLC0415
        check_file,
        keys_here,
        keys_of,
    )

    logs = keys_of(key) if key else keys_here(settings_of())
    checked = check_file(path, logs, keys_of(witness))
    if as_json:
        say_json(_checked_json(checked))
    else:
        say(*_checked_lines(checked))
    raise click.exceptions.Exit(1 if checked.flaws else 0)


@receipt.command()
@click.option("--new", is_flag=True, help="Sign with another key from now on.")
@click.option(
    "--origin", metavar="NAME", default="", help="With --new: by what name the log is known, such as example.org/log."
)
@one_json_option
def key(*, new: bool, origin: str, as_json: bool) -> None:
    """Print the verifier key of this data directory's log: what others check receipts with."""
    from earnest.app.receipts import another_log_key, log_key_here  # noqa: PLC0415

    if origin and not new:
        raise click.BadParameter("--origin goes with --new")
    settings = settings_of()
    found = another_log_key(settings, origin) if new else log_key_here(settings)
    present(
        {"origin": found.key.name, "key": str(found.key.public), "former": [*map(str, found.former)]},
        str(found.key.public),
        as_json=as_json,
    )


@receipt.command()
@click.argument("url", default="", help="The platform, instead of EARNEST_URL.")
@click.option("--key", metavar="KEY", default="", help="The log's verifier key, or a file with it; got from elsewhere.")
@click.option("--name", metavar="NAME", default="", help="The first time: the witness's own name.")
@click.option("--show-key", is_flag=True, help="Print the witness's verifier key, and end.")
@click.option("--send/--no-send", default=True, show_default=True, help="Hand the cosignature in.")
@one_json_option
def witness(*, url: str, key: str, name: str, show_key: bool, send: bool, as_json: bool) -> None:
    """See that a log only grew, and cosign its checkpoint.

    Exit codes: 0 it grew and is cosigned, 1 it did not: both checkpoints are kept as evidence; 3 bad input or usage.
    """
    from earnest.app.receipts import keys_of  # noqa: PLC0415
    from earnest.app.witnessing import look, witness_key  # noqa: PLC0415
    from earnest.client.client import Client  # noqa: PLC0415
    from earnest.effects.ground.clock import SystemChance, SystemClock  # noqa: PLC0415

    home = settings_of().home
    mine = witness_key(home, SystemChance(), name)
    if show_key:
        present({"key": str(mine.public)}, str(mine.public), as_json=as_json)
        return
    if not key:
        raise click.BadParameter("give the log's verifier key with --key; its operator has it by `earnest receipt key`")
    with Client(url or platform_url()) as client:
        found = look(home, client, keys_of([key])[0], mine, SystemClock(), send=send)
    if found.refused:
        complain([f"the platform did not take the cosignature: {found.refused}"])
    if as_json:
        flaws = [{"where": one.where, "why": one.why} for one in found.flaws]
        told = {"size": found.size, "last_size": found.last_size, "flaws": flaws, "kept": str(found.kept)}
        say_json({**told, "note": found.note, "refused": found.refused})
    else:
        grew = f"{found.size} facts, {found.size - found.last_size} more than before; cosigned as {mine.name}"
        say(*map(str, found.flaws), f"kept in {found.kept}") if found.flaws else say(grew)
    raise click.exceptions.Exit(1 if found.flaws else 0)


@receipt.command()
def page() -> None:
    """Print an HTML page that checks receipts offline."""
    say(*Path(__file__).parent.with_name("receipt.html").read_text(encoding="utf-8").splitlines())


def _receipt(what: str, handle: str) -> bytes:
    """By the platform, in the name of an agent; else by the books of the data directory."""
    if not handle:
        from earnest.app.receipts import receipt_here  # noqa: PLC0415

        return receipt_here(what, settings_of())
    from earnest.foundation.canonical import canonical_bytes  # noqa: PLC0415

    with client_of(handle) as client:
        date = what.partition("/")[2]
        found = client.get_day_receipt(date) if date else client.get_claim_receipt(what)
    return canonical_bytes(found) + b"\n"


def _told(statement: Any) -> list[str]:
    """For people: the parts, one after the other, without the paths of the proofs."""
    predicate = statement["predicate"]
    log = predicate["log"]
    size = log["checkpoint"].split("\n")[1]
    lines = [f"{predicate['kind']} {predicate['id']}"]
    lines += [f"  judged  {one['name']}  sha256:{one['digest']['sha256']}" for one in statement["subject"]]
    for part in ("promise", "criteria", "verdicts", "consequences"):
        lines += [part, *(f"  {line}" for line in json.dumps(predicate[part], indent=2).splitlines())]
    lines.append(f"in the log {log['origin']}, under its checkpoint of {size} facts")
    return [*lines, *(f"  fact {one['seq']}  {one['kind']}  {one['subject']}" for one in log["places"])]


def _checked_json(checked: "CheckedReceipt") -> dict[str, object]:
    checkpoint = checked.checkpoint
    return {
        "holds": not checked.flaws,
        "flaws": [{"where": flaw.where, "why": flaw.why} for flaw in checked.flaws],
        "origin": checkpoint.origin if checkpoint else "",
        "size": checkpoint.head.size if checkpoint else 0,
        "cosigned": [{"witness": one.name, "at_s": one.at_s} for one in checked.cosigned],
        "statement": checked.statement,
    }


def _checked_lines(checked: "CheckedReceipt") -> list[str]:
    checkpoint = checked.checkpoint
    if checked.flaws or checkpoint is None:
        return [*map(str, checked.flaws), "DOES NOT HOLD"]
    predicate: Any = (checked.statement or {}).get("predicate")
    what = f"the receipt of {predicate['kind']} {predicate['id']}" if predicate else "a checkpoint"
    seen = [f"cosigned by {one.name} at {rfc3339(one.at_s * 1_000)}" for one in checked.cosigned]
    return [f"HOLDS: {what}, under the checkpoint of {checkpoint.head.size} facts of {checkpoint.origin}", *seen]
