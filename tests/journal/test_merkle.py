"""Do root and proofs agree with the definitions of RFC 9162 §2.1, written down as they stand there?"""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earnest.journal.merkle import (
    EMPTY_ROOT,
    Frontier,
    consistency_proof,
    inclusion_proof,
    verify_consistency,
    verify_inclusion,
)

from .trees import tree_root

LEAVES = [hashlib.sha256(b"\x00%d" % n).digest() for n in range(70)]
SIZES = st.integers(1, len(LEAVES))


def root_of(first: int, last: int) -> bytes:
    return oracle_root(LEAVES[first:last])


def oracle_split(n: int) -> int:
    k = 1
    while k * 2 < n:
        k *= 2
    return k


def oracle_root(leaves: list[bytes]) -> bytes:
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return leaves[0]
    k = oracle_split(len(leaves))
    return hashlib.sha256(b"\x01" + oracle_root(leaves[:k]) + oracle_root(leaves[k:])).digest()


def oracle_path(m: int, leaves: list[bytes]) -> list[bytes]:
    n = len(leaves)
    if n == 1:
        return []
    k = oracle_split(n)
    if m < k:
        return [*oracle_path(m, leaves[:k]), oracle_root(leaves[k:])]
    return [*oracle_path(m - k, leaves[k:]), oracle_root(leaves[:k])]


def oracle_subproof(m: int, leaves: list[bytes], b: bool) -> list[bytes]:
    n = len(leaves)
    if m == n:
        return [] if b else [oracle_root(leaves)]
    k = oracle_split(n)
    if m <= k:
        return [*oracle_subproof(m, leaves[:k], b), oracle_root(leaves[k:])]
    return [*oracle_subproof(m - k, leaves[k:], False), oracle_root(leaves[:k])]


@pytest.mark.parametrize("size", range(len(LEAVES) + 1))
def test_the_root_is_the_one_of_the_definition(size: int) -> None:
    assert tree_root(LEAVES[:size]) == oracle_root(LEAVES[:size])


def test_the_root_of_nothing_is_the_hash_of_nothing() -> None:
    assert Frontier().root() == EMPTY_ROOT == oracle_root([])


@given(SIZES, SIZES)
def test_a_tree_goes_on_from_its_perfect_subtrees(first: int, more: int) -> None:
    frontier = Frontier(first, _grown(first).roots)
    for leaf in LEAVES[:more]:
        frontier.append(leaf)
    assert frontier.root() == oracle_root(LEAVES[:first] + LEAVES[:more])
    assert frontier.size == first + more


def _grown(size: int) -> Frontier:
    frontier = Frontier()
    for leaf in LEAVES[:size]:
        frontier.append(leaf)
    return frontier


def test_a_copy_grows_apart() -> None:
    frontier = _grown(5)
    frontier.copy().append(LEAVES[5])
    assert frontier.root() == oracle_root(LEAVES[:5])


@pytest.mark.parametrize(("size", "roots"), [(-1, []), (3, LEAVES[:1]), (2, LEAVES[:2]), (1, [b"short"])])
def test_subtrees_that_do_not_fit_the_size_are_an_error(size: int, roots: list[bytes]) -> None:
    with pytest.raises(ValueError, match="perfect subtrees"):
        Frontier(size, roots)


@given(SIZES.flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1))))
def test_an_inclusion_proof_is_the_one_of_the_definition_and_verifies(size_and_index: tuple[int, int]) -> None:
    size, index = size_and_index
    leaves = LEAVES[:size]
    proof = inclusion_proof(index, size, root_of)
    assert list(proof) == oracle_path(index, leaves)
    assert verify_inclusion(leaf=leaves[index], index=index, size=size, proof=proof, root=oracle_root(leaves))


@pytest.mark.slow
@given(SIZES.flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1))), st.data())
def test_a_false_inclusion_proof_does_not_verify(size_and_index: tuple[int, int], data: st.DataObject) -> None:
    size, index = size_and_index
    leaves, proof = LEAVES[:size], list(inclusion_proof(index, size, root_of))
    root = oracle_root(leaves)
    for false in _altered(proof, data):
        assert not verify_inclusion(leaf=leaves[index], index=index, size=size, proof=false, root=root)
    assert not verify_inclusion(leaf=b"\x01" * 32, index=index, size=size, proof=proof, root=root)
    assert not verify_inclusion(leaf=leaves[index], index=index, size=size, proof=proof, root=b"\x02" * 32)
    other = data.draw(st.integers(-2, size + 2).filter(lambda number: number != index))
    assert not verify_inclusion(leaf=leaves[index], index=other, size=size, proof=proof, root=root)


@given(SIZES.flatmap(lambda second: st.tuples(st.integers(1, second), st.just(second))))
def test_a_consistency_proof_is_the_one_of_the_definition_and_verifies(sizes: tuple[int, int]) -> None:
    first, second = sizes
    leaves = LEAVES[:second]
    proof = consistency_proof(first, second, root_of)
    assert list(proof) == oracle_subproof(first, leaves, True)
    assert verify_consistency(
        first=first,
        first_root=oracle_root(leaves[:first]),
        second=second,
        second_root=oracle_root(leaves),
        proof=proof,
    )


@given(SIZES.flatmap(lambda second: st.tuples(st.integers(1, second), st.just(second))), st.data())
def test_a_false_consistency_proof_does_not_verify(sizes: tuple[int, int], data: st.DataObject) -> None:
    first, second = sizes
    leaves = LEAVES[:second]
    old, new, proof = oracle_root(leaves[:first]), oracle_root(leaves), list(consistency_proof(first, second, root_of))
    for false in _altered(proof, data):
        assert not verify_consistency(first=first, first_root=old, second=second, second_root=new, proof=false)
    wrong = b"\x01" * 32
    assert not verify_consistency(first=first, first_root=wrong, second=second, second_root=new, proof=proof)
    assert not verify_consistency(first=first, first_root=old, second=second, second_root=wrong, proof=proof)


def _altered(proof: list[bytes], data: st.DataObject) -> list[list[bytes]]:
    """The proof with a hash more, and, if it has any, with one less and with one changed."""
    altered = [[*proof, b"\x03" * 32]]
    if proof:
        place = data.draw(st.integers(0, len(proof) - 1))
        altered += [proof[:-1], [*proof[:place], b"\x03" * 32, *proof[place + 1 :]]]
    return altered


def test_what_is_out_of_range_has_no_proof() -> None:
    for index in (-1, 3):
        with pytest.raises(ValueError, match="no leaf"):
            inclusion_proof(index, 3, root_of)
    for first in (0, 4):
        with pytest.raises(ValueError, match="no prefix"):
            consistency_proof(first, 3, root_of)
    assert not verify_consistency(first=0, first_root=EMPTY_ROOT, second=2, second_root=LEAVES[0], proof=())
    assert not verify_consistency(first=3, first_root=LEAVES[0], second=2, second_root=LEAVES[0], proof=())
