"""Signed heads, and their form as facts of the journal."""

from dataclasses import dataclass
from typing import Final

from earnest.foundation.canonical import JsonObject
from earnest.foundation.facts import Fact
from earnest.journal.merkle import Frontier

SEALED: Final = "journal.sealed"
SUBJECT: Final = "journal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The first `size` facts have the Merkle root `root` (32 bytes). Two honest heads of one size are equal."""

    size: int
    root: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """The audit log had so many lines on the disk, the last with this hash, when the journal was sealed.

    `log` names it where several machines, each with a log of its own, use the same books.
    """

    lines: int
    head: str
    log: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """A head with the perfect subtrees that it was made of, so that the tree can grow on from it."""

    head: Head
    subtrees: tuple[bytes, ...]

    def frontier(self) -> Frontier:
        """The tree at this head."""
        return Frontier(self.head.size, self.subtrees)


def seal_of(frontier: Frontier) -> Seal:
    """The seal of the tree as it is now."""
    return Seal(head=Head(size=frontier.size, root=frontier.root()), subtrees=frontier.roots)


def fact_of(seal: Seal, at_ms: int, witness: Witness | None = None) -> Fact:
    """The fact `journal.sealed`: its number is one more than the size of its head. Hashes are hexadecimal."""
    body: JsonObject = {
        "root": seal.head.root.hex(),
        "size": seal.head.size,
        "subtrees": [subtree.hex() for subtree in seal.subtrees],
    }
    if witness is not None:
        named = {"log": witness.log} if witness.log else {}
        body = {**body, "audit": {"head": witness.head, "lines": witness.lines, **named}}
    return Fact(kind=SEALED, subject=SUBJECT, at_ms=at_ms, body=body)


def witness_in(body: JsonObject) -> Witness | None:
    """What such a fact says of the audit log; None if it says nothing."""
    match body.get("audit"):
        case {"head": str(head), "lines": int(lines), **rest}:
            return Witness(lines=lines, head=head, log=str(rest.get("log", "")))
    return None


def subtrees_in(body: JsonObject) -> tuple[bytes, ...]:
    """The roots of the perfect subtrees that such a fact holds, unchecked. Raises `ValueError`, where it holds none."""
    subtrees = body.get("subtrees")
    if not isinstance(subtrees, list):
        raise ValueError("it has no subtrees")  # noqa: TRY004 - data, not a type error
    return tuple(bytes.fromhex(str(subtree)) for subtree in subtrees)


def seal_in(body: JsonObject) -> Seal:
    """The seal that such a fact holds. Raises `ValueError` if it holds none or one that contradicts itself."""
    size, root = body.get("size"), body.get("root")
    if type(size) is not int or not isinstance(root, str):
        raise ValueError("it has no size and root")
    frontier = Frontier(size, subtrees_in(body))
    if frontier.root() != bytes.fromhex(root):
        raise ValueError("its subtrees do not have its root")
    return seal_of(frontier)
