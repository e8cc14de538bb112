#!/usr/bin/python3
"""Checks the Python peer against the real replica.

ROCKSYNC_INTEROP_REPLICA is the program of replica.cc.

    interop_test.py [MODE...] [here|there]

    Modes: bloom bytes roundtrips (default: bloom bytes); who dials: default both.
    batches: only sets that the replica cannot compare at once.

Each case runs twice: Python dials, and Python listens (the replica's SyncNow).
After each sync: contents equal by scan, Python's digests equal, and a SyncNow of
the replica to Python returns OK with nothing left to ship.
"""
from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Callable

from elements import Version
from peer import Peer
from session import Mode, Result
from store import Store

REPLICA = os.environ["ROCKSYNC_INTEROP_REPLICA"]
SECRET = bytes(range(1, 33))
CLUSTER = b"interop"
TIMEOUT = 120.0


class Replica:
    """The real replica, a process driven by lines."""

    def __init__(self, mode: str, session_bytes: int) -> None:
        self.directory = tempfile.mkdtemp(prefix="interop")
        self.errors = open(os.path.join(self.directory, "stderr"), "w+")
        self.process = subprocess.Popen(
            [REPLICA, os.path.join(self.directory, "db"), CLUSTER.decode(), SECRET.hex(),
             mode, "0.5", str(session_bytes)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)
        self.buffer = b""
        self.address = self._line().split()[1]

    def _line(self) -> str:
        deadline = time.monotonic() + TIMEOUT
        while b"\n" not in self.buffer:
            if not select.select([self.process.stdout], [], [], deadline - time.monotonic())[0]:
                raise TimeoutError("the replica is silent")
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            if not piece:
                raise RuntimeError("the replica ended")
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode()

    def command(self, text: str) -> "tuple[str, list[str]]":
        """The last line and those before it."""
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()
        lines: list[str] = []
        while not lines or lines[-1].split()[0] not in ("ok", "error"):
            lines.append(self._line())
        return lines[-1], lines[:-1]

    def do(self, text: str) -> None:
        answer, _ = self.command(text)
        assert answer.startswith("ok"), f"{text}: {answer}"

    def put(self, key: bytes, value: bytes) -> None:
        self.do(f"put {key.hex() or '-'} {value.hex() or '-'}")

    def delete(self, key: bytes) -> None:
        self.do(f"del {key.hex()}")

    def scan(self) -> "list[tuple[bytes, bytes]]":
        def text(word: str) -> bytes:
            return b"" if word == "-" else bytes.fromhex(word)
        answer, lines = self.command("scan")
        assert answer.startswith("ok")
        return [(text(a), text(b)) for _, a, b in (line.split() for line in lines)]

    def stderr(self) -> str:
        self.errors.seek(0)
        return self.errors.read()

    def close(self) -> None:
        try:
            answer, _ = self.command("quit")
            assert answer.startswith("ok"), answer
            self.process.wait(TIMEOUT)
        finally:
            self.process.kill()
            self.process.wait()
            self.errors.close()
            shutil.rmtree(self.directory)


class Pairing:
    """A replica and a Python peer, and one way to sync them."""

    def __init__(self, mode: str, python_dials: bool, session_bytes: int = 64 << 20) -> None:
        self.replica = Replica(mode, session_bytes)
        self.store = Store(SECRET)
        self.peer = Peer(self.store, CLUSTER, SECRET,
                         Mode(rate=0.5 if mode == "bloom" else None,
                              round_trips=mode == "roundtrips"), TIMEOUT)
        self.peer.trace = []
        self.address = self.peer.listen()
        self.python_dials = python_dials

    def sync(self) -> Result:
        self.kinds()
        if self.python_dials:
            return self.peer.sync(self.replica.address)
        return self.real_sync()

    def kinds(self) -> None:
        """Shows what the adaptive exchanges received, if VERBOSE is set."""
        self.messages = [t[0] + t[2:4] for t in self.peer.trace if t[0] in "<>"]
        for line in self.peer.trace:
            if line.startswith("exchange") and os.environ.get("VERBOSE"):
                print("       ", line)
        self.peer.trace.clear()

    def real_sync(self) -> Result:
        """The replica's own SyncNow has to return OK."""
        before = len(self.peer.accepted)
        self.replica.do(f"sync {self.address}")
        for _ in range(100):
            if len(self.peer.accepted) > before:
                break
            time.sleep(0.05)
        assert not self.peer.errors, self.peer.errors
        return self.peer.accepted[-1]

    def check(self, name: str) -> None:
        result = self.sync()
        assert result.equal and result.digest == self.store.digest(), result
        mine, theirs = self.store.scan(), self.replica.scan()
        assert mine == theirs, f"{name}: {len(mine)} pairs here, {len(theirs)} there"
        proof = self.real_sync()
        assert proof.equal and proof.rounds == 0, proof
        print(f"    {name}: {len(mine)} pairs, {result.digest.count} elements, "
              f"{result.rounds} rounds, {result.exchanges} exchanges", flush=True)

    def close(self) -> None:
        self.kinds()
        self.peer.stop()
        self.replica.close()


def tie(p: Pairing, value: bytes) -> None:
    """Another content at one version, as after damage; the next sync resolves it."""
    at = Version(p.store.first_clock, p.store.replica_id)
    p.store.pairs[b"default", b"tie"] = p.store.hasher.pair(b"default", b"tie", at, value)
    p.check(f"a tie, {value.decode()}")


def name(i: int) -> bytes:
    return b"key%05d" % i


def run_cases(p: Pairing) -> None:
    store, replica = p.store, p.replica

    p.check("empty and empty")

    for i in range(20):
        store.put(name(i), b"python %d" % i)
    p.check("only here")

    for i in range(100, 120):
        replica.put(name(i), b"real %d" % i)
    p.check("only there, and common")

    for i in range(200, 230):
        store.put(name(i), b"python")
        replica.put(name(i + 100), b"real")
    store.put(b"", b"the empty key")
    replica.put(b"empty value", b"")
    store.put(b"empty value 2", b"")
    p.check("both")

    for i in range(0, 10):
        store.put(name(i), b"python first")
        time.sleep(0.003)
        replica.put(name(i), b"real wins %d" % i)
    for i in range(10, 20):
        replica.put(name(i), b"real first")
        time.sleep(0.003)
        store.put(name(i), b"python wins %d" % i)
    p.check("overwrites, the later version wins")
    assert dict(store.scan())[name(3)] == b"real wins 3"
    assert dict(store.scan())[name(13)] == b"python wins 13"

    for i in range(100, 105):
        store.delete(name(i))
    for i in range(105, 110):
        replica.delete(name(i))
    for i in range(110, 115):
        store.delete(name(i))
        time.sleep(0.003)
        replica.put(name(i), b"real again")
    for i in range(115, 120):
        replica.put(name(i), b"deleted later")
        time.sleep(0.003)
        store.delete(name(i))
    store.delete(b"never was here")
    replica.delete(b"never was there")
    p.check("deletes both ways")
    assert name(101) not in dict(replica.scan()) and name(106) not in dict(store.scan())
    assert dict(store.scan())[name(112)] == b"real again"
    assert name(117) not in dict(replica.scan())

    for i in range(3):
        store.put(b"large %d" % i, os.urandom(700_000))
        replica.put(b"large there %d" % i, os.urandom(20_000))
    replica.do(f"many {b'big'.hex()} 0 2 900000")
    store.put(b"larger", os.urandom(3_500_000))
    replica.put(b"larger there", os.urandom(50_000))
    p.check("large values, in chunks")
    for value in (b"one", b"two", b"three"):
        tie(p, value)
    p.check("one version, two contents: the greater element")

    replica.do(f"many {b'm'.hex()} 0 3000 30")
    p.check("many, only there")
    for i in range(2000):
        store.put(b"n%08d" % i, b"x" * (i % 50))
    p.check("many, only here")
    replica.do(f"many {b'm'.hex()} 0 300 40")
    time.sleep(0.003)
    for i in range(300):
        store.put(b"n%08d" % i, b"y")
        store.put(b"m%08d" % (i + 200), b"z")
    p.check("many, both ways, overwrites")
    replica.do(f"many {b'one'.hex()} 0 1 30")
    p.check("one of many")


def run_empty_start(mode: str, python_dials: bool) -> None:
    """First sync into an empty side: pairs without offers."""
    for here in (True, False):
        p = Pairing(mode, python_dials)
        try:
            if here:
                for i in range(50):
                    p.store.put(name(i), b"v%d" % i)
                p.store.put(b"large", os.urandom(700_000))
                p.store.delete(name(3))
            else:
                p.replica.do(f"many {b'k'.hex()} 0 50 10")
                p.replica.do(f"many {b'big'.hex()} 0 2 700000")
                p.replica.delete(b"k00000001")
            p.check(f"all is {'here' if here else 'there'}, the other is empty")
        finally:
            p.close()


def run_batches(mode: str, python_dials: bool) -> None:
    """Sets that take the replica, of little memory, several batches of leaves."""
    p = Pairing(mode, python_dials, session_bytes=4 << 20)

    def cases(p: Pairing) -> None:
        p.replica.do(f"many {b'm'.hex()} 0 43000 8")
        p.check("large, only there")
        for i in range(20):
            p.store.put(b"n%08d" % i, b"python")
            p.store.put(b"m%08d" % (7 * i), b"python")
            p.store.delete(b"m%08d" % (30000 + i))
        p.replica.do(f"many {b'o'.hex()} 0 20 8")
        p.replica.delete(b"m00040000")
        p.check("large, some changes on both sides")
    guarded(p, cases)
    p = Pairing(mode, python_dials, session_bytes=4 << 20)

    def only_here(p: Pairing) -> None:
        for i in range(43000):
            p.store.put(b"n%08d" % i, b"python")
        p.check("large, only here")
    guarded(p, only_here)


def guarded(p: Pairing, case: Callable[[Pairing], None]) -> None:
    try:
        case(p)
    except BaseException:
        print("\n".join(t[:160] for t in p.peer.trace[-40:]))
        print("errors:", p.peer.errors, p.replica.stderr()[-2000:])
        raise
    finally:
        p.close()


def main() -> int:
    ways = [w for w in ('here', 'there') if w in sys.argv] or ['here', 'there']
    batches = "batches" in sys.argv
    modes = [a for a in sys.argv[1:] if a not in ways + ["batches"]] or ["bloom", "bytes"]
    failed = 0
    for mode in modes:
        for python_dials in [w == 'here' for w in ways]:
            print(f"mode {mode}, {'Python' if python_dials else 'the replica'} dials", flush=True)
            try:
                if batches:
                    run_batches(mode, python_dials)
                else:
                    run_empty_start(mode, python_dials)
                    guarded(Pairing(mode, python_dials), run_cases)
            except Exception as e:
                failed += 1
                import traceback
                traceback.print_exc()
                print(f"    FAILED: {e!r}")
    print("failed" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
