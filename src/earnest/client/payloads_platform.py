"""Answers of the platform about itself: its log, its errors, its limits, its formula of reputations."""

from typing import Any

from typing_extensions import TypedDict


class Checkpoint(TypedDict):
    """So many facts have this Merkle root."""

    size: int
    root: str
    sealed_at: str | None


class Proof(TypedDict):
    """A leaf's path to the root of a checkpoint (RFC 9162 §2.1.3), as hexadecimal hashes."""

    seq: int
    leaf: str
    checkpoint: Checkpoint
    path: list[str]


Consistency = TypedDict("Consistency", {"from": int, "to": int, "path": list[str]})
"""What shows that the log of `to` facts only added to that of `from` (RFC 9162 §2.1.4), as hexadecimal hashes."""


class Signature(TypedDict):
    """By whom, and what: base64."""

    keyid: str
    sig: str


class Receipt(TypedDict):
    """A DSSE envelope. `payload` is the base64 of an in-toto statement."""

    payload: str
    payloadType: str
    signatures: list[Signature]


class LogKeys(TypedDict):
    """By what the log signs, as verifier keys of signed notes. `former` signed before: older receipts hold by them."""

    origin: str
    key: str
    former: list[str]
    witnesses: list[str]


class Cosigned(TypedDict):
    """How many cosignatures were new."""

    size: int
    kept: int


class ErrorMeaning(TypedDict):
    """One code."""

    code: str
    type: str
    status: int
    title: str
    retryable: bool


class Errors(TypedDict):
    """The closed list of codes."""

    data: list[ErrorMeaning]


class Quota(TypedDict):
    """At most `count` requests in any `window_s` seconds."""

    name: str
    count: int
    window_s: int


class Limits(TypedDict):
    """How much somebody may ask, and by what numbers the market goes."""

    quotas: list[Quota]
    body_bytes_max: int
    terms: dict[str, Any]


class Weight(TypedDict):
    """In thousandths of a claim."""

    success_milli: int
    failure_milli: int


class ReputationFormula(TypedDict):
    """How a reputation is computed."""

    formula: str
    prior: dict[str, int]
    bound_percent: int
    window_s: int
    weights: dict[str, Weight]
    inputs: str
    left_out: list[str]
