"""Checkpoints: heads as signed notes, which the log signs and witnesses cosign (C2SP signed-note, tlog-checkpoint,
tlog-cosignature).
"""

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from earnest.journal.heads import Head
from earnest.journal.merkle import verify_consistency
from earnest.journal.signing import LOG, WITNESS, PrivateKey, PublicKey, strict_base64

NOTE_CHARACTERS_MAX: Final = 64 * 1024
SIGNATURES_MAX: Final = 100
_DASH: Final = "— "
_TIME_BYTES: Final = 8
_SIGNATURE_BYTES: Final = 64
_ID_BYTES: Final = 4
_GROWTH: Final = "the log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A line below a note. `data` is what follows the four bytes of the key's id: of a witness, its time first."""

    name: str
    key_id: bytes
    data: bytes

    def is_of(self, key: PublicKey) -> bool:
        """Whether the line says that it is this key's."""
        return (self.name, self.key_id) == (key.name, key.id)

    def __str__(self) -> str:
        return f"{_DASH}{self.name} {base64.b64encode(self.key_id + self.data).decode()}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A head of the log `origin`, and who signed it. `text` is what was signed, its last newline included."""

    text: str
    origin: str
    head: Head
    signatures: tuple[Signature, ...] = ()

    def __str__(self) -> str:
        """The signed note."""
        return f"{self.text}\n{''.join(map(str, self.signatures))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cosigned:
    """A witness saw a checkpoint at `at_s`, seconds since 1970, and found it consistent with all it saw before."""

    name: str
    at_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """What is wrong in a document, and `where`."""

    where: str
    why: str

    def __str__(self) -> str:
        return f"{self.where}: {self.why}"


def signed_checkpoint(key: PrivateKey, head: Head) -> Checkpoint:
    """The checkpoint of a head, signed by its log, whose origin is the key's name."""
    text = f"{key.name}\n{head.size}\n{base64.b64encode(head.root).decode()}\n"
    mine = Signature(name=key.name, key_id=key.public.id, data=key.sign(text.encode()))
    return Checkpoint(text=text, origin=key.name, head=head, signatures=(mine,))


def cosign(key: PrivateKey, checkpoint: Checkpoint, at_s: int) -> Signature:
    """A witness's line below a checkpoint."""
    signature = key.sign(_cosigned_message(checkpoint.text, at_s))
    return Signature(name=key.name, key_id=key.public.id, data=at_s.to_bytes(_TIME_BYTES, "big") + signature)


def with_signatures(checkpoint: Checkpoint, more: Iterable[Signature]) -> Checkpoint:
    """The same note with further lines."""
    return replace(checkpoint, signatures=(*checkpoint.signatures, *more))


def read_checkpoint(note: str) -> Checkpoint:
    """A signed note whose text is a checkpoint. Raises `ValueError`, naming the line."""
    if len(note) > NOTE_CHARACTERS_MAX:
        raise ValueError(f"a note has at most {NOTE_CHARACTERS_MAX} characters")
    lines = note.split("\n")
    if len(lines) < 6 or lines[3] or lines[-1]:
        raise ValueError("it is not three lines, an empty one, and signatures that end in a newline")
    origin, size, root = lines[:3]
    if not origin or not origin.isprintable():
        raise ValueError("line 1: there is no origin")
    if not (size.isascii() and size.isdigit()) or len(size) > 16 or str(int(size)) != size:
        raise ValueError("line 2: the size is no decimal number")
    try:
        digest = strict_base64(root)
    except ValueError as error:
        raise ValueError(f"line 3: {error}") from None
    if len(digest) != 32:
        raise ValueError("line 3: a root has 32 bytes")
    head = Head(size=int(size), root=digest)
    return Checkpoint(
        text="".join(f"{line}\n" for line in lines[:3]), origin=origin, head=head, signatures=_signatures(lines[4:-1])
    )


