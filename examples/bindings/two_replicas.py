"""Two replicas of a database, which are made equal: python3 two_replicas.py"""
import rocksync

SECRET = bytes([42] * 32)  # yours: random, and the same on all replicas

with rocksync.open("a", cluster="orders", secret=SECRET) as a, rocksync.open("b", cluster="orders", secret=SECRET) as b:
    a[b"from a"], b[b"from b"] = b"1", b"2"
    with a.replicate(certificates="trial", listen="127.0.0.1:0") as of_a, b.replicate(certificates="trial") as of_b:
        of_b.sync(of_a.listen_address)
        print("equal:", of_b.verify(of_a.listen_address).equal, dict(a.items()) == dict(b.items()), len(b))
