"""Mode Bloom of an exchange (exchange.md, "Mode Bloom: the paper's round")."""
from __future__ import annotations

import math
import struct
from typing import Iterable

from elements import mapping_key, place
from wire import ProtocolError

SLICE = 1 << 20


class Shape:
    """Number of probes and of bits of a filter."""

    def __init__(self, count: int, rate: float) -> None:
        if not 1e-12 <= rate < 1:
            raise ProtocolError(f"rate {rate}")
        self.k = min(64, max(1, math.floor(-math.log2(rate) + 0.5)))
        self.m = max(1, min(1 << 40, math.ceil(
            count * (-self.k / math.log1p(-rate ** (1 / self.k))))))
        self.bytes = (self.m + 7) // 8


def _keys(seed: bytes, initiator: bool, k: int) -> list:
    first = 0 if initiator else 64
    return [mapping_key(seed, 1, first + i) for i in range(k)]


def build(elements: Iterable[int], shape: Shape, seed: bytes, initiator: bool) -> bytes:
    out = bytearray(shape.bytes)
    for key in _keys(seed, initiator, shape.k):
        for e in elements:
            b = place(e, key, shape.m)
            out[b >> 3] |= 1 << (b & 7)
    return bytes(out)


def absent(elements: Iterable[int], bits: bytes, shape: Shape, seed: bytes,
           initiator: bool) -> list[int]:
    """The elements that a filter (of the initiator, or not) shows to be missing."""
    keys = _keys(seed, initiator, shape.k)

    def has(e: int) -> bool:
        return all(bits[b >> 3] >> (b & 7) & 1
                   for b in (place(e, key, shape.m) for key in keys))
    return [e for e in elements if not has(e)]


class BloomExchange:
    """One side of an exchange. `candidates` holds the result once `done`."""

    def __init__(self, elements: list[int], mine: int, theirs: int, seed: bytes,
                 initiator: bool, rate: float) -> None:
        self.elements, self.counts = elements, (mine, theirs)
        self.seed, self.initiator, self.rate = seed, initiator, rate
        self.received = b""
        self.first = True  # the initiator's first payload is still to come
        self.sent = False
        self.done = False
        self.candidates: list[int] = []
        self.log = ["Bloom"]

    def outgoing(self) -> list[bytes]:
        """Payloads for this turn: the whole filter once it is ours to send."""
        if self.sent or (not self.initiator and not self._complete()):
            return []
        shape = Shape(self.counts[0], self.rate)
        bits = build(self.elements, shape, self.seed, self.initiator)
        pieces = [bits[i:i + SLICE] for i in range(0, len(bits), SLICE)]
        if self.initiator:
            pieces[0] = b"\x01" + struct.pack(">d", self.rate) + pieces[0]
        self.sent = True
        self._finish()
        return pieces

    def receive(self, payload: bytes) -> None:
        if self.first and not self.initiator:
            if payload[:1] != b"\x01":
                raise ProtocolError("not a Bloom payload")
            (self.rate,) = struct.unpack(">d", payload[1:9])
            payload = payload[9:]
        self.first = False
        if self.done or not payload:
            raise ProtocolError("a payload too many")
        self.received += payload
        self._finish()

    def _complete(self) -> bool:
        return not self.first and len(self.received) >= Shape(self.counts[1], self.rate).bytes

    def _finish(self) -> None:
        if not self.sent or not self._complete():
            return
        shape = Shape(self.counts[1], self.rate)
        if len(self.received) != shape.bytes:
            raise ProtocolError("a filter too long")
        self.candidates = absent(self.elements, self.received, shape, self.seed, not self.initiator)
        self.done = True
