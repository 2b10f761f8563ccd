"""The pages of an LMDB file, read without mapping it: whoever maps a damaged one may be killed (SIGBUS, SIGSEGV).

The format is that of LMDB 0.9 (mdb.c): two meta pages, the tree of free pages, the tree of data.
"""

import os
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import FileIO
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

MAGIC: Final = 0xBEEFC0DE
VERSION: Final = 1
NONE: Final = 2**64 - 1
METAS: Final = 2
BRANCH, LEAF, OVERFLOW, META = 0x01, 0x02, 0x04, 0x08
BIG_DATA: Final = 0x01
INTEGER_KEYS: Final = 0x08
PAGE_BYTES: Final = (4_096, 8_192, 16_384, 32_768, 65_536)
_PAGE: Final = struct.Struct("=QHHHH")
"""Number, padding, flags, lower and upper end of the free space; of overflow pages the last two are their count."""
_META: Final = struct.Struct("=IIQQ" + 2 * "IHHQQQQQ" + "QQ")
_NODE: Final = struct.Struct("=HHHH")
_WORD: Final = struct.Struct("=Q")


class Tree(NamedTuple):
    """A tree as its meta page describes it."""

    pad: int
    flags: int
    depth: int
    branches: int
    leaves: int
    overflows: int
    entries: int
    root: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """What a meta page says: of two the one with the higher transaction counts."""

    map_bytes: int
    free: Tree
    data: Tree
    last_page: int
    transaction: int

    @property
    def page_bytes(self) -> int:
        """The size of each page."""
        return self.free.pad


class PageEntry(NamedTuple):
    """An entry of a page; of a branch `child` is a page, of a leaf `data` its value or the page where it begins."""

    key: bytes
    child: int
    size_bytes: int
    data: bytes
    is_big: bool


def check_pages(path: Path, map_bytes_max: int) -> None:
    """Read every page that counts. Raises `ValueError`, with the page, if something is not as LMDB writes it.

    Bytes inside of values may be others all the same: what they mean is not known here.
    """
    with path.open("rb", buffering=0) as file:
        meta = _newest_meta(file, map_bytes_max)
        walk = _Walk(file, meta)
        free = set(walk.free_pages())
        for _ in walk.entries(meta.data):
            pass
    if twice := free & walk.used:
        raise ValueError(f"page {min(twice)} is in use and free")
    if missing := set(range(METAS, meta.last_page + 1)) - free - walk.used:
        raise ValueError(f"page {min(missing)} is neither in use nor free")


def _newest_meta(file: FileIO, map_bytes_max: int) -> Meta:
    first = _meta(file.read(_PAGE.size + _META.size), 0)
    if first.page_bytes not in PAGE_BYTES:
        raise ValueError(f"page 0 names pages of {first.page_bytes} bytes")
    file.seek(first.page_bytes)
    second = _meta(file.read(_PAGE.size + _META.size), 1)
    old, new = sorted((first, second), key=lambda meta: meta.transaction)
    if second.page_bytes != first.page_bytes:
        raise ValueError(f"page 1 names pages of {second.page_bytes} bytes")
    if new.transaction - old.transaction != (1 if new.transaction else 0) or first.transaction % 2:
        raise ValueError(f"pages 0 and 1 are of transactions {first.transaction} and {second.transaction}")
    if (new.free.flags, new.data.flags, new.data.pad) != (INTEGER_KEYS, 0, 0):
        raise ValueError("the newest meta page describes other trees than ours")
    whole_bytes = (new.last_page + 1) * new.page_bytes
    if not whole_bytes <= new.map_bytes <= map_bytes_max:
        raise ValueError(f"it claims to have {whole_bytes} bytes in a map of {new.map_bytes}")
    return new


def _meta(data: bytes, number: int) -> Meta:
    if len(data) < _PAGE.size + _META.size:
        raise ValueError(f"page {number} is cut off")
    is_number, _, flags, _, _ = _PAGE.unpack_from(data)
    magic, version, _, map_bytes, *rest = _META.unpack_from(data, _PAGE.size)
    if (is_number, flags, magic, version) != (number, META, MAGIC, VERSION):
        raise ValueError(f"page {number} does not begin a store")
    free, kept = Tree(*rest[:8]), Tree(*rest[8:16])
    return Meta(map_bytes=map_bytes, free=free, data=kept, last_page=rest[16], transaction=rest[17])


