"""The Python package: dict-like access, replication, verification, and what
happens when it is used wrongly. usage: python_test.py"""

import contextlib
import copy
import ctypes
import functools
import itertools
import os
import pickle
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
from unittest import mock

import rocksync

SECRET = bytes([7] * 32)


def wait_for_changes(feed, said):
    """Appends to `said` what came, or why nothing will."""
    try:
        said.append(feed.next(timeout=100000))
    except rocksync.Error as error:
        said.append(str(error))


def signalled():
    os.kill(os.getpid(), signal.SIGINT)


def at_step(number, handler, call):
    """Whether `call` came to that step of the package's code, before which
    `handler` ran. That either finds the database closed is no error."""
    step = 0

    def trace(frame, event, _):
        nonlocal step
        if os.path.dirname(rocksync.__file__) not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            step += 1
            if step == number + 1:
                try:
                    handler()
                except rocksync.Error as error:
                    if "closed" not in str(error):
                        raise
        return trace

    sys.settrace(trace)
    try:
        call()
    except rocksync.Error as error:
        if "closed" not in str(error):
            raise
    finally:
        sys.settrace(None)
    return step > number


def lost_interrupt():
    """As one that comes between C and the first line of a callback."""
    sys.unraisablehook(types.SimpleNamespace(exc_value=KeyboardInterrupt(), err_msg=None))


class DatabaseTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def path(self, name):
        return os.path.join(self.directory.name, name)

    @contextlib.contextmanager
    def hooked(self, hook):
        """Databases a and b, of which b has the hook, and a function that makes a
        replicator of b: its sync with the address that it is given calls it."""
        trial = self.path("trial")
        with self.open("a") as a, self.open("b", apply_hook=hook) as b:
            a[b"key"] = b"theirs"
            with a.replicate(certificates=trial, listen="127.0.0.1:0", interval=0) as of_a:
                yield b, of_a.listen_address, functools.partial(b.replicate, certificates=trial, interval=0)

    def open(self, name="a", **options):
        return rocksync.open(self.path(name), cluster="test", secret=SECRET, **options)

    def test_is_a_dict_of_bytes(self):
        with self.open() as db:
            db[b"b"], db[b"a"], db[b"\0zero\0"] = b"2", b"1", b"\0\0"
            self.assertEqual(db[b"\0zero\0"], b"\0\0")
            self.assertIn(b"a", db)
            self.assertNotIn(b"c", db)
            self.assertIsNone(db.get(b"c"))
            self.assertEqual(list(db), [b"\0zero\0", b"a", b"b"])
            self.assertEqual(list(db.scan(b"a", b"b")), [(b"a", b"1")])
            del db[b"a"]
            with self.assertRaises(KeyError):
                db[b"a"]
            db.write({b"x": b"", b"y": b"3"}, deletes=[b"b"])
            self.assertEqual(dict(db.items()), {b"\0zero\0": b"\0\0", b"x": b"", b"y": b"3"})
            self.assertEqual(len(db), 3)
        with self.open() as db:
            self.assertEqual(db[b"y"], b"3")

    def test_replicas_become_equal(self):
        with self.open("a") as a, self.open("b") as b:
            self.assertNotEqual(a.replica_id, b.replica_id)
            a[b"of a"], b[b"of b"] = b"1", b"2"
            trial = self.path("trial")
            with a.replicate(certificates=trial, listen="127.0.0.1:0", interval=0) as of_a:
                with b.replicate(certificates=trial, interval=0) as of_b:
                    peer = of_a.listen_address
                    found = of_b.verify(peer, wait=0)
                    self.assertFalse(found.equal)
                    self.assertEqual(sorted(found.differences),
                                     [("missing_here", "default", b"of a"), ("missing_there", "default", b"of b")])
                    of_b.sync(peer)
                    self.assertTrue(of_b.verify(peer).equal)
                    self.assertEqual(dict(a.items()), dict(b.items()))
                    of_b.scrub()
                    self.assertEqual(of_b.stats["pairs_applied"], 1)
                    self.assertEqual(of_b.stats["families"], ["default"])
                    of_b.set_peers([peer])
                    self.assertEqual([p["address"] for p in of_b.stats["peers"]], [peer])
                    with self.assertRaisesRegex(rocksync.Error, "nowhere"):
                        of_b.set_peers([peer, "nowhere"])
                    of_b.set_peers([])
                    of_b.pause()
                    with self.assertRaisesRegex(rocksync.Error, "paused"):
                        of_b.sync(peer)
                    of_b.resume()
                    with self.assertRaisesRegex(rocksync.Error, "close them first"):
                        b.close()
            with self.assertRaisesRegex(rocksync.Error, "not both"):
                with a.replicate(certificates=trial, ca="ca.pem", listen="127.0.0.1:0"):
                    pass
            a.set_members(1, [a.replica_id, b.replica_id])
            a.collect_tombstones()
            for wrong in ([-1], [0], [1 << 64], [a.replica_id + (1 << 64)]):
                with self.assertRaisesRegex(ValueError, "replica id"):
                    a.set_members(2, [a.replica_id, *wrong])
            with self.assertRaisesRegex(ValueError, "epoch"):
                a.set_members((1 << 64) + 2, [a.replica_id])
            self.assertTrue(a.handle and a.rocksdb)

    def test_update_key_holds_the_key(self):
        with self.open() as db:
            db[b"n"] = b"0"

            def count():
                for _ in range(200):
                    db.update_key(b"n", lambda value: b"%d" % (int(value) + 1))

            threads = [threading.Thread(target=count) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(db[b"n"], b"800")
            self.assertEqual(db.update_keys([b"n", b"new"], lambda values: [None, values[0]]), [None, b"800"])
            self.assertEqual(dict(db), {b"new": b"800"})
            for wrong, expected in ((lambda value: 1 // 0, ZeroDivisionError), (lambda value: "text", TypeError)):
                with self.assertRaises(expected):
                    db.update_key(b"new", wrong)
            with self.assertRaisesRegex(ValueError, "1 values for 2 keys"):
                db.update_keys([b"a", b"b"], lambda values: [b""])
            with self.assertRaisesRegex(rocksync.Error, "twice"):
                db.update_keys([b"a", b"a"], lambda values: values)
            self.assertEqual(dict(db), {b"new": b"800"})

    def test_changes_and_sessions_are_told(self):
        changes, sessions = [], []
        trial = self.path("trial")
        with self.open("a") as a, self.open("b", apply_hook=changes.extend) as b:
            a[b"key"], a[b"gone"] = b"value", b"1"
            del a[b"gone"]
            with a.replicate(certificates=trial, listen="127.0.0.1:0", interval=0, stream=False, zone="x") as of_a:
                with b.replicate(certificates=trial, interval=0, progress=sessions.append) as of_b:
                    of_b.sync(of_a.listen_address)
                    self.assertEqual(of_b.verify(of_a.listen_address).stats["elements"], 2)
            told = {change.key: change for change in changes}
            self.assertEqual(set(told), {b"key", b"gone"})
            self.assertEqual(told[b"key"][:3], ("default", b"key", b"value"))
            self.assertEqual(told[b"key"].replica_id, a.replica_id)
            self.assertFalse(told[b"key"].replaces)
            self.assertIsNone(told[b"gone"].value)
            self.assertTrue(sessions[-1]["finished"] and sessions[-1]["proven_equal"])
            self.assertEqual(b.index_build_percent, 100)

    def test_a_feed_tells_what_peers_change(self):
        trial = self.path("trial")
        a, b = self.open("a"), self.open("b")
        with self.assertRaisesRegex(rocksync.Error, "at least 4 KiB"):
            b.subscribe(buffer_bytes=1)
        feed, small = b.subscribe(), b.subscribe(buffer_bytes=4096)
        self.assertEqual(feed.next(timeout=0), ([], 0))
        a[b"key"], a[b"gone"], b[b"mine"] = b"value", b"1", b"not told"
        del a[b"gone"]
        with a.replicate(certificates=trial, listen="127.0.0.1:0", interval=0) as of_a:
            with b.replicate(certificates=trial, interval=0) as of_b:
                of_b.sync(of_a.listen_address)
                changes, missed = feed.next()
                self.assertEqual(sorted((each.family, each.key, each.deleted, each.replaces) for each in changes),
                                 [("default", b"gone", True, False), ("default", b"key", False, False)])
                self.assertEqual(([each.replica_id for each in changes], missed), ([a.replica_id] * 2, 0))
                self.assertGreater(changes[0].time_ms, 0)
                self.assertEqual({each.source_id for each in changes}, {a.replica_id})
                first = next(each.time_ms for each in changes if each.key == b"key"), a.replica_id
                a[b"key"] = b"later"
                a.write({b"%04d" % i: b"" for i in range(1000)})
                of_b.sync(of_a.listen_address)
        told = missed = 0
        while told + missed < 1003:
            changes, more = small.next()
            told, missed = told + len(changes), missed + more
        self.assertGreater(missed, 0)
        self.assertEqual(told + missed, 1003)
        b.close()
        a.close()
        # What came before the database was closed is told after it.
        changes, missed = feed.next()
        self.assertEqual((len(changes), missed), (1001, 0))
        self.assertEqual([(each.replaces, each.replaced_deleted, each.replaced_time_ms, each.replaced_replica_id)
                          for each in changes if each.key == b"key"], [(True, False, *first)])
        with self.assertRaisesRegex(rocksync.Error, "aborted"):
            feed.next(timeout=60)
        with self.assertRaisesRegex(rocksync.Error, "the database is closed"):
            b.subscribe()
        for each in (feed, small):
            each.close()
            each.close()
        with self.assertRaisesRegex(rocksync.Error, "the change feed is closed"):
            feed.next()

    def test_a_feed_that_waits_ends_with_its_database(self):
        db = self.open()
        said = []
        with db.subscribe() as feed:
            waiting = threading.Thread(target=wait_for_changes, args=(feed, said))
            waiting.start()
            db.close()
            waiting.join()
        self.assertRegex(said[0], "aborted")

    def test_calls_that_wait_for_a_feed_end_as_it_is_closed(self):
        said = []
        with self.open() as db:
            feed = db.subscribe()
            waiting = [threading.Thread(target=wait_for_changes, args=(feed, said)) for _ in range(5)]
            for each in waiting:
                each.start()
            feed.close()
            for each in waiting:
                each.join()
        self.assertEqual(said, ["the change feed is closed"] * 5)

    def test_a_call_waits_no_longer_behind_another(self):
        with self.open() as db, db.subscribe() as feed:
            said = []
            waiting = threading.Thread(target=wait_for_changes, args=(feed, said))
            waiting.start()
            # The other one comes first to the feed, sooner or later.
            for timeout in [0, 0.001] * 100:
                self.assertEqual(feed.next(timeout=timeout), ([], 0))
            feed.close()
            waiting.join()

    def test_a_signal_ends_a_call_that_waits_for_a_feed(self):
        with self.open() as db, db.subscribe() as feed:
            interrupt = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
            with self.assertRaises(KeyboardInterrupt):
                interrupt.start()
                feed.next(timeout=100000)

    def test_clone(self):
        trial, stages = self.path("trial"), []
        with self.open("a") as a, a.replicate(certificates=trial, listen="127.0.0.1:0", interval=0) as of_a:
            a[b"key"] = b"value"
            given = {"source": of_a.listen_address, "cluster": "test", "secret": SECRET, "certificates": trial}
            with self.assertRaisesRegex(rocksync.Error, "aborted"):
                rocksync.clone(self.path("b"), progress=lambda *_: False, **given)
            with self.assertRaises(ZeroDivisionError):
                rocksync.clone(self.path("b"), progress=lambda *_: 1 // 0, **given)
            # All is copied, for the id that this call chose.
            with self.assertRaisesRegex(rocksync.Error, "aborted"):
                rocksync.clone(self.path("b"), progress=lambda stage, *_: stage != "opening", **given)
            self.assertIsNone(rocksync.clone(self.path("b"), progress=lambda *told: stages.append(told), **given))
            self.assertEqual(stages[0][0], "asking")
            self.assertEqual(stages[-1][0], "proving")
            with self.open("b", create=False) as b:
                self.assertEqual(dict(b), dict(a))
                self.assertNotEqual(b.replica_id, a.replica_id)
            # There the call cannot fail any more.
            with self.assertRaises(StopIteration):
                rocksync.clone(self.path("c"), progress=lambda stage, *_: stage != "proving" or next(iter(())), **given)
            with self.open("c", create=False) as c:
                self.assertEqual(dict(c), dict(a))

    def test_a_signal_ends_a_clone_of_a_silent_peer(self):
        for interrupt in signalled, lost_interrupt:
            with self.subTest(interrupt=interrupt.__name__), socket.create_server(("127.0.0.1", 0)) as silent:
                asked = []

                def progress(stage, *_):
                    asked.append(stage)
                    if len(asked) == 3:
                        interrupt()

                with self.assertRaises(KeyboardInterrupt):
                    rocksync.clone(self.path("b"), source="127.0.0.1:%d" % silent.getsockname()[1], cluster="test",
                                   secret=SECRET, certificates=self.path("trial"), progress=progress)
                self.assertLess(len(asked), 50, "the peer's silence has ended it")

    def test_arguments_of_another_kind(self):
        trial = self.path("trial")
        with self.open("a") as a:
            with self.assertRaisesRegex(TypeError, r"addresses are a list, such as \['127.0.0.1:1'\]"):
                a.replicate(certificates=trial, peers="127.0.0.1:1")
            with self.assertRaisesRegex(TypeError, "progress is to be called, and is 5"):
                a.replicate(certificates=trial, progress=5)
            with a.replicate(certificates=trial, interval=0) as replicator:
                with self.assertRaisesRegex(TypeError, "addresses are a list"):
                    replicator.set_peers("127.0.0.1:1")
            with self.assertRaisesRegex(TypeError, "listen is a string, bytes or a path, not None"):
                a.replicate(certificates=trial, listen=None)
            with self.assertRaisesRegex(TypeError, "interval is a number of seconds, not 'x'"):
                a.replicate(interval="x", certificates=trial)
            with self.assertRaisesRegex(TypeError, "stream is True or False, not 'no'"):
                a.replicate(certificates=trial, stream="no")
        with self.assertRaisesRegex(TypeError, "apply_hook is to be called"):
            self.open("b", apply_hook="print")
        with self.assertRaisesRegex(ValueError, "path is empty"):
            rocksync.open("", cluster="test", secret=SECRET)
        for of_path in (functools.partial(rocksync.clone, source="127.0.0.1:1", cluster="test", secret=SECRET,
                                          certificates=trial), rocksync.detach):
            with self.assertRaisesRegex(ValueError, "path is empty; give the directory of the database"):
                of_path("")
        with self.assertRaisesRegex(rocksync.Error, "directory of trial certificates is empty: give"):
            rocksync.clone(self.path("b"), source="127.0.0.1:1", cluster="test", secret=SECRET, certificates="")
        for name, wrong in (("cluster", None), ("secret", 5), ("create", "no")):
            with self.assertRaisesRegex(TypeError, f"{name} is .*, not {wrong!r}"):
                rocksync.open(self.path("b"), **{"cluster": "test", "secret": SECRET, name: wrong})
        with self.assertRaisesRegex(TypeError, "progress is to be called"):
            rocksync.clone(self.path("c"), source="127.0.0.1:1", cluster="test", secret=SECRET, certificates=trial, progress=5)

    def test_resync(self):
        trial, stages = self.path("trial"), []
        with self.open("b") as b:
            b.wait_for_index_build()
            b[b"of b"] = b"value"
            id = b.replica_id
        with self.open("a") as a, a.replicate(certificates=trial, listen="127.0.0.1:0", interval=0) as of_a:
            for i in range(3000):
                a[b"%d" % i] = b"value"
            given = {"source": of_a.listen_address, "cluster": "test", "secret": SECRET, "certificates": trial}
            with self.assertRaises(ZeroDivisionError):
                rocksync.resync(self.path("b"), progress=lambda *_: 1 // 0, **given)
            with self.assertRaisesRegex(rocksync.Error, "create_if_missing"):
                rocksync.resync(self.path("none"), **given)
            # In most of them the call cannot fail any more.
            for stage in ("carrying over", "opening", "proving"):
                with self.open(stage) as other:
                    other[b"of it"] = b"value"
                with self.assertRaises(ZeroDivisionError, msg=stage):
                    rocksync.resync(self.path(stage), progress=lambda at, *_: at != stage or 1 // 0, **given)
                with self.open(stage, create=False) as other:
                    self.assertEqual(other[b"of it"], b"value")
            result = rocksync.resync(self.path("b"), progress=lambda *told: stages.append(told), **given)
            self.assertEqual(result, rocksync.Resynced(carried_over=1, not_proven=None))
            self.assertIn("carrying over", [stage for stage, _, _ in stages])
            with self.open("b", create=False) as b:
                self.assertEqual(dict(b), dict(a))
                self.assertEqual(b[b"of b"], b"value")
                self.assertEqual(b.replica_id, id)
            # Nothing is to come.
            self.assertEqual(rocksync.resync(self.path("b"), **given), (0, None))

    def test_connections_are_bounded(self):
        trial = self.path("trial")
        with self.open("a") as a, self.open("b") as b, self.open("c") as c:
            with self.assertRaisesRegex(rocksync.Error, "max_accepted must be above 0"):
                a.replicate(certificates=trial, max_accepted=0)
            with self.assertRaisesRegex(ValueError, "max_accepted"):
                a.replicate(certificates=trial, max_accepted=-1)
            with a.replicate(certificates=trial, listen="127.0.0.1:0", interval=0, max_accepted=1) as of_a:
                with b.replicate(certificates=trial, interval=0) as of_b, c.replicate(certificates=trial, interval=0) as of_c:
                    of_b.sync(of_a.listen_address)  # which keeps its connection
                    with self.assertRaisesRegex(rocksync.Error, "all 1 connections are taken; raise max_accepted"):
                        of_c.sync(of_a.listen_address)

    def test_of_many_peers_some(self):
        trial = self.path("trial")
        of_all = dict(certificates=trial, listen="127.0.0.1:0")
        with self.open("a") as a, self.open("b") as b, self.open("c") as c:
            with a.replicate(**of_all) as of_a, b.replicate(**of_all) as of_b:
                peers = [of_a.listen_address, of_b.listen_address]

                def of_each(replicator, figure):
                    return sorted(map(figure, replicator.stats["peers"]))

                with c.replicate(certificates=trial, peers=peers, interval=0.05, max_stream_peers=1) as of_c:
                    def streams():
                        return of_each(of_c, lambda peer: peer["stream"]["open"])

                    while min(of_each(of_c, lambda peer: peer["sessions"])) < 3 or streams() == [0, 0]:
                        time.sleep(0.01)
                    self.assertEqual(streams(), [0, 1])
                with c.replicate(certificates=trial, interval=3600, stream=False, max_peers_per_interval=1) as of_c:
                    of_c.set_peers(peers)
                    while min(of_each(of_c, lambda peer: peer["last_proven_equal_ms"])) == 0:
                        time.sleep(0.01)
                    of_c.set_peers(peers + ["127.0.0.1:1"])  # whose turn comes within the hour
                    for _ in range(50):
                        of_c.sync(peers[0])
                    self.assertEqual(of_c.stats["sessions_failed"], 0)

    def test_a_clone_may_be_refused(self):
        trial = self.path("trial")
        with self.open("a") as a, a.replicate(certificates=trial, listen="127.0.0.1:0", allow_clones=False) as of_a:
            with self.assertRaisesRegex(rocksync.Error, "allow_clones is false"):
                rocksync.clone(self.path("b"), source=of_a.listen_address, cluster="test", secret=SECRET, certificates=trial)
            self.assertEqual(of_a.stats["connections_refused"], 1)

    def test_secret_may_be_a_file(self):
        with open(self.path("secret"), "wb") as file:
            file.write(SECRET)
        with rocksync.open(self.path("a"), cluster="test", secret=self.path("secret")) as db:
            db.wait_for_index_build()
        with self.assertRaisesRegex(rocksync.Error, "32 bytes, not 5"):
            rocksync.open(self.path("a"), cluster="test", secret=b"short")
        with self.assertRaisesRegex(rocksync.Error, "create_if_missing"):
            self.open("none", create=False)

    def test_closed_is_closed(self):
        db = self.open()
        db[b"a"] = db[b"b"] = b""
        begun = iter(db.items())
        next(begun)
        db.close()
        db.close()
        with self.assertRaisesRegex(rocksync.Error, "the database is closed"), db:
            self.fail("it is entered")
        with self.assertRaisesRegex(rocksync.Error, "closed"):
            next(begun)
        with self.assertRaisesRegex(rocksync.Error, "closed"):
            db[b"a"]
        with self.assertRaisesRegex(rocksync.Error, "closed"):
            db.replicate(certificates=self.path("trial"))
        with self.open() as db:
            replicator = db.replicate(certificates=self.path("trial"))
            replicator.close()
            replicator.close()
            with self.assertRaisesRegex(rocksync.Error, "the replicator is closed"), replicator:
                self.fail("it is entered")
            with self.assertRaisesRegex(rocksync.Error, "closed"):
                replicator.sync("127.0.0.1:1")
            with self.assertRaisesRegex(rocksync.Error, "certificate"):
                db.replicate()
            with self.assertRaisesRegex(TypeError, "not str"):
                db["text"]

    def test_a_program_that_closes_nothing_ends_well(self):
        program = """
import rocksync, sys
def open(name):
    return rocksync.open(sys.argv[1] + name, cluster="test", secret=bytes([7] * 32), apply_hook=lambda changes: None)
a, b = open("a"), open("b")
trial = sys.argv[1] + "trial"
of_a = a.replicate(certificates=trial, listen="127.0.0.1:0", progress=lambda session: None)
of_b = b.replicate(certificates=trial, peers=[of_a.listen_address], interval=0.01, progress=lambda session: None)
of_b = None
for i in range(1000):
    a[b"%d" % i] = b"value"
"""
        done = subprocess.run([sys.executable, "-c", program, self.path("")], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        with self.open() as db:
            self.assertEqual(len(db), 1000)

    def test_signals_wait_while_the_end_of_a_program_closes(self):
        program = """
import atexit, signal, sys

def alarm(number, frame):
    raise TimeoutError

def silence():
    while True:
        try:
            return signal.setitimer(signal.ITIMER_REAL, 0)
        except TimeoutError:
            pass

atexit.register(silence)  # the last one that runs
import rocksync
db = rocksync.open(sys.argv[1] + "a", cluster="test", secret=bytes([7] * 32))
replicator = db.replicate(certificates=sys.argv[1] + "trial", listen="127.0.0.1:0")
for i in range(1000):
    db[b"%d" % i] = b"value"
signal.signal(signal.SIGALRM, alarm)
atexit.register(signal.setitimer, signal.ITIMER_REAL, float(sys.argv[2]))  # the first one
"""
        ended = [subprocess.run([sys.executable, "-c", program, self.path(""), str(ms / 1000)], capture_output=True, text=True,
                                timeout=60) for ms in (0.1, 0.2, 0.5, 1, 1.5, 2, 3, 4, 6, 8, 12)]
        self.assertEqual([done.returncode for done in ended if done.returncode < 0], [])
        # Handled once all was closed.
        self.assertIn("TimeoutError", ended[0].stderr)
        with self.open() as db:
            self.assertEqual(len(db), 1000)

    def test_a_program_may_end_while_a_daemon_thread_opens(self):
        program = """
import sys, threading, time
import rocksync

def open():
    while True:
        rocksync.open(sys.argv[1], cluster="test", secret=bytes([7] * 32)).close()

threading.Thread(target=open, daemon=True).start()
time.sleep(float(sys.argv[2]))
"""
        ended = [subprocess.run([sys.executable, "-c", program, self.path("a"), str(0.1 + i / 1000)], capture_output=True,
                                text=True, timeout=60) for i in range(10)]
        self.assertEqual([done.returncode for done in ended], [0] * 10, ended)

    def test_a_second_signal_ends_a_program_that_waits_at_its_end(self):
        program = """
import os, signal, sys, threading, time
import rocksync
begun = threading.Event()

def wait(*_):
    begun.set()
    time.sleep(1000)

def open(name, **given):
    return rocksync.open(sys.argv[1] + name, cluster="test", secret=bytes([7] * 32), **given)

if sys.argv[2] == "update":
    db = open("a")
    threading.Thread(target=db.update_key, args=(b"key", wait), daemon=True).start()
else:
    trial = sys.argv[1] + "trial"
    a, b = open("b", apply_hook=wait), open("c")
    of_a = a.replicate(certificates=trial, listen="127.0.0.1:0")
    b[b"key"] = b"value"
    of_b = b.replicate(certificates=trial, peers=[of_a.listen_address], interval=0.01)
begun.wait()
parent = os.getpid()
if os.fork() == 0:
    for _ in range(2):
        time.sleep(0.5)
        os.kill(parent, signal.SIGINT)
    os._exit(0)
"""
        for what in "update", "hook":
            done = subprocess.run([sys.executable, "-c", program, self.path(""), what], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 128 + signal.SIGINT, (what, done.stderr))
            self.assertIn("a second signal ends the process", done.stderr)

    def test_no_iteration_outlives_its_reader(self):
        with self.open() as db:
            db[b"a"] = db[b"b"] = b""
            for begin in (db.scan, db.__iter__, lambda: iter(db.values())):
                for _ in range(3):
                    begin()  # and nobody asks for a pair
                next(iter(begin()))
                ended = begin()
                list(ended)
                other = db.scan()  # perhaps where the ended one was
                del ended
                self.assertEqual(len(list(other)), 2)
                self.assertEqual(db._iterations, set())

    def test_a_signal_at_any_step_leaves_nothing_under_way(self):
        class Interrupt(BaseException):
            pass

        armed = False

        def interrupt(*_):
            if armed:
                raise Interrupt

        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, interrupt))
        # In finalizers Python passes over them, and tells.
        self.addCleanup(setattr, sys, "unraisablehook", sys.unraisablehook)
        sys.unraisablehook = lambda _: None
        chance = random.Random(1)
        db = self.open()
        feed = db.subscribe()
        for i in range(20):
            db[b"%d" % i] = b"v"
        for call in (lambda: db.get(b"1"), lambda: [*db.scan()], lambda: next(db.scan()), lambda: feed.next(timeout=0),
                     lambda: db.update_key(b"n", lambda _: b"1"), lambda: db.write({b"m": b"2"})):
            for _ in range(150):
                try:
                    signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-5, 6e-4), 0.05)
                    armed = True
                    while True:
                        call()
                except Interrupt:
                    pass
                finally:
                    armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        for closing in (feed, db):
            for _ in range(3):
                try:
                    signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-5, 1e-3))
                    armed = True
                    closing.close()
                except Interrupt:
                    pass
                finally:
                    armed = False
            closing.close()
        with self.open() as db:
            self.assertEqual((len(db), db[b"n"], db[b"m"]), (22, b"1", b"2"))

    def repeat_until_alarm(self, seconds, call, again=0.05):
        """A time limit, whose exception is told. Python passes over one that it
        raises in a finalizer, so there is a next one."""
        armed = False

        def ring(*_):
            if armed:
                raise TimeoutError

        before = signal.signal(signal.SIGALRM, ring)
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds, again)
            armed = True
            while True:
                call()
        except TimeoutError:
            pass
        finally:
            armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def open_once_closed(self, name):
        """A close that was interrupted goes on."""
        deadline = time.monotonic() + 60
        while True:
            try:
                return self.open(name)
            except rocksync.Error as error:
                if "in this process" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def test_a_time_limit_ends_a_clone_of_a_silent_peer(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            for _ in range(3):
                asked = []
                self.repeat_until_alarm(0.3, lambda: rocksync.clone(
                    self.path("b"), source="127.0.0.1:%d" % silent.getsockname()[1], cluster="test", secret=SECRET,
                    certificates=self.path("trial"), progress=lambda *told: asked.append(told)), again=1)
                self.assertLess(len(asked), 50, "the peer's silence has ended it")

    def test_a_time_limit_ends_a_resync_of_a_silent_peer(self):
        self.open("b").close()
        with socket.create_server(("127.0.0.1", 0)) as silent:
            for again in 1, 0.01:
                began = time.monotonic()
                self.repeat_until_alarm(0.5, lambda: rocksync.resync(
                    self.path("b"), source="127.0.0.1:%d" % silent.getsockname()[1], cluster="test", secret=SECRET,
                    certificates=self.path("trial")), again=again)
                self.assertLess(time.monotonic() - began, 15, "the peer's silence has ended it")
                self.open_once_closed("b").close()

    def test_alarms_that_ring_before_each_callback_end_a_clone(self):
        # What each raises keeps the callback from saying that it is to end.
        with socket.create_server(("127.0.0.1", 0)) as silent:
            for again in 0.01, 0.003:
                began = time.monotonic()
                self.repeat_until_alarm(0.3, lambda: rocksync.clone(
                    self.path("b"), source="127.0.0.1:%d" % silent.getsockname()[1], cluster="test", secret=SECRET,
                    certificates=self.path("trial")), again=again)
                self.assertLess(time.monotonic() - began, 10, "the peer's silence has ended it")

    def test_a_close_that_is_interrupted_leaves_no_thread(self):
        class Interrupt(BaseException):
            pass

        def close(step):
            """Raises Interrupt at that place of those where Python looks for
            signals in the package and in its own `threading`; True if there
            are so many."""
            places = itertools.count()

            def profile(frame, event, _):
                ours = frame.f_code.co_filename.startswith((os.path.dirname(rocksync.__file__), threading.__file__))
                if ours and event in ("call", "c_return") and next(places) == step:
                    raise Interrupt

            try:
                sys.setprofile(profile)
                db.close()
            except Interrupt:
                return True
            finally:
                sys.setprofile(None)
            return next(places) > step

        reached, step = True, 0
        while reached:
            db = self.open()
            reached = close(step)
            db.close()
            until = time.monotonic() + 10
            while len(threading.enumerate()) > 1 and time.monotonic() < until:
                time.sleep(0.001)
            self.assertEqual(threading.enumerate(), [threading.main_thread()], f"step {step}")
            step += 1
        self.assertGreater(step, 50)

    def interrupted_twice(self, step, again, call):
        """Raises Interrupt at that place of those where Python looks for
        signals in the package, and once more as the `again`-th function of the
        package is entered after that. Returns whether there are so many places."""
        class Interrupt(BaseException):
            pass

        def ours(frame):
            return frame.f_code.co_filename.startswith(os.path.dirname(rocksync.__file__))

        places, entered, first = itertools.count(), itertools.count(1), []

        def profile(frame, event, _):
            if ours(frame) and event in ("call", "c_return") and next(places) == step:
                first.append(step)
                raise Interrupt

        # A finalizer passes over it, and tells.
        self.addCleanup(setattr, sys, "unraisablehook", sys.unraisablehook)
        sys.unraisablehook = lambda _: None

        # Python removes the function that has raised.
        def trace(frame, *_):
            if first and ours(frame) and next(entered) == again:
                raise Interrupt

        try:
            sys.settrace(trace)
            sys.setprofile(profile)
            call()
        except Interrupt:
            pass
        finally:
            sys.setprofile(None)
            sys.settrace(None)
        return bool(first)

    def test_an_open_that_is_interrupted_twice_leaves_nothing_open(self):
        self.open().close()
        for again in 1, 2, 3:
            reached, step = True, 0
            while reached:
                opened = []
                # Refused if the one before has left it open.
                reached = self.interrupted_twice(step, again, lambda: opened.append(self.open()))
                # Returned, or interrupted just before that.
                for each in opened or list(rocksync._open_databases):
                    each.close()
                step += again  # not all of them, which takes long
            self.assertGreater(step, 30)
        self.open().close()

    def test_a_start_that_is_interrupted_twice_leaves_nothing(self):
        trial = self.path("trial")
        with self.open() as db:
            db.replicate(certificates=trial, interval=0).close()
            for again in 1, 2, 3:
                reached, step = True, 0
                while reached:
                    # Refused if the one before has left it running.
                    reached = self.interrupted_twice(step, again, lambda: db.replicate(certificates=trial, interval=0))
                    for left in list(db._replicators):
                        left.close()
                    step += again
                self.assertGreater(step, 30)
            db.replicate(certificates=trial, interval=0).close()

    def test_a_time_limit_is_no_error_of_an_update(self):
        chance = random.Random(1)
        with self.open() as db:
            for _ in range(150):
                self.repeat_until_alarm(chance.uniform(1e-6, 2e-4), lambda: db.update_key(b"k", lambda _: b"1"))

    def test_a_start_that_a_signal_ends_keeps_no_transport(self):
        def held():
            return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))

        chance, trial = random.Random(1), self.path("trial")
        with self.open() as db:
            db.replicate(certificates=trial, interval=0).close()
            threads, files = held()
            for _ in range(150):
                self.repeat_until_alarm(chance.uniform(1e-4, 1e-2),
                                        lambda: db.replicate(certificates=trial, interval=0).close())
                for left in list(db._replicators):
                    left.close()
            self.assertLess(held()[0], threads + 4)
            self.assertLess(held()[1], files + 8)

    def test_a_read_that_a_signal_ends_keeps_no_value(self):
        def resident():
            with open("/proc/self/statm", encoding="ascii") as figures:
                return int(figures.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        size, chance = 8 << 20, random.Random(1)
        with self.open() as db:
            db[b"large"] = bytes(size)
            for _ in range(20):
                self.assertEqual(len(db[b"large"]), size)
            before = resident()
            for _ in range(100):
                self.repeat_until_alarm(chance.uniform(0.001, 0.006), lambda: db[b"large"])
            self.assertLess(resident() - before, 30 * size)

    def test_a_handler_at_any_step_may_use_the_database(self):
        # A signal's handler, or a finalizer that the collector of garbage runs.
        def abandon():
            next(db.scan())

        def close():
            try:
                db.close()
            except rocksync.Error as error:
                self.assertIn("by a function that one of the calls", str(error))

        calls = {
            "get": lambda: db.get(b"1"), "scan": lambda: [*db.scan()], "abandoned scan": lambda: next(db.scan()),
            "update": lambda: db.update_key(b"n", lambda _: b"1"), "feed": lambda: feed.next(timeout=0), "close": close}
        for handler in (lambda: db.get(b"1"), abandon, lambda: feed.next(timeout=0), close):
            for name, call in calls.items():
                with self.subTest(call=name):
                    stride = 149 if close in (handler, call) else 7  # each opens the database anew
                    reached, step = True, len(name)
                    while reached:
                        with self.open() as db:
                            db[b"1"] = b"v"
                            feed = db.subscribe()
                            while reached and db._db is not None:
                                reached = at_step(step, handler, call)
                                step += stride
                    self.assertGreater(step, 30)

    def test_an_interrupt_in_a_callback_is_raised(self):
        with self.open("a") as a, self.open("b") as b, \
                a.replicate(certificates=self.path("trial"), listen="127.0.0.1:0", interval=0) as listening, \
                b.replicate(certificates=self.path("trial"), interval=0) as replicator:
            for i in range(3):
                a[b"%d" % i] = b"v"

            def interrupt(*_):
                raise KeyboardInterrupt

            # As if a signal came at the callback's entry.
            seen = sys.unraisablehook
            original, rocksync.DIFFERS = rocksync.DIFFERS, lambda _: original(interrupt)
            self.addCleanup(setattr, rocksync, "DIFFERS", original)
            with self.assertRaises(KeyboardInterrupt):
                replicator.verify(listening.listen_address, wait=0)
            self.assertIs(sys.unraisablehook, seen)

    def test_nothing_is_made_where_a_database_should_be(self):
        for missing in (lambda path: self.open("typo", create=False),
                        lambda path: rocksync.resync(path, source="127.0.0.1:1", cluster="test", secret=SECRET,
                                                     certificates=self.path("trial"))):
            with self.assertRaisesRegex(rocksync.Error, "there is no database in .*typo"):
                missing(self.path("typo"))
            self.assertFalse(os.path.exists(self.path("typo")))

    def test_a_relative_path_stays_where_it_was(self):
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.directory.name)
        with rocksync.open("a", cluster="test", secret=SECRET) as db:
            os.chdir("/")
            for i in range(70):  # more than a memtable takes
                db[b"%d" % i] = bytes(1 << 20)
        with self.open("a") as db:
            self.assertEqual(len(db), 70)

    def test_views_see_one_moment(self):
        with self.open() as db:
            db.write({b"a": b"1", b"b": b"2"})
            values, items = iter(db.values()), iter(db.items())
            self.assertEqual((next(values), next(items)), (b"1", (b"a", b"1")))
            db.clear()
            self.assertEqual((list(values), list(items)), ([b"2"], [(b"b", b"2")]))
            db[b"c"] = b"3"
            self.assertEqual((len(db.items()), len(db.values())), (1, 1))
            self.assertIn(b"3", db.values())
            self.assertEqual(db.items() & {(b"c", b"3"), (b"d", b"4")}, {(b"c", b"3")})

    def test_clear_takes_a_batch_for_many_keys(self):
        with self.open() as db:
            db.write({b"%05d" % i: b"v" for i in range(2500)})
            batches = []
            with mock.patch.object(db, "write", side_effect=lambda deletes: batches.append(deletes)):
                db.clear()
            self.assertEqual([len(each) for each in batches], [1000, 1000, 500])
            db.clear()
            self.assertEqual(list(db), [])

    def test_closed_while_other_threads_call(self):
        db = self.open()
        db[b"k"] = b"v"
        replicator = db.replicate(certificates=self.path("trial"), listen="127.0.0.1:0")
        unexpected = []

        def until_closed(call):
            try:
                while True:
                    call()
            except rocksync.Error as error:
                if "closed" not in str(error):
                    unexpected.append(error)
            except BaseException as error:
                unexpected.append(error)

        def sync():
            try:
                replicator.sync("127.0.0.1:1")
            except rocksync.Error as error:
                if "closed" in str(error):
                    raise

        calls = [lambda: db[b"k"], lambda: list(db), lambda: db.update_key(b"k", lambda value: value), lambda: replicator.stats,
                 sync]
        threads = [threading.Thread(target=until_closed, args=[call]) for call in calls]
        for thread in threads:
            thread.start()
        closing = [threading.Thread(target=lambda: (replicator.close(), db.close())) for _ in range(4)]
        for thread in closing:
            thread.start()
        for thread in threads + closing:
            thread.join()
        self.assertEqual(unexpected, [])

    def test_a_refused_close_changes_nothing(self):
        db = self.open()
        db.write({b"a": b"1", b"b": b"2"})
        begun = iter(db.items())
        next(begun)
        changing, change = threading.Event(), threading.Event()

        def slow(value):
            changing.set()
            change.wait(60)
            return value

        def refused():
            with self.assertRaisesRegex(rocksync.Error, expected):
                db.close()

        modifying = threading.Thread(target=db.update_key, args=[b"c", slow])
        modifying.start()
        changing.wait(60)
        create, release = (getattr(rocksync.library, name) for name in ("rocksdb_create_snapshot", "rocksdb_release_snapshot"))
        create.restype, create.argtypes, release.argtypes = ctypes.c_void_p, [ctypes.c_void_p], [ctypes.c_void_p] * 2
        snapshot = create(db.rocksdb)
        # It does not wait for the other thread's call either.
        expected = "snapshots are held"
        refused()
        self.assertEqual(db[b"a"], b"1")
        release(db.rocksdb, snapshot)
        with db.replicate(certificates=self.path("trial")):
            expected = "close them first"
            refused()
            self.assertEqual(db[b"a"], b"1")
        change.set()
        modifying.join()
        self.assertEqual(list(begun), [(b"b", b"2")])
        again = iter(db.items())
        db.close()
        with self.assertRaisesRegex(rocksync.Error, "closed"):
            next(again)

    def test_the_end_of_a_with_closes_its_replicators(self):
        replicators = []
        with self.assertRaisesRegex(KeyError, "of the body"):
            with self.open() as db:
                replicators.append(db.replicate(certificates=self.path("trial"), listen="127.0.0.1:0"))
                raise KeyError("of the body")
        with self.assertRaisesRegex(rocksync.Error, "closed"):
            replicators[0].pause()
        with self.open() as db:
            self.assertEqual(len(db), 0)

    def test_a_function_cannot_close_what_calls_it(self):
        with self.open() as db:
            with self.assertRaisesRegex(rocksync.Error, "close of the database by a function"):
                db.update_key(b"k", lambda value: db.close())
            db[b"k"] = b"v"

    def test_a_hook_writes_nothing(self):
        refused = []

        def write(changes):
            try:
                b[changes[0].key] = b"mine"
            except rocksync.Error as error:
                refused.append(str(error))

        with self.hooked(write) as (b, address, replicate):
            with replicate() as of_b:
                of_b.sync(address)
            self.assertEqual(b[b"key"], b"theirs")
        self.assertEqual(len(refused), 1)
        self.assertIn("apply hook", refused[0])

    def test_what_a_hook_raises_is_printed_and_sync_succeeds(self):
        printed = []
        self.addCleanup(setattr, sys, "unraisablehook", sys.unraisablehook)
        sys.unraisablehook = lambda unraisable: printed.append(unraisable.exc_type)

        class Frozen(Exception):
            def __setattr__(self, name, value):
                if not name.startswith("__"):
                    raise AttributeError
                super().__setattr__(name, value)

        failed = []

        def fail(_):
            failed.append(Frozen())
            raise failed[0]

        def tell(session):
            if session["finished"] and failed:
                raise failed[0]  # which is no matter of the hook's any more

        with self.hooked(fail) as (b, address, replicate):
            with replicate() as of_b:
                of_b.sync(address)
            with replicate(progress=tell) as of_b, self.assertRaises(Frozen):
                of_b.sync(address)
            self.assertEqual(b[b"key"], b"theirs")
        self.assertEqual(printed, [Frozen])

    def test_what_a_hook_raises_on_another_thread_is_not_raised_here(self):
        entered, raised, printed = threading.Event(), threading.Event(), []
        self.addCleanup(setattr, sys, "unraisablehook", sys.unraisablehook)

        def tell(unraisable):
            printed.append(unraisable.exc_type)
            raised.set()

        sys.unraisablehook = tell

        def end(_):
            entered.wait(60)
            raise SystemExit

        def change(_):
            entered.set()
            self.assertTrue(raised.wait(60))
            return b"written"

        trial = self.path("trial")
        with self.open("a") as a, self.open("b", apply_hook=end) as b, self.open("c") as c:
            with b.replicate(certificates=trial, listen="127.0.0.1:0", interval=0) as of_b:
                with a.replicate(peers=[of_b.listen_address], certificates=trial, interval=0.1):
                    a[b"key"] = b"value"
                    c.update_key(b"k", change)
            self.assertEqual(c[b"k"], b"written")
        self.assertIn(SystemExit, printed)

    def test_a_replicator_is_not_closed_by_what_it_waits_for(self):
        refused = []

        def close(*_):
            try:
                of_b.close()
            except rocksync.Error as error:
                refused.append(str(error))

        with self.hooked(close) as (b, address, replicate), replicate() as of_b:
            of_b.sync(address)
            b.update_key(b"key", close)
            of_b.sync(address)
        self.assertEqual(len(refused), 2)
        for each in refused:
            self.assertIn("close of the replicator", each)

    def test_nothing_is_copied(self):
        with self.open() as db, db.replicate(certificates=self.path("trial")) as replicator:
            for each in (db, replicator):
                for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
                    with self.assertRaisesRegex(TypeError, "copied or pickled"):
                        duplicate(each)

    def test_a_child_of_fork_ends_well(self):
        program = """
import os, rocksync, sys
db = rocksync.open(sys.argv[1] + "a", cluster="test", secret=bytes([7] * 32))
db[b"k"] = b"v"
if sys.argv[2] == "replicator":
    replicator = db.replicate(certificates=sys.argv[1] + "trial", listen="127.0.0.1:0")
child = os.fork()
if child == 0:
    try:
        db[b"k"]
    except rocksync.Error as error:
        print(error, flush=True)
    db.close()
    sys.exit(5)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), db[b"k"])
"""
        for what in ("database", "replicator"):
            with self.subTest(what):
                done = subprocess.run([sys.executable, "-c", program, self.path(""), what], capture_output=True, text=True,
                                      timeout=60)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(done.stdout, "the database was opened by another process, before a fork\n5 b'v'\n")

    def test_a_child_of_fork_opens_nothing_after_its_parent(self):
        program = """
import os, rocksync, sys
def open(name):
    return rocksync.open(sys.argv[1] + name, cluster="test", secret=bytes([7] * 32))
def child(*names):
    pid = os.fork()
    if pid != 0:
        return print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
    try:
        for name in names:
            with open(name) as db:
                db[name.encode()] = b"v"
                print(list(db.items()), flush=True)
    except rocksync.Error as error:
        print(error, flush=True)
        sys.exit(4)
    sys.exit(5)
child("a", "b")
open("a").close()
child("b")
"""
        done = subprocess.run([sys.executable, "-c", program, self.path("")], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        said = done.stdout.splitlines()
        self.assertEqual(said[:3], ["[(b'a', b'v')]", "[(b'b', b'v')]", "5"])
        self.assertRegex(said[3], "forked from one that had opened a database.*fork before the first opening")
        self.assertEqual(said[4], "4")

    def test_nothing_is_cut(self):
        with self.assertRaisesRegex(ValueError, "zero byte"):
            self.open("a\0b")
        with self.assertRaisesRegex(ValueError, "zero byte"):
            rocksync.open(self.path("a"), cluster="te\0st", secret=SECRET)
        self.assertEqual(os.listdir(self.directory.name), [])
        with self.open() as db:
            trial = self.path("trial")
            with self.assertRaisesRegex(ValueError, "zero byte"):
                db.replicate(certificates=trial, peers=["127.0.0.1:1\0"])
            for wrong in (-1, float("nan"), float("inf")):
                with self.assertRaisesRegex(ValueError, "an interval"):
                    db.replicate(certificates=trial, interval=wrong)
            # Under a millisecond is no 0, which would be on demand.
            with db.replicate(certificates=trial, peers=["127.0.0.1:1"], interval=0.0001) as replicator:
                while replicator.stats["sessions_failed"] == 0:
                    time.sleep(0.01)

    def test_detach(self):
        self.open().close()
        rocksync.detach(self.path("a"))
        with self.assertRaisesRegex(ValueError, "zero byte"):
            rocksync.detach(self.path("a\0"))
        with self.assertRaisesRegex(rocksync.Error, "nothere is not there: give the directory of a database"):
            rocksync.detach(self.path("nothere"))

    def test_wrong_types_do_not_reach_the_library(self):
        with self.open() as db:
            for wrong in (None, 1, "text"):
                with self.assertRaisesRegex(TypeError, "are bytes"):
                    db[b"a"] = wrong
                with self.assertRaisesRegex(TypeError, "are bytes"):
                    db.write({b"a": b"1", b"b": wrong})
            self.assertNotIn(b"a", db)


if __name__ == "__main__":
    unittest.main(verbosity=2)
