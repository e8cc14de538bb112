"""Elements, digests, positions, versions (protocol.md, "Conventions")."""
from __future__ import annotations

import ctypes
import hashlib
from dataclasses import dataclass
from typing import NamedTuple, Optional

import xxhash

from wire import fixed

MASK64 = (1 << 64) - 1
MASK128 = (1 << 128) - 1

# python3-xxhash has no hashes with a secret; this is the library that it links.
_lib = ctypes.CDLL("libxxhash.so.0")
_lib.XXH3_64bits_withSecret.restype = ctypes.c_uint64
_lib.XXH3_64bits_withSecret.argtypes = [
    ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]


class Version(NamedTuple):
    """Later versions compare greater."""
    time: int
    replica: int


@dataclass(frozen=True)
class Pair:
    """What a replica holds of a key; a tombstone has no value."""
    family: bytes
    key: bytes
    version: Version
    value: Optional[bytes]
    element: int
    position: int

    def beats(self, other: Optional["Pair"]) -> bool:
        """Later version; then a tombstone; then the greater element."""
        return other is None or self.rank() > other.rank()

    def rank(self) -> tuple[Version, bool, int]:
        return (self.version, self.value is None, self.element)

    def order(self) -> tuple[int, bytes, bytes]:
        return (self.position, self.family, self.key)


class Hasher:
    """What depends on the cluster's secret."""

    def __init__(self, secret: bytes) -> None:
        self.secret = secret
        self.position_secret = b"".join(
            hashlib.sha256(b"rocksync position" + secret + bytes([i])).digest()
            for i in range(6))

    def value_hash(self, version: Version, value: bytes) -> bytes:
        if version == (0, 0):
            return hashlib.sha256(
                b"rocksync adopted value" + self.secret + value).digest()[:16]
        return xxhash.xxh3_128_digest(value)

    def element(self, family: bytes, key: bytes, version: Version,
                value: Optional[bytes]) -> int:
        tail = b"\0" if value is None else b"\1" + self.value_hash(version, value)
        text = (self.secret + fixed(len(family), 4) + family
                + fixed(len(key), 4) + key
                + fixed(version.time, 8) + fixed(version.replica, 8) + tail)
        return int.from_bytes(hashlib.sha256(text).digest()[:16], "big")

    def position(self, family: bytes, key: bytes) -> int:
        text = fixed(len(family), 4) + family + key
        return _lib.XXH3_64bits_withSecret(
            text, len(text), self.position_secret, len(self.position_secret)) or 1

    def pair(self, family: bytes, key: bytes, version: Version,
             value: Optional[bytes]) -> Pair:
        return Pair(family, key, version, value,
                    self.element(family, key, version, value),
                    self.position(family, key))


class Digest(NamedTuple):
    """Count and sum of a set of elements."""
    count: int
    sum: int


def digest(elements: "list[int]") -> Digest:
    return Digest(len(elements), sum(elements) & MASK128)


class Key(NamedTuple):
    """A mapping key (exchange.md, "What both sides know beforehand")."""
    high: int
    low: int


def mapping_key(seed: bytes, purpose: int, index: int) -> Key:
    h = hashlib.sha256(b"rocksync mapping" + seed + fixed(purpose, 4) + fixed(index, 8)).digest()
    return Key(int.from_bytes(h[:8], "big"), int.from_bytes(h[8:16], "big"))


def mix(element: int, key: Key) -> int:
    """`Mix`, 64 bits."""
    p = ((element >> 64) ^ key.high) * ((element & MASK64) ^ key.low)
    f = (p >> 64) ^ (p & MASK64)
    q = (f ^ key.high) * 0x9E3779B97F4A7C15
    return (q >> 64 ^ q) & MASK64


def short_mix(element: int, key: Key) -> int:
    """`ShortMix`, 32 bits."""
    a = (element >> 64) ^ key.high
    b = (element & MASK64) ^ key.low
    s = ((a >> 32) * (a & 0xFFFFFFFF) + (b >> 32) * (b & 0xFFFFFFFF)) & MASK64
    p = (s >> 32) * (s & 0xFFFFFFFF)
    return (p >> 32 ^ p) & 0xFFFFFFFF


def place(element: int, key: Key, m: int) -> int:
    if m <= 1 << 27:
        return short_mix(element, key) * m >> 32
    return mix(element, key) * m >> 64
