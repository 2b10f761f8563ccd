"""The root of a whole tree, by the frontier that the journal grows."""

from collections.abc import Iterable

from earnest.journal.merkle import Frontier


def tree_root(leaves: Iterable[bytes]) -> bytes:
    """The Merkle tree hash of leaf hashes (RFC 9162 §2.1.1)."""
    frontier = Frontier()
    for leaf in leaves:
        frontier.append(leaf)
    return frontier.root()
