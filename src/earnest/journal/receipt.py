"""Receipts: what came of a promise, as an in-toto statement in a DSSE envelope that its log's key signs.

The statement names the digests of what was judged (subject) and says promise, criteria, verdicts and consequences
(predicate), the facts that hold this, the path of each to a checkpoint, and the checkpoint itself. So a receipt is one
envelope and nothing beside it, and can be checked with the log's public key alone.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from earnest.foundation.canonical import JsonObject, Members, canonical_bytes
from earnest.journal.merkle import verify_inclusion
from earnest.journal.notes import Checkpoint, Cosigned, Flaw, checkpoint_flaws, cosigned_by, read_checkpoint
from earnest.journal.signing import LOG, PrivateKey, PublicKey, strict_base64

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "urn:earnest:receipt:v1"
PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
RECEIPT_BYTES_MAX: Final = 16 * 1024 * 1024
PLACES_MAX: Final = 1_000
_ENVELOPE: Final = {"payload", "payloadType", "signatures"}
_STATEMENT: Final = {"_type", "predicate", "predicateType", "subject"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Something that was judged. `sha256` is hexadecimal."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a receipt is to say: `predicate` without its member `log`, and the numbers of the facts that hold it."""

    subjects: tuple[Subject, ...]
    predicate: Members
    seqs: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A fact under a checkpoint: number, kind, subject, leaf and the path from it to the root, lowest first."""

    seq: int
    kind: str
    subject: str
    leaf: bytes
    path: tuple[bytes, ...]

    def to_json(self) -> JsonObject:
        """Hashes are base64, as in the checkpoint."""
        path = [_base64(node) for node in self.path]
        return {"seq": self.seq, "kind": self.kind, "subject": self.subject, "leaf": _base64(self.leaf), "path": path}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedReceipt:
    """What was found: nothing is wrong if there are no `flaws`. What a flawed receipt says is worth nothing."""

    flaws: tuple[Flaw, ...]
    statement: JsonObject | None = None
    checkpoint: Checkpoint | None = None
    cosigned: tuple[Cosigned, ...] = ()


def pae(payload_type: str, payload: bytes) -> bytes:
    """What is signed: DSSE's pre-authentication encoding, version 1."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def write_receipt(draft: Draft, checkpoint: Checkpoint, places: Iterable[Place], key: PrivateKey) -> bytes:
    """The receipt as a file: the envelope in the form of RFC 8785, and a newline."""
    log = {
        "origin": checkpoint.origin,
        "checkpoint": str(checkpoint),
        "places": [place.to_json() for place in places],
    }
    statement = canonical_bytes(
        {
            "_type": STATEMENT_TYPE,
            "subject": [{"name": one.name, "digest": {"sha256": one.sha256}} for one in draft.subjects],
            "predicateType": PREDICATE_TYPE,
            "predicate": {**draft.predicate, "log": log},
        }
    )
    signature = {"keyid": key.public.label, "sig": _base64(key.sign(pae(PAYLOAD_TYPE, statement)))}
    envelope = {"payload": _base64(statement), "payloadType": PAYLOAD_TYPE, "signatures": [signature]}
    return canonical_bytes(envelope) + b"\n"


def check_receipt(data: bytes, logs: Sequence[PublicKey], witnesses: Sequence[PublicKey] = ()) -> CheckedReceipt:
    """Check a file, all of it: one of `logs` signed it and its checkpoint, which all of `witnesses` cosigned.

    After a first flaw the rest is checked as far as it can be read, so that as many places are named as there are.
    """
    envelope, flaw = _json(data.removesuffix(b"\n"), "file")
    if flaw is None and not data.endswith(b"\n"):
        flaw = Flaw(where=f"file, byte {len(data)}", why="it does not end in a newline")
    if flaw is not None:
        return CheckedReceipt(flaws=(flaw,))
    payload, flaws = _payload(envelope, logs)
    if payload is None:
        return CheckedReceipt(flaws=tuple(flaws))
    statement, flaw = _json(payload, "payload")
    if flaw is not None:
        return CheckedReceipt(flaws=(*flaws, flaw))
    checkpoint, more = _statement_flaws(statement, logs, witnesses)
    return CheckedReceipt(
        flaws=(*flaws, *more),
        statement=statement,
        checkpoint=checkpoint,
        cosigned=cosigned_by(checkpoint, witnesses) if checkpoint else (),
    )


