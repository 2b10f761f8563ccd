"""The Merkle tree over a sequence of leaf hashes. (RFC 9162 §2.1)

Leaves are hashes of 32 bytes already (SHA-256 over 0x00 and the leaf's data); only the nodes above them are made here.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

EMPTY_ROOT = hashlib.sha256(b"").digest()


RootOf: TypeAlias = Callable[[int, int], bytes]
"""The root of the leaves from one index up to another: a subtree that the tree is made of."""


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node: SHA-256(0x01 || left || right)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Frontier:
    """A tree that only grows, kept as the roots of its perfect subtrees, largest first.

    Appending costs one hash on average. `size` leaves need as many roots as `size` has bits set.
    """

    __slots__ = ("_roots", "size")

    def __init__(self, size: int = 0, roots: Iterable[bytes] = ()) -> None:
        """Raises `ValueError` unless there is one root of 32 bytes for each bit of `size`."""
        self.size = size
        self._roots = list(roots)
        if size < 0 or len(self._roots) != size.bit_count() or any(len(root) != 32 for root in self._roots):
            raise ValueError(f"these are not the perfect subtrees of {size} leaves")

    @property
    def roots(self) -> tuple[bytes, ...]:
        """The roots of the perfect subtrees, largest first."""
        return tuple(self._roots)

    def append(self, leaf: bytes) -> None:
        """Add a leaf hash on the right."""
        roots, rest = self._roots, self.size
        while rest & 1:
            leaf = node_hash(roots.pop(), leaf)
            rest >>= 1
        roots.append(leaf)
        self.size += 1

    def root(self) -> bytes:
        """The Merkle tree hash of all leaves."""
        if not self._roots:
            return EMPTY_ROOT
        root = self._roots[-1]
        for left in reversed(self._roots[:-1]):
            root = node_hash(left, root)
        return root

    def copy(self) -> "Frontier":
        """One that grows apart from this one."""
        return Frontier(self.size, self._roots)


def inclusion_proof(index: int, size: int, root_of: RootOf) -> tuple[bytes, ...]:
    """The path from leaf `index`, from 0, to the root of `size` leaves, lowest first (§2.1.3.1).

    Raises `ValueError` if out of range.
    """
    if not 0 <= index < size:
        raise ValueError(f"there is no leaf {index} among {size}")
    path: list[bytes] = []
    first, last = 0, size
    while last - first > 1:
        middle = first + _split(last - first)
        if index < middle:
            path.append(root_of(middle, last))
            last = middle
        else:
            path.append(root_of(first, middle))
            first = middle
    return tuple(reversed(path))


def verify_inclusion(*, leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """True if `proof` shows that `leaf` stands at `index` in the tree of `size` leaves with `root` (§2.1.3.2)."""
    if not 0 <= index < size:
        return False
    place, last, reached = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            return False
        if place & 1 or place == last:
            reached = node_hash(sibling, reached)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            reached = node_hash(reached, sibling)
        place, last = place >> 1, last >> 1
    return last == 0 and reached == root


def consistency_proof(old: int, size: int, root_of: RootOf) -> tuple[bytes, ...]:
    """What shows that the tree of the first `old` leaves is a prefix of that of `size` (§2.1.4.1).

    Raises `ValueError` unless 0 < `old` <= `size`.
    """
    if not 0 < old <= size:
        raise ValueError(f"a tree of {old} leaves is no prefix of one of {size}")
    proof: list[bytes] = []
    first, last = 0, size
    while old < last:
        middle = first + _split(last - first)
        if old <= middle:
            proof.append(root_of(middle, last))
            last = middle
        else:
            proof.append(root_of(first, middle))
            first = middle
    if first:  # else it is the old root, which whoever verifies has
        proof.append(root_of(first, last))
    return tuple(reversed(proof))


def verify_consistency(
    *, first: int, first_root: bytes, second: int, second_root: bytes, proof: Sequence[bytes]
) -> bool:
    """True if `proof` shows that the tree of `second` leaves only added to the one of `first` (§2.1.4.2)."""
    if not 0 < first <= second:
        return False
    if first == second:
        return not proof and first_root == second_root
    path = (first_root, *proof) if first & (first - 1) == 0 else tuple(proof)
    if not path:
        return False
    place, last = first - 1, second - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    old = new = path[0]
    for sibling in path[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            new = node_hash(new, sibling)
        place, last = place >> 1, last >> 1
    return last == 0 and old == first_root and new == second_root


def _split(size: int) -> int:
    """The largest power of two below `size`."""
    return 1 << (size - 1).bit_length() - 1
