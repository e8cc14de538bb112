"""Messages of a session and the coding of pairs (protocol.md, "A session", "Shipping")."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Iterable, Optional

from elements import Version
from wire import ProtocolError, Reader, fixed, string, varint

(HELLO, EQUAL, DIFFERS, LOCATE, LEAF_BATCH, SUMMARY, PAYLOAD, PASS, OFFERS, WANTS,
 VALUES, CHUNK, PAIRS, ABANDON, END) = range(1, 16)
CLAIMS, HOLDINGS, ANNOUNCEMENT, REQUEST, HEARTBEAT = 19, 20, 21, 24, 26

LAST, BIT5, BIT6 = 0x80, 0x20, 0x40
IDLE_TYPES = {DIFFERS, PAYLOAD, PASS, OFFERS, WANTS, VALUES, CHUNK, PAIRS, CLAIMS, HOLDINGS}


@dataclass
class Message:
    kind: int
    flags: int
    body: bytes

    @property
    def last(self) -> bool:
        return bool(self.flags & LAST)

    def bytes(self) -> bytes:
        return bytes([self.kind | self.flags]) + self.body


def parse(frame: bytes) -> Message:
    if not frame:
        raise ProtocolError("empty message")
    return Message(frame[0] & 0x1F, frame[0] & 0xE0, frame[1:])


@dataclass
class Entry:
    """An entry of Offers or Pairs."""
    family: int
    key: bytes
    version: Version
    kind: int  # 0 tombstone, 1 the value follows, 2 on request
    size: int
    element: Optional[int] = None
    value: Optional[bytes] = None


def zigzag(n: int) -> int:
    return 2 * n if n >= 0 else -2 * n - 1


def unzigzag(n: int) -> int:
    return n >> 1 if n % 2 == 0 else -(n + 1 >> 1)


class VersionCoder:
    """Versions within one message: time as a difference, replicas by number."""

    def __init__(self) -> None:
        self.ms = 0
        self.replicas: list[int] = []

    def encode(self, v: Version) -> bytes:
        ms, counter = v.time >> 16, v.time & 0xFFFF
        out = varint(2 * zigzag(ms - self.ms) + (counter != 0))
        self.ms = ms
        if counter:
            out += varint(counter)
        if v.replica in self.replicas:
            return out + varint(self.replicas.index(v.replica))
        self.replicas.append(v.replica)
        return out + varint(len(self.replicas) - 1) + fixed(v.replica, 8)

    def decode(self, r: Reader) -> Version:
        t = r.varint()
        self.ms += unzigzag(t >> 1)
        if not 0 <= self.ms < 1 << 48:
            raise ProtocolError("a time out of range")
        counter = r.varint() if t & 1 else 0
        if counter >> 16 or (t & 1 and not counter):
            raise ProtocolError("a counter out of range")
        number = r.varint()
        if number == len(self.replicas):
            self.replicas.append(r.fixed(8))
        elif number > len(self.replicas):
            raise ProtocolError("a replica that was not named")
        return Version(self.ms << 16 | counter, self.replicas[number])


def encode_entries(entries: Iterable[Entry]) -> bytes:
    versions = VersionCoder()
    out = bytearray()
    for e in entries:
        out += varint(e.family) + string(e.key) + versions.encode(e.version)
        out += varint(4 * e.size + e.kind)
        if e.kind == 2 and e.version == (0, 0):
            out += fixed(e.element or 0, 16)
        if e.kind == 1:
            out += e.value or b""
    return bytes(out)


def decode_entries(body: bytes, offers: bool, head: bytes = b"") -> list[Entry]:
    """`head`: the beginning of the first value, from Chunk messages."""
    r = Reader(body)
    versions = VersionCoder()
    entries = []
    while not r.done():
        family, key, version = r.varint(), r.string(), versions.decode(r)
        size, kind = divmod(r.varint(), 4)
        if kind == 3 or (kind == 2 and not offers) or (kind == 0 and size):
            raise ProtocolError("a kind of entry that does not fit")
        e = Entry(family, key, version, kind, size)
        if kind == 2 and version == (0, 0):
            e.element = r.fixed(16)
        if kind == 1:
            e.value = head + r.bytes(size)
            head = b""
        entries.append(e)
    return entries


def encode_wants(wanted: list[bool]) -> bytes:
    """Nothing if all are wanted, else a bitmap."""
    if all(wanted):
        return b""
    bits = sum(w << i for i, w in enumerate(wanted))
    return b"\1" + bits.to_bytes((len(wanted) + 7) // 8, "little")


def decode_wants(body: bytes, n: int) -> list[bool]:
    if not body:
        return [True] * n
    if body[0] == 1:
        bits = int.from_bytes(body[1:], "little")
        if len(body) - 1 != (n + 7) // 8 or bits >> n:
            raise ProtocolError("a bitmap of another size")
        return [bool(bits >> i & 1) for i in range(n)]
    if body[0] != 0:
        raise ProtocolError("an unknown form of Wants")
    r = Reader(body[1:])
    out: list[bool] = []
    wanted = True
    while not r.done():
        out += [wanted] * r.varint()
        wanted = not wanted
    if len(out) > n:
        raise ProtocolError("Wants for more than was offered")
    return out + [wanted] * (n - len(out))
