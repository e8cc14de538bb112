"""Mode adaptive of an exchange (exchange.md): both roles. This side's own choices
are simple: as planner a probe, then a sketch; as answerer estimates and answers."""
from __future__ import annotations

import math
from typing import Optional

import pinsketch
from elements import Key, MASK64, mapping_key, mix, place
from filtercode import decode_slice, encode_slice
from wire import ProtocolError, Reader, fixed, varint

(SKETCH, EXTEND, FILTER, SLICE, ASK_FILTER, ESTIMATE, PARTIAL, ANSWER, FOUND,
 PARITIES, SPLITS, MORE_PARITIES, EXPLAINED, KEY_PARITIES) = range(1, 15)
PLANNER_KINDS = {SKETCH, EXTEND, ASK_FILTER, PARITIES, SPLITS, KEY_PARITIES}
ROLE_FREE = {FILTER, SLICE}
PIECE = 1 << 20
MOST_SUMS = 512
MOST_PASSES = 9
OWN_RATE_CODE = 8  # an answer to a filter without "ask filter": rate 1/4


def pack(numbers: "list[int]", width: int) -> bytes:
    """"Bits": least significant first, the last byte filled with zeros."""
    total, at = 0, 0
    pieces: list[bytes] = []
    for n in numbers:
        total |= n << at
        at += width
        if at >= 4096 and at % 8 == 0:
            pieces.append(total.to_bytes(at // 8, "little"))
            total = at = 0
    return b"".join(pieces) + total.to_bytes((at + 7) // 8, "little")


def unpack(data: bytes, width: int, count: int) -> "list[int]":
    if len(data) != (count * width + 7) // 8:
        raise ProtocolError("bits of another length")
    out = []
    mask = (1 << width) - 1
    for i in range(count):
        first, last = i * width // 8, ((i + 1) * width + 7) // 8
        out.append(int.from_bytes(data[first:last], "little") >> (i * width % 8) & mask)
    if count and int.from_bytes(data[-8:], "little") >> (
            count * width - 8 * max(0, len(data) - 8)):
        raise ProtocolError("spare bits")
    return out


def rank_bits(count: int, span: int) -> int:
    """The largest k with 2^k * count * 65536 <= range * 45426, or 0."""
    k = 0
    while (2 << k) * count * 65536 <= span * 45426:
        k += 1
    return k


def names_check(named: "list[int]") -> int:
    """Two bytes over the named ids, each group << 32 | id."""
    total = 0
    for x in named:
        x = (x ^ x >> 31) * 0x7FB5D329728EA185 & MASK64
        x = (x ^ x >> 27) * 0x81DADEF4BC2DD44D & MASK64
        total += x ^ x >> 33
    total &= MASK64
    return (total ^ total >> 16 ^ total >> 32 ^ total >> 48) & 0xFFFF


def encode_names(missing: "list[int]", theirs: "list[int]") -> bytes:
    """Names `missing`, ids of the planner, by their ranks among `theirs`."""
    if not missing:
        return varint(0)
    k = rank_bits(len(missing), len(theirs))
    wanted = set(missing)
    bits: list[int] = []
    last = -1
    for rank, x in enumerate(theirs):
        if x in wanted:
            gap = rank - last - 1
            last = rank
            bits += [1] * (gap >> k) + [0] + [gap >> i & 1 for i in range(k)]
    return varint(len(missing)) + fixed(names_check(missing), 2) + pack(bits, 1)


def decode_ranks(data: bytes, count: int, span: int) -> "list[int]":
    """`count` ranks below `span`, ascending."""
    k = rank_bits(count, span)
    at = 0

    def bit() -> int:
        nonlocal at
        if at >= 8 * len(data):
            raise ProtocolError("ranks too short")
        at += 1
        return data[(at - 1) // 8] >> ((at - 1) % 8) & 1

    ranks, rank = [], -1
    for _ in range(count):
        gap = 0
        while bit():
            gap += 1
        gap <<= k
        for i in range(k):
            gap |= bit() << i
        rank += gap + 1
        if rank >= span:
            raise ProtocolError("a rank too large")
        ranks.append(rank)
    return ranks


def decode_names(r: Reader, mine: "list[int]") -> "list[int]":
    """The named ids among `mine`, ascending; none if the check fails."""
    if r.done():
        return []
    count = r.varint()
    if not count:
        r.expect_end()
        return []
    check = r.fixed(2)
    named = [mine[rank] for rank in decode_ranks(r.rest(), count, len(mine))]
    return named if names_check(named) == check else []


class Groups:
    """Short ids of a set in groups (exchange.md, "Short ids")."""

    def __init__(self, elements: "list[int]", key: Key, groups: int, width: int) -> None:
        self.width = width
        self.ids: list[dict[int, list[int]]] = [{} for _ in range(groups)]
        for e in elements:
            p = (mix(e, key) >> 24) * groups
            i = (p & ((1 << 40) - 1)) >> (40 - width) or 1
            self.ids[p >> 40].setdefault(i, []).append(e)
        for g in self.ids:
            for i in [i for i, es in g.items() if len(es) % 2 == 0]:
                del g[i]

    def sums(self, group: int, first: int, count: int) -> "list[int]":
        return pinsketch.field(self.width).power_sums(list(self.ids[group]), first, count)


class Sketch:
    """A sketch under way: what was sent of it, and what is pending."""

    def __init__(self, groups: Groups, sums: int, probe: bool) -> None:
        self.groups, self.sums, self.probe = groups, sums, probe
        self.pending = list(range(len(groups.ids)))
        self.difference: dict[int, list[int]] = {g: [] for g in self.pending}
        self.passes = 0


class AdaptiveExchange:
    """One side of an exchange. `candidates` holds the result once `done`."""

    def __init__(self, elements: "list[int]", mine: int, theirs: int, seed: bytes,
                 initiator: bool, round_trips: bool,
                 positions: "Optional[list[int]]" = None) -> None:
        self.elements, self.theirs = list(elements), theirs
        self.positions = positions  # of the elements' keys, if they have any
        self.seed, self.initiator, self.round_trips = seed, initiator, round_trips
        self.planner = initiator
        self.done = False
        self.candidates: list[int] = []
        self.log: list[str] = []
        self.sketch: Optional[Sketch] = None
        self.first = True
        self.piece = b""
        self.filter_parts: list[bytes] = []
        self.filter_sent = False
        self.filter_came = False
        self.found = 0
        self.estimated = False
        self.initiators_estimate: Optional[bytes] = None
        self.out: list[bytes] = []
        if initiator:
            self._open()

    # -- payloads

    def outgoing(self) -> "list[bytes]":
        if self.filter_came and not self.filter_sent and not self.out and not self.done:
            self._send_filter(OWN_RATE_CODE)
        out, self.out = self.out, []
        return out

    def _say(self, kind: int, body: bytes) -> None:
        pieces = [body[i:i + PIECE] for i in range(0, len(body), PIECE)] or [b""]
        for p in pieces[:-1]:
            self.out.append(bytes([kind | 0x80]) + p)
        self.out.append(bytes([kind]) + pieces[-1])

    def receive(self, payload: bytes) -> None:
        if self.done or not payload:
            raise ProtocolError("a payload too many")
        if self.first and not self.initiator:
            self.first = False
            self._take_first(payload[0], payload[1:])
            return
        self.first = False
        kind, body = payload[0], payload[1:]
        if kind & 0x80:
            self.piece += body
            return
        body, self.piece = self.piece + body, b""
        self._take(kind, body)

    def _take_first(self, header: int, body: bytes) -> None:
        self.log.append(f"first {header:#x} {len(body)} B")
        if header & ~0x70 or header & 0x60 == 0x60:
            raise ProtocolError(f"first payload {header:#x}")
        self.round_trips = bool(header & 0x10)
        if header & 0x20:
            self._take(body[0], body[1:])
        elif header & 0x40:
            self.planner = True
            self._plan(body)
        else:
            if header & 0x10:
                size = self._estimate_size()
                self.initiators_estimate = body[len(body) - size:]
                body = body[:len(body) - size]
            self._take_probe(body)

    def _take(self, kind: int, body: bytes) -> None:
        self.log.append(f"kind {kind} {len(body)} B")
        if (self.planner and self.initiator and self.round_trips
                and kind in PLANNER_KINDS | ROLE_FREE):
            self.planner = False
        handlers = ({ESTIMATE: self._plan, PARTIAL: self._take_partial,
                     ANSWER: self._take_answer} if self.planner else
                    {SKETCH: self._take_sketch, EXTEND: self._take_extend,
                     FILTER: self._take_filter, SLICE: self._take_slice,
                     ASK_FILTER: self._take_ask, PARITIES: self._take_parities,
                     KEY_PARITIES: self._take_key_parities})
        if kind not in handlers:
            raise ProtocolError(f"kind {kind} is not implemented here")
        handlers[kind](body)

    # -- the planner

    def _probe_width(self) -> int:
        n = max(len(self.elements), self.theirs)
        slack = 14 if self.round_trips else 9
        return max(12, min(32, (n - 1).bit_length() + slack))

    def _groups(self, groups: int, width: int) -> Groups:
        return Groups(self.elements, mapping_key(self.seed, 2, 0), groups, width)

    def _open(self) -> None:
        sums = 8
        self.sketch = Sketch(self._groups(1, self._probe_width()), sums, probe=True)
        body = pack(self.sketch.groups.sums(0, 0, sums), self.sketch.groups.width)
        if self.round_trips:
            self.out.append(b"\x10" + body + self._estimate())
        else:
            self.out.append(b"\x00" + body)

    def _plan(self, estimate: bytes) -> None:
        """Sends a sketch for as many differences as the estimate tells, or the counts."""
        lack = abs(len(self.elements) - self.theirs)
        d = max(lack, 16)
        own = self._estimate()
        if estimate and estimate[0] == ESTIMATE and len(estimate) == len(own) + 1:
            estimate = estimate[1:]
        if estimate:
            if len(estimate) != len(own):
                raise ProtocolError(f"an estimate of {len(estimate)} bytes, not {len(own)}")
            d = max(d, self._differences(estimate, own))
        else:
            d = int(d * 1.2)
        n = max(len(self.elements), self.theirs)
        groups = max(1, math.ceil(d / 16))
        width = max(12, min(32, max(1, n // groups).bit_length() + 12))
        sums = 30 if groups > 1 else min(MOST_SUMS, int(d * 1.3) + 12)
        self.sketch = Sketch(self._groups(groups, width), sums, probe=False)
        numbers = [s for g in range(groups) for s in self.sketch.groups.sums(g, 0, sums)]
        self._say(SKETCH, varint(groups) + fixed(width, 1) + pack(numbers, width))

    def _take_partial(self, body: bytes) -> None:
        sketch = self._need_sketch()
        r = Reader(body)
        wanted = r.varint()
        if len(sketch.pending) > 1:
            flags = int.from_bytes(r.bytes((len(sketch.pending) + 7) // 8), "little")
            decoded = [g for i, g in enumerate(sketch.pending) if flags >> i & 1]
            if decoded:
                self._name(sketch, decoded, r)
            sketch.pending = [g for g in sketch.pending if g not in set(decoded)]
        r.expect_end()
        if wanted == 0:
            self.done = True
            return
        more = wanted - sketch.sums
        if more <= 0 or wanted > MOST_SUMS:
            raise ProtocolError("sums that cannot be wanted")
        numbers = [s for g in sketch.pending for s in sketch.groups.sums(g, sketch.sums, more)]
        sketch.sums = wanted
        self._say(EXTEND, pack(numbers, sketch.groups.width))

    def _take_answer(self, body: bytes) -> None:
        sketch = self._need_sketch()
        self._name(sketch, sketch.pending, Reader(body))
        self.done = True

    def _name(self, sketch: Sketch, decoded: "list[int]", r: Reader) -> None:
        mine = [g << 32 | i for g in decoded for i in sorted(sketch.groups.ids[g])]
        for x in decode_names(r, mine):
            self.candidates += sketch.groups.ids[x >> 32][x & 0xFFFFFFFF]

    def _need_sketch(self) -> Sketch:
        if self.sketch is None:
            raise ProtocolError("there is no sketch")
        return self.sketch

    # -- estimates

    def _levels(self) -> "tuple[int, int]":
        total = len(self.elements) + self.theirs
        return max(2, min(20, total.bit_length() - 5)), 64 if self.round_trips else 32

    def _fine_size(self) -> "tuple[int, int]":
        """Number of parities of the fine estimate, and `lack`."""
        lack = abs(len(self.elements) - self.theirs)
        if self.round_trips or lack < 300:
            return 0, lack
        return max(256, min(16384, lack // 2)) // 8 * 8, lack

    def _estimate_size(self) -> int:
        levels, buckets = self._levels()
        keys = levels * 2 if self._estimates_keys() else 0
        return levels * buckets // 8 + self._fine_size()[0] // 8 + keys

    def _estimates_keys(self) -> bool:
        return (self.positions is not None and not self.round_trips
                and len(self.elements) + self.theirs >= 1 << 18)

    def _estimate(self) -> bytes:
        levels, buckets = self._levels()
        estimate = self._parities(self.elements, 0, levels, buckets) + self._fine_estimate()
        if self._estimates_keys():
            keys = [p << 64 | p for p in self.positions or []]
            estimate += self._parities(keys, 2, levels, 16)
        return estimate

    def _parities(self, items: "list[int]", index: int, levels: int, buckets: int) -> bytes:
        bits = [0] * levels
        key = mapping_key(self.seed, 3, index)
        for e in items:
            x = mix(e, key)
            bits[min(levels - 1, 64 - x.bit_length())] ^= 1 << (x % buckets)
        return b"".join(fixed(b, buckets // 8) for b in bits)

    def _fine_estimate(self) -> bytes:
        size, lack = self._fine_size()
        if not size:
            return b""
        key = mapping_key(self.seed, 3, 1)
        limit = math.floor(min(1.0, size / (2 * lack)) * (2 ** 32 - 1))
        bits = 0
        for e in self.elements:
            x = mix(e, key)
            if x & 0xFFFFFFFF < limit:
                bits ^= 1 << ((x >> 32) * size >> 32)
        return bits.to_bytes(size // 8, "little")

    def _differences(self, theirs: bytes, mine: bytes) -> int:
        levels, buckets = self._levels()
        for level in range(levels):
            at = level * buckets // 8
            odd = bin(int.from_bytes(theirs[at:at + buckets // 8], "big")
                      ^ int.from_bytes(mine[at:at + buckets // 8], "big")).count("1")
            if odd / buckets <= 0.35 or level == levels - 1:
                share = min(0.45, odd / buckets)
                d = -buckets / 2 * math.log(1 - 2 * share) * 2 ** (level + 1)
                return int(d * 1.3) + 8
        return 0

    # -- the answerer

    def _take_probe(self, body: bytes) -> None:
        if not body:
            self._cannot_decode_probe()
            return
        width = self._probe_width()
        count = 8 * len(body) // width
        self.sketch = Sketch(self._groups(1, width), 0, probe=True)
        self._more_sums(self.sketch, unpack(body, width, count), count)

    def _cannot_decode_probe(self) -> None:
        """Prefer bytes: an estimate. Else this side plans, by the initiator's estimate."""
        if self.initiators_estimate is not None:
            self.planner = True
            self._plan(self.initiators_estimate)
        else:
            self.estimated = True
            self._say(ESTIMATE, self._estimate())

    def _take_sketch(self, body: bytes) -> None:
        r = Reader(body)
        groups, width = r.varint(), r.fixed(1)
        if not 1 <= groups <= len(self.elements) + self.theirs + 1 or not 4 <= width <= 32:
            raise ProtocolError("a sketch that cannot be")
        data = r.rest()
        count = 8 * len(data) // width // groups
        self.sketch = Sketch(self._groups(groups, width), 0, probe=False)
        self._more_sums(self.sketch, unpack(data, width, groups * count), count)

    def _take_extend(self, body: bytes) -> None:
        sketch = self._need_sketch()
        width = sketch.groups.width
        count = 8 * len(body) // width // len(sketch.pending)
        self._more_sums(sketch, unpack(body, width, count * len(sketch.pending)), count)

    def _more_sums(self, sketch: Sketch, numbers: "list[int]", count: int) -> None:
        sketch.passes += 1
        for i, g in enumerate(sketch.pending):
            own = sketch.groups.sums(g, sketch.sums, count)
            sketch.difference[g] += [
                a ^ b for a, b in zip(own, numbers[i * count:(i + 1) * count])]
        sketch.sums += count
        decoded = {g: d for g in sketch.pending
                   if (d := self._decode(sketch, g)) is not None}
        if len(decoded) == len(sketch.pending):
            names = self._name_missing(sketch, decoded)
            self._say(ANSWER, names)
            self.done = True
            return
        self._partial(sketch, decoded)

    def _decode(self, sketch: Sketch, group: int) -> "Optional[list[int]]":
        own = sketch.groups.ids[group]
        sums = sketch.difference[group]
        ids = pinsketch.decode(pinsketch.field(sketch.groups.width), sums, list(own))
        if ids is None or (len(ids) < len(sums) or len(sums) >= 12):
            return ids
        if not sketch.probe:
            return None
        mine = sum(i in own for i in ids)
        balanced = 2 * mine - len(ids) == len(self.elements) - self.theirs
        return ids if balanced else None

    def _name_missing(self, sketch: Sketch, decoded: "dict[int, list[int]]") -> bytes:
        """Takes candidates out of decoded groups; the names of what is missing here."""
        theirs: list[int] = []
        missing: list[int] = []
        for g in sorted(decoded):
            own = sketch.groups.ids[g]
            difference = set(decoded[g])
            theirs += [g << 32 | i for i in sorted(difference ^ set(own))]
            for i in difference:
                if i in own:
                    self.candidates += own[i]
                else:
                    missing.append(g << 32 | i)
        return encode_names(missing, theirs)

    def _partial(self, sketch: Sketch, decoded: "dict[int, list[int]]") -> None:
        if sketch.probe and not self.estimated and (
                sketch.sums >= 16 or self.initiators_estimate is not None):
            self._cannot_decode_probe()
            return
        wanted = 16 if sketch.probe and sketch.sums < 16 else min(MOST_SUMS, sketch.sums * 3 // 2 + 2)
        if sketch.passes >= MOST_PASSES or wanted <= sketch.sums:
            wanted = 0
        body = varint(wanted)
        if len(sketch.pending) > 1:
            flags = sum(1 << i for i, g in enumerate(sketch.pending) if g in decoded)
            body += flags.to_bytes((len(sketch.pending) + 7) // 8, "little")
            if decoded:
                body += self._name_missing(sketch, decoded)
        sketch.pending = [g for g in sketch.pending if g not in decoded]
        self._say(PARTIAL, body)
        self.done = wanted == 0

    # -- filters, as answerer

    def _take_filter(self, body: bytes) -> None:
        r = Reader(body)
        found, self.slots = r.varint(), r.varint()
        self.theirs -= found
        if not self.slots:
            r.expect_end()
            return
        self.slices = r.varint() + 1
        self.filter_parts = [r.rest()]
        self._filter_complete()

    def _take_slice(self, body: bytes) -> None:
        self.filter_parts.append(body)
        self._filter_complete()

    def _filter_complete(self) -> None:
        if len(self.filter_parts) < self.slices:
            return
        m, s = self.slots, self.slices
        slots: set[int] = set()
        for i, part in enumerate(self.filter_parts):
            slots.update(decode_slice(part, m * i // s, m * (i + 1) // s))
        key = mapping_key(self.seed, 1, 0)
        kept = [e for e in self.elements if place(e, key, m) in slots]
        absent = set(self.elements) - set(kept)
        self.candidates += absent
        self.elements = kept
        self.found = len(absent)
        self.filter_came = True
        if self.filter_sent:
            self._say(FOUND, varint(self.found))

    def _take_ask(self, body: bytes) -> None:
        """Sends a filter of the rate that was asked for, or none."""
        self._send_filter(body[0])

    def _send_filter(self, code: int) -> None:
        self.filter_sent = True
        if not code or not self.elements:
            self._say(FILTER, varint(self.found) + varint(0))
            return
        rate = 2.0 ** (-code / 4)
        m = max(1, math.ceil(len(self.elements) / -math.log(1 - rate)))
        key = mapping_key(self.seed, 1, 64)
        slots = sorted({place(e, key, m) for e in self.elements})
        count = max(1, math.ceil(len(slots) / 40000))
        parts = []
        for i in range(count):
            first, end = m * i // count, m * (i + 1) // count
            parts.append(encode_slice([x for x in slots if first <= x < end], first, end))
        self._say(FILTER, varint(self.found) + varint(m) + varint(count - 1) + parts[0])
        for p in parts[1:]:
            self._say(SLICE, p)

    def _take_key_parities(self, body: bytes) -> None:
        """Not decoded here either: so they are given up, and a sketch or a filter comes."""
        if self.positions is None:
            raise ProtocolError("parities of keys where there are none")
        r = Reader(body)
        r.varint()
        if r.varint():
            raise ProtocolError("split cells that were not asked for")
        rest = r.rest()
        while rest:
            r = Reader(rest)
            bits = (r.varint() + 4) * r.varint()
            r.bytes((bits + 7) // 8)
            rest = r.rest()
        self._say(MORE_PARITIES, varint(0))

    def _take_parities(self, body: bytes) -> None:
        """Belief propagation is not implemented: explains nothing, and the planner goes
        on with a sketch (accepted by the replica; questions.md, 41)."""
        r = Reader(body)
        windows, cells = r.varint(), r.varint()
        if len(r.rest()) != ((windows + 4) * cells + 7) // 8:
            raise ProtocolError("parities of another length")
        self._say(EXPLAINED, varint(0) + varint((windows + 4) * cells // 2 + 1))
