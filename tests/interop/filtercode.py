"""Coded one-probe filters (exchange.md, "Filters")."""
from __future__ import annotations

import bisect
import math

from wire import ProtocolError, Reader, fixed, varint

PARTS = 1 << 14
LOWEST = 1 << 31


def symbol_ends(ratio: int) -> list[int]:
    """The ends of the 64 symbols' parts."""
    ends = []
    t = 1 << 32
    for s in range(64):
        t = t * ratio >> 16
        end = PARTS - (t >> 18)
        end = max(end, (ends[-1] if ends else 0) + 1)
        end = min(end, PARTS - (63 - s))
        ends.append(PARTS if s == 63 else end)
    return ends


def decode_slice(body: bytes, start: int, end: int) -> list[int]:
    """The slots that are set, of those in [start, end)."""
    r = Reader(body)
    count, low, ratio, state = r.varint(), r.fixed(1), r.fixed(2), r.fixed(8)
    ends = symbol_ends(ratio)

    def refill(x: int) -> int:
        return x << 32 | r.fixed(4) if x < LOWEST else x

    slots = []
    at = start
    for _ in range(count):
        gap = 0
        while True:
            part = state & (PARTS - 1)
            s = bisect.bisect_right(ends, part)
            first = ends[s - 1] if s else 0
            state = refill((ends[s] - first) * (state >> 14) + part - first)
            gap += s
            if s != 63:
                break
        gap <<= low
        shift = 0
        while shift < low:
            bits = min(16, low - shift)
            gap |= (state & ((1 << bits) - 1)) << shift
            state = refill(state >> bits)
            shift += bits
        at += gap
        if at >= end:
            raise ProtocolError("a slot beyond the slice")
        slots.append(at)
        at += 1
    if state != LOWEST or not r.done():
        raise ProtocolError("a slice that does not end well")
    return slots


def encode_slice(slots: list[int], start: int, end: int) -> bytes:
    """One slice of ascending, distinct slots of [start, end)."""
    mean = max(1.0, (end - start - len(slots)) / max(1, len(slots)))
    low = max(0, int(math.log2(mean)) - 2)
    q = mean / (1 << low)
    ratio = min(65535, max(1, int(65536 * q / (q + 1))))
    ends = symbol_ends(ratio)
    steps: list[tuple[int, int, bool]] = []  # in order: (value, width, symbol?)
    at = start
    for slot in slots:
        gap, at = slot - at, slot + 1
        high = gap >> low
        while high >= 63:
            steps.append((63, 0, True))
            high -= 63
        steps.append((high, 0, True))
        shift = 0
        while shift < low:
            bits = min(16, low - shift)
            steps.append((gap >> shift & ((1 << bits) - 1), bits, False))
            shift += bits
    state = LOWEST
    words: list[int] = []
    for value, bits, symbol in reversed(steps):
        if symbol:
            first = ends[value - 1] if value else 0
            size, scale = ends[value] - first, 14
        else:
            first, size, scale = value, 1, bits
        if state >= size << (63 - scale):
            words.append(state & 0xFFFFFFFF)
            state >>= 32
        state = (state // size << scale) + state % size + first
    return (varint(len(slots)) + fixed(low, 1) + fixed(ratio, 2) + fixed(state, 8)
            + b"".join(fixed(w, 4) for w in reversed(words)))