class _Walk:
    """Both trees of one file. `used` are the pages that were met."""

    def __init__(self, file: FileIO, meta: Meta) -> None:
        self.used: set[int] = set()
        self._file = file
        self._meta = meta

    def free_pages(self) -> Iterator[int]:
        """The numbers of free pages, from the tree that holds them. Raises `ValueError`."""
        for node in self.entries(self._meta.free, _number):
            count, *pages = (_number(node.data[at : at + 8]) for at in range(0, len(node.data), 8))
            if count != len(pages) or pages != sorted(set(pages), reverse=True):
                raise ValueError("the list of free pages is damaged")
            yield from pages

    def entries(self, tree: Tree, ordered: Callable[[bytes], Any] = bytes) -> Iterator[PageEntry]:
        """The leaves of a tree, in order. `ordered` gives what keys are compared by. Raises `ValueError`."""
        counts = Counter[int]()
        if tree.root != NONE:
            for node in self._below(tree.root, tree.depth, counts, ordered, None, None):
                counts[0] += 1
                yield node
        found = (counts[BRANCH], counts[LEAF], counts[OVERFLOW], counts[0])
        if found != (tree.branches, tree.leaves, tree.overflows, tree.entries) or (tree.root == NONE) != (
            not tree.depth
        ):
            raise ValueError("a tree does not have the pages and entries that its meta page counts")

    def _below(  # noqa: PLR0917
        self, page: int, depth: int, counts: Counter[int], ordered: Callable[[bytes], Any], low: Any, high: Any
    ) -> Iterator[PageEntry]:
        """The leaves below a page, whose keys are from `low` and below `high`; None: no bound."""
        kind = LEAF if depth == 1 else BRANCH
        counts[kind] += 1
        nodes = list(self._nodes(page, kind))
        keys = [ordered(node.key) if kind == LEAF or at else low for at, node in enumerate(nodes)]
        bounds = [low, *keys[kind == BRANCH :], high]
        if any(one > other for one, other in pairwise(key for key in bounds if key is not None)):
            raise ValueError(f"page {page}: its keys are out of order")
        if len(set(keys)) < len(keys) or (high is not None and keys[-1] == high):
            raise ValueError(f"page {page} has a key twice")
        for at, node in enumerate(nodes):
            if kind == BRANCH:
                above = keys[at + 1] if at + 1 < len(keys) else high
                yield from self._below(node.child, depth - 1, counts, ordered, keys[at], above)
            elif node.is_big:
                first = _number(node.data)
                data, pages = self._overflow(first, node.size_bytes)
                counts[OVERFLOW] += pages
                yield node._replace(data=data)
            else:
                yield node

    def _nodes(self, page: int, kind: int) -> Iterator[PageEntry]:
        """The entries of a page. They fill it from its upper end: nothing lies between them, nothing overlaps."""
        data = self._read(page)
        number, _, flags, lower, upper = _PAGE.unpack_from(data)
        count = (lower - _PAGE.size) // 2
        if (number, flags) != (page, kind) or lower % 2 or not _PAGE.size < lower <= upper <= len(data):
            raise ValueError(f"page {page}: its head is damaged")
        filled = 0
        for place in struct.unpack_from(f"={count}H", data, _PAGE.size):
            if place < upper or place % 2 or place + _NODE.size > len(data):
                raise ValueError(f"page {page}: an entry lies outside")
            low, high, node_flags, key_bytes = _NODE.unpack_from(data, place)
            size_bytes, body = low | high << 16, place + _NODE.size + key_bytes
            is_big = kind == LEAF and node_flags == BIG_DATA
            held_bytes = 0 if kind == BRANCH else _WORD.size if is_big else size_bytes
            if (kind == LEAF and node_flags not in {0, BIG_DATA}) or body + held_bytes > len(data):
                raise ValueError(f"page {page}: an entry is damaged")
            filled += (_NODE.size + key_bytes + held_bytes + 1) & ~1
            key, value = data[place + _NODE.size : body], data[body : body + held_bytes]
            yield PageEntry(key, size_bytes | node_flags << 32, size_bytes, value, is_big)
        if filled != len(data) - upper:
            raise ValueError(f"page {page}: its entries do not fill it")

    def _overflow(self, page: int, size_bytes: int) -> tuple[bytes, int]:
        """A value that has pages of its own, and how many: more than it needs, if it was larger before."""
        needed = (_PAGE.size + size_bytes - 1) // self._meta.page_bytes + 1
        data = self._read(page, needed)
        number, _, flags, low, high = _PAGE.unpack_from(data)
        pages = low | high << 16
        if (number, flags) != (page, OVERFLOW) or not needed <= pages <= self._meta.last_page + 1 - page:
            raise ValueError(f"page {page}: its head is damaged")
        if pages > needed:
            self._take(range(page + needed, page + pages))
        return data[_PAGE.size : _PAGE.size + size_bytes], pages

    def _read(self, page: int, pages: int = 1) -> bytes:
        self._take(range(page, page + pages))
        wanted_bytes = pages * self._meta.page_bytes
        data = os.pread(self._file.fileno(), wanted_bytes, page * self._meta.page_bytes)
        if len(data) < wanted_bytes:
            raise ValueError(f"page {page} is cut off")
        return data

    def _take(self, pages: range) -> None:
        if pages[0] < METAS or pages[-1] > self._meta.last_page or not self.used.isdisjoint(pages):
            raise ValueError(f"page {pages[0]} is not where it could be")
        self.used.update(pages)


def _number(data: bytes) -> int:
    if len(data) != _WORD.size:
        raise ValueError("a page number is damaged")
    return int(_WORD.unpack(data)[0])
