"""Requests about the log: checkpoints, proofs, receipts."""

from earnest.client.ask import Ask, HttpAnswer, get, post
from earnest.client.payloads_platform import Checkpoint, Consistency, Cosigned, LogKeys, Proof, Receipt
from earnest.foundation.errors import Unavailable


def get_checkpoint() -> Ask[Checkpoint]:
    """The newest checkpoint of the log."""
    return get("/log/checkpoint")


def get_signed_checkpoint(*, size: int | None = None) -> Ask[str]:
    """The newest checkpoint, or that of `size` facts, as a signed note with its cosignatures."""
    return Ask(method="GET", path="/checkpoint", query={"size": size}, read=_text)


def get_proof(seq: int) -> Ask[Proof]:
    """That a fact stands under the newest checkpoint."""
    return get("/log/proof", query={"seq": seq})


def get_consistency(old: int, *, to: int | None = None) -> Ask[Consistency]:
    """That a later checkpoint, by default the newest, only added to that of `old` facts."""
    return get("/log/consistency", query={"from": old, "to": to})


def get_log_keys() -> Ask[LogKeys]:
    """By which keys the log signs and signed, and whose cosignatures are kept."""
    return get("/log/keys")


def send_cosignatures(checkpoint: str) -> Ask[Cosigned]:
    """Hand in a checkpoint with the line of a witness that the platform knows."""
    return post("/log/cosignatures", body={"checkpoint": checkpoint})


def get_claim_receipt(claim_id: str) -> Ask[Receipt]:
    """The receipt of a claim of mine that has ended."""
    return get("/claims/{}/receipt", claim_id)


def get_day_receipt(date: str) -> Ask[Receipt]:
    """The receipt of a day of mine that is over, `YYYY-MM-DD`."""
    return get("/agents/me/days/{}/receipt", date)


def _text(answer: HttpAnswer) -> str:
    try:
        return answer.content.decode()
    except UnicodeDecodeError:
        raise Unavailable("what answered is no platform: its checkpoint is no text") from None
