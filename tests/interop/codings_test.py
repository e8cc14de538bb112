#!/usr/bin/python3
"""The documents' examples, and round trips of the codings, without the replica."""
import random

from adaptive import AdaptiveExchange
from filtercode import decode_slice, encode_slice

rng = random.Random(3)
for n, m in ((0, 10), (1, 1), (5, 5), (100, 1000), (2000, 10 ** 6), (3000, 4000), (3, 10 ** 9)):
    slots = sorted(rng.sample(range(m), n))
    code = encode_slice(slots, 0, m)
    assert decode_slice(code, 0, m) == slots, (n, m)
    print("filter", n, m, len(code), "bytes")
common = [rng.getrandbits(128) for _ in range(300)]
for da, db, rt in ((0, 1, False), (3, 4, False), (40, 30, False), (200, 150, False), (20, 30, True), (0, 400, False)):
    a = [rng.getrandbits(128) for _ in range(da)]
    b = [rng.getrandbits(128) for _ in range(db)]
    x = AdaptiveExchange(common + a, 300 + da, 300 + db, bytes(32), True, rt)
    y = AdaptiveExchange(common + b, 300 + db, 300 + da, bytes(32), False, rt)
    for _ in range(60):
        for p in x.outgoing(): y.receive(p)
        if x.done and y.done: break
        for p in y.outgoing(): x.receive(p)
        if x.done and y.done: break
    assert sorted(x.candidates) == sorted(a) and sorted(y.candidates) == sorted(b), (da, db, y.log)
    print("exchange", da, db, rt, y.log)
