"""The Python package: dict-like access, replication, verification, and what
happens when it is used wrongly. usage: python_test.py"""

import os
import tempfile
import unittest

import rocksync

SECRET = bytes([7] * 32)


class DatabaseTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def path(self, name):
        return os.path.join(self.directory.name, name)

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
                    self.assertEqual(of_b.statistics["pairs_applied"], 1)
                    of_b.pause()
                    with self.assertRaisesRegex(rocksync.Error, "paused"):
                        of_b.sync(peer)
                    of_b.resume()
                    with self.assertRaisesRegex(rocksync.Error, "close them first"):
                        b.close()
            a.set_members(1, [a.replica_id, b.replica_id])

    def test_secret_may_be_a_file(self):
        with open(self.path("secret"), "wb") as file:
            file.write(SECRET)
        with rocksync.open(self.path("a"), cluster="test", secret=self.path("secret")) as db:
            db.wait_for_adoption()
        with self.assertRaisesRegex(rocksync.Error, "32 bytes, not 5"):
            rocksync.open(self.path("a"), cluster="test", secret=b"short")
        with self.assertRaisesRegex(rocksync.Error, "create_if_missing"):
            self.open("none", create=False)

    def test_closed_is_closed(self):
        db = self.open()
        db[b"a"] = db[b"b"] = b""
        begun = db.items()
        next(begun)
        db.close()
        db.close()
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
            with self.assertRaisesRegex(rocksync.Error, "closed"):
                replicator.sync("127.0.0.1:1")
            with self.assertRaisesRegex(rocksync.Error, "certificate"):
                db.replicate()
            with self.assertRaisesRegex(TypeError, "not str"):
                db["text"]

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
