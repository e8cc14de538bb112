"""A replica in memory: one family, last writer wins (design.md, "Order of writes")."""
from __future__ import annotations

import os
import threading
import time
from typing import Optional

from elements import Digest, Hasher, Pair, Version, digest


class Store:
    """Pairs by key. Thread-safe by one lock."""

    def __init__(self, secret: bytes, families: "list[bytes] | None" = None) -> None:
        self.hasher = Hasher(secret)
        self.families = sorted(families or [b"default"])
        self.replica_id = int.from_bytes(os.urandom(8), "big") or 1
        self.pairs: dict[tuple[bytes, bytes], Pair] = {}
        self.clock = int(time.time() * 1000) << 16
        self.first_clock = self.clock
        self.lock = threading.RLock()

    def next_version(self) -> Version:
        """A hybrid logical clock: 48 bits of milliseconds, 16 of a counter."""
        self.clock = max(self.clock + 1, int(time.time() * 1000) << 16)
        return Version(self.clock, self.replica_id)

    def put(self, key: bytes, value: Optional[bytes], family: bytes = b"default") -> None:
        """Writes a pair, or a tombstone if the value is None."""
        with self.lock:
            self.pairs[family, key] = self.hasher.pair(
                family, key, self.next_version(), value)

    def delete(self, key: bytes) -> None:
        self.put(key, None)

    def get(self, family: bytes, key: bytes) -> Optional[Pair]:
        return self.pairs.get((family, key))

    def apply(self, pair: Pair) -> bool:
        """Takes a pair of a peer if it wins; the clock follows its version."""
        with self.lock:
            self.clock = max(self.clock, pair.version.time)
            if not pair.beats(self.get(pair.family, pair.key)):
                return False
            self.pairs[pair.family, pair.key] = pair
            return True

    def snapshot(self) -> "dict[tuple[bytes, bytes], Pair]":
        with self.lock:
            return dict(self.pairs)

    def scan(self) -> "list[tuple[bytes, bytes]]":
        """Live pairs of the family `default`, by key."""
        return sorted((k, p.value) for (f, k), p in self.snapshot().items()
                      if p.value is not None and f == b"default")

    def digest(self) -> Digest:
        return digest([p.element for p in self.snapshot().values()])