def _payload(envelope: Any, logs: Sequence[PublicKey]) -> tuple[bytes | None, list[Flaw]]:
    """What the envelope holds, and what is wrong with the envelope."""
    match envelope:
        case {"payload": str(text), "payloadType": str(kind), "signatures": [{"keyid": str(name), "sig": str(sig)}]}:
            if envelope.keys() != _ENVELOPE or len(envelope["signatures"][0]) != 2:
                return None, [Flaw(where="envelope", why="it has further members")]
        case _:
            why = "it is not payload, payloadType and one signature of keyid and sig"
            return None, [Flaw(where="envelope", why=why)]
    flaws: list[Flaw] = []
    if kind != PAYLOAD_TYPE:
        flaws.append(Flaw(where="envelope.payloadType", why=f"it is not {PAYLOAD_TYPE}"))
    payload, flaw = _bytes(text, "envelope.payload")
    signature, wrong = _bytes(sig, "envelope.signatures[0].sig")
    key = next((one for one in logs if one.type == LOG and one.label == name), None)
    if key is None:
        flaws.append(Flaw(where="envelope.signatures[0].keyid", why=f"{name[:300]!r} is no given key"))
    elif payload is not None and signature is not None and not key.verifies(pae(kind, payload), signature):
        why = "the key did not sign this payload"
        flaws.append(Flaw(where="envelope.signatures[0].sig, or payload", why=why))
    return payload, [*flaws, *filter(None, (flaw, wrong))]


def _statement_flaws(
    statement: Any, logs: Sequence[PublicKey], witnesses: Sequence[PublicKey]
) -> tuple[Checkpoint | None, list[Flaw]]:
    """What is wrong with what was signed, and the checkpoint in it."""
    match statement:
        case {
            "_type": str(kind),
            "predicateType": str(predicate_type),
            "subject": [_, *_],
            "predicate": {"log": {"origin": str(origin), "checkpoint": str(note), "places": [_, *_] as places}},
        }:
            pass
        case _:
            return None, [Flaw(where="payload", why="it is no statement with subject, predicate and places in a log")]
    flaws = [
        Flaw(where=f"payload.{name}", why=f"it is not {wanted}")
        for name, is_, wanted in (("_type", kind, STATEMENT_TYPE), ("predicateType", predicate_type, PREDICATE_TYPE))
        if is_ != wanted
    ]
    if statement.keys() != _STATEMENT:
        flaws.append(Flaw(where="payload", why="it has further members"))
    if len(places) > PLACES_MAX:
        flaws.append(Flaw(where="payload.predicate.log.places", why=f"there are more than {PLACES_MAX}"))
    flaws += _subject_flaws(statement["subject"])
    try:
        checkpoint = read_checkpoint(note)
    except ValueError as error:
        return None, [*flaws, Flaw(where="payload.predicate.log.checkpoint", why=str(error))]
    if origin != checkpoint.origin:
        flaws.append(Flaw(where="payload.predicate.log.origin", why="it is not that of the checkpoint"))
    flaws += checkpoint_flaws(checkpoint, logs, witnesses)
    flaws += _place_flaws(places[:PLACES_MAX], checkpoint)
    return checkpoint, flaws


def _subject_flaws(subjects: Sequence[Any]) -> Iterator[Flaw]:
    for number, one in enumerate(subjects):
        match one:
            case {"name": str(), "digest": {"sha256": str(digest)}} if re.fullmatch("[0-9a-f]{64}", digest):
                continue
        yield Flaw(where=f"payload.subject[{number}]", why="it is not a name with a SHA-256 digest")


def _place_flaws(places: Sequence[Any], checkpoint: Checkpoint) -> Iterator[Flaw]:
    for number, one in enumerate(places):
        where = f"payload.predicate.log.places[{number}]"
        match one:
            case {"seq": int(seq), "kind": str(), "subject": str(), "leaf": str(leaf), "path": [*path]}:
                try:
                    nodes = [strict_base64(str(node)) for node in (leaf, *path)]
                except ValueError as error:
                    yield Flaw(where=where, why=str(error))
                    continue
            case _:
                yield Flaw(where=where, why="it is not seq, kind, subject, leaf and path")
                continue
        head = checkpoint.head
        if not verify_inclusion(leaf=nodes[0], index=seq - 1, size=head.size, proof=nodes[1:], root=head.root):
            yield Flaw(where=where, why=f"fact {seq} does not stand under the checkpoint by this path")


def _bytes(text: str, where: str) -> tuple[bytes | None, Flaw | None]:
    try:
        return strict_base64(text), None
    except ValueError as error:
        return None, Flaw(where=where, why=str(error))


def _json(data: bytes, where: str) -> tuple[Any, Flaw | None]:
    """A JSON value in the one form of RFC 8785, so that no byte of it can be another and mean the same."""
    if len(data) > RECEIPT_BYTES_MAX:
        return None, Flaw(where=where, why=f"a receipt has at most {RECEIPT_BYTES_MAX} bytes")
    try:
        value = json.loads(data.decode())
        form = canonical_bytes(value)
    except UnicodeDecodeError as error:
        return None, Flaw(where=f"{where}, byte {error.start + 1}", why="it is not UTF-8")
    except json.JSONDecodeError as error:
        at = len(error.doc[: error.pos].encode()) + 1
        return None, Flaw(where=f"{where}, byte {at}", why=f"it is not JSON: {error.msg}")
    except (ValueError, RecursionError) as error:
        return None, Flaw(where=where, why=f"it has no canonical form: {error}")
    if form != data:
        at = next((n for n, (one, other) in enumerate(zip(form, data, strict=False)) if one != other), len(form))
        return None, Flaw(where=f"{where}, byte {at + 1}", why="it is not the canonical form (RFC 8785)")
    return value, None


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