def read_signature(line: str, number: int = 1) -> Signature:
    """A signature line, without its newline. Raises `ValueError`, naming it by `number`."""
    name, _, data = line.removeprefix(_DASH).partition(" ")
    try:
        found = strict_base64(data)
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from None
    if not line.startswith(_DASH) or not name or len(found) <= _ID_BYTES:
        raise ValueError(f"line {number}: it is no signature")
    return Signature(name=name, key_id=found[:_ID_BYTES], data=found[_ID_BYTES:])


def checkpoint_flaws(
    checkpoint: Checkpoint, logs: Sequence[PublicKey], witnesses: Sequence[PublicKey] = ()
) -> list[Flaw]:
    """What is wrong: one of `logs` must have signed it, and every one of `witnesses` cosigned it.

    Lines of keys that are not given say nothing, as signed notes have it.
    """
    flaws: list[Flaw] = []
    mine = [one for one in logs if one.type == LOG and one.name == checkpoint.origin]
    if not mine:
        flaws.append(Flaw(where="checkpoint line 1", why=f"no given key is of the log {checkpoint.origin[:80]!r}"))
    elif not any(line.is_of(key) and _is_true(checkpoint, line, key) for key in mine for line in checkpoint.signatures):
        flaws.append(Flaw(where="checkpoint", why="the log's key did not sign it"))
    for number, line in enumerate(checkpoint.signatures, 5):
        if any(line.is_of(key) and not _is_true(checkpoint, line, key) for key in (*logs, *witnesses)):
            flaws.append(Flaw(where=f"checkpoint line {number}", why=f"it is no signature of {line.name}"))
    flaws += [
        Flaw(where="checkpoint", why=f"the witness {key.name} did not cosign it")
        for key in witnesses
        if not any(line.is_of(key) for line in checkpoint.signatures)
    ]
    return flaws


def growth_flaws(key: PublicKey, old: Checkpoint, now: Checkpoint, proof: Sequence[bytes]) -> list[Flaw]:
    """Why `now` is no later state of the log that a witness saw as `old`, signed by `key`; empty if it is one.

    Both checkpoints are signed by the log, so that two which contradict each other are evidence for anybody.
    """
    if flaws := checkpoint_flaws(now, [key]):
        return flaws
    if now.origin != old.origin:
        return [Flaw(where=_GROWTH, why=f"its origin was {old.origin} and is {now.origin}")]
    if now.head.size < old.head.size:
        return [Flaw(where=_GROWTH, why=f"it went back from {old.head.size} facts to {now.head.size}")]
    is_grown = verify_consistency(
        first=old.head.size,
        first_root=old.head.root,
        second=now.head.size,
        second_root=now.head.root,
        proof=proof,
    )
    if not is_grown:
        why = f"it forked: the first {old.head.size} of its {now.head.size} facts are not those that were seen"
        return [Flaw(where=_GROWTH, why=why)]
    return []


def cosigned_by(checkpoint: Checkpoint, witnesses: Sequence[PublicKey]) -> tuple[Cosigned, ...]:
    """Who of `witnesses` cosigned it, and when."""
    return tuple(
        Cosigned(name=key.name, at_s=int.from_bytes(line.data[:_TIME_BYTES], "big"))
        for line in checkpoint.signatures
        for key in witnesses
        if line.is_of(key) and _is_true(checkpoint, line, key)
    )


def _signatures(lines: Sequence[str]) -> tuple[Signature, ...]:
    if not 0 < len(lines) <= SIGNATURES_MAX:
        raise ValueError(f"a note has 1 to {SIGNATURES_MAX} signatures")
    return tuple(read_signature(line, number) for number, line in enumerate(lines, 5))


def _is_true(checkpoint: Checkpoint, line: Signature, key: PublicKey) -> bool:
    if key.type != WITNESS:
        return key.verifies(checkpoint.text.encode(), line.data)
    if len(line.data) != _TIME_BYTES + _SIGNATURE_BYTES:
        return False
    at_s = int.from_bytes(line.data[:_TIME_BYTES], "big")
    return key.verifies(_cosigned_message(checkpoint.text, at_s), line.data[_TIME_BYTES:])


def _cosigned_message(text: str, at_s: int) -> bytes:
    return f"cosignature/v1\ntime {at_s}\n{text}".encode()
