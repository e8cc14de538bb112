"""Batches of leaves (protocol.md, "Batches of leaves"): the leaves of a set, their
coding, and which of them a session has found and closed. A search is not implemented:
a peer that asks for one is answered by all leaves."""
from __future__ import annotations

import hashlib
from typing import Iterable, Optional

from adaptive import decode_ranks
from elements import Digest, Pair, digest
from messages import BIT5, LEAF_BATCH, Message
from wire import ProtocolError, Reader, fixed, varint

LEAVES = 1 << 16
EVERY = frozenset(range(LEAVES))


def leaf_of(pair: Pair) -> int:
    return pair.position >> 48


def leaf_element(leaf: int, d: Digest) -> int:
    text = b"rocksync leaf" + fixed(leaf, 4) + fixed(d.count, 8) + fixed(d.sum, 16)
    return int.from_bytes(hashlib.sha256(text).digest()[:16], "big")


def leaf_elements(pairs: Iterable[Pair], leaves: Iterable[int]) -> "dict[int, int]":
    """The leaves by their elements, empty leaves too."""
    held: dict[int, list[int]] = {}
    for p in pairs:
        held.setdefault(leaf_of(p), []).append(p.element)
    return {leaf_element(leaf, digest(held.get(leaf, []))): leaf for leaf in leaves}


def encode_leaves(leaves: Iterable[int]) -> bytes:
    """Runs of neighbours."""
    runs: list[list[int]] = []
    for leaf in sorted(leaves):
        if runs and runs[-1][1] == leaf - 1:
            runs[-1][1] = leaf
        else:
            runs.append([leaf, leaf])
    out, end = varint(len(runs)), 0
    for first, last in runs:
        out += varint(2 * (first - end) + (last > first))
        if last > first:
            out += varint(last - first - 1)
        end = last + 1
    return out


def decode_leaf_batch(body: bytes) -> "tuple[frozenset[int], Digest]":
    """The leaves of a batch, and what the sender holds in them."""
    r = Reader(body)
    runs = r.varint()
    if runs:
        return _decode_runs(r, runs)
    if not r.varint():
        raise ProtocolError("0 elements are said to differ")
    r.varint()  # keys of which two of these elements are
    count = r.varint()
    if not count:
        return _decode_runs(r, r.varint())
    if count > LEAVES:
        raise ProtocolError("more leaves than there are")
    d = Digest(r.varint(), r.fixed(16))
    return frozenset(decode_ranks(r.rest(), count, LEAVES)), d


def _decode_runs(r: Reader, runs: int) -> "tuple[frozenset[int], Digest]":
    leaves: list[int] = []
    end = 0
    for _ in range(runs):
        gap, longer = divmod(r.varint(), 2)
        first = end + gap
        end = first + (r.varint() + 2 if longer else 1)
        if end > LEAVES:
            raise ProtocolError("a leaf out of range")
        leaves += range(first, end)
    d = Digest(r.varint(), r.fixed(16))
    r.expect_end()
    return frozenset(leaves), d


class Batches:
    """What a session that began with Locate knows of the leaves."""

    def __init__(self) -> None:
        self.now: "frozenset[int]" = EVERY  # the leaves that are compared
        self.found: set[int] = set()  # to be proposed by this side
        self.closed: set[int] = set()

    def open(self) -> "list[int]":
        """The leaves that are not closed."""
        return sorted(EVERY - self.closed)

    def last(self) -> bool:
        """All leaves beside this batch are closed."""
        return len(self.now | self.closed) == LEAVES

    def close(self) -> None:
        """The leaves of this batch are equal on both sides."""
        self.closed |= self.now
        self.found -= self.now
        self.now = EVERY

    def propose(self, pairs: Iterable[Pair]) -> Optional[Message]:
        """All leaves that this side has found, as one batch."""
        if not self.found:
            return None
        self.now = frozenset(self.found)
        d = digest([p.element for p in pairs if leaf_of(p) in self.now])
        return Message(LEAF_BATCH, 0,
                       encode_leaves(self.now) + varint(d.count) + fixed(d.sum, 16))

    def take(self, message: Message) -> Digest:
        """Takes the peer's batch for this one; returns what the peer holds in it."""
        if message.flags & BIT5:
            raise ProtocolError("finds without a search")
        self.now, theirs = decode_leaf_batch(message.body)
        if self.now & self.closed:
            raise ProtocolError("a leaf that is closed")
        return theirs
