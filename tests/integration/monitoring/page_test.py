"""The status page of the example store, as a program sees it.
usage: page_test.py STORE"""

import http.client
import os
import socket
import struct
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hostile_page import HostilePage  # noqa: E402
from replicas import Cluster, get, wait_for  # noqa: E402

STORE = sys.argv[1]
LEAVES = 65536


def differing(left, right):
    return sum(left[i:i + 4] != right[i:i + 4] for i in range(0, len(left), 4))


def digest_of(leaves):
    """FNV-1a of numbers."""
    digest = 0x811c9dc5
    for leaf, in struct.iter_unpack("<I", leaves):
        digest = (digest ^ leaf) * 0x01000193 & 0xffffffff
    return digest


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(STORE, 2, page=True)
        cls.addClassCleanup(cls.cluster.close)
        cls.a, cls.b = (f"http://{replica.page}" for replica in cls.cluster.replicas)

    def leaves(self, url):
        status, body, _ = get(url)
        self.assertEqual(status, 200, body)
        self.assertEqual(len(body), 4 * LEAVES)
        return body

    def test_leaves_differ_where_replicas_do_until_they_are_equal(self):
        self.cluster.sync()
        self.assertEqual(self.leaves(f"{self.a}/leaves"), self.leaves(f"{self.b}/leaves"))
        for i in range(20):
            self.cluster.redis(0, "SET", f"key {i}", "value")
        # The page of b asks that of a.
        of_a, of_b = self.leaves(f"{self.b}/peers/0/leaves"), self.leaves(f"{self.b}/leaves")
        self.assertIn(differing(of_a, of_b), range(10, 21))
        self.cluster.sync()
        self.assertEqual(differing(self.leaves(f"{self.a}/leaves"), self.leaves(f"{self.b}/leaves")), 0)

    def test_a_digest_of_all_leaves(self):
        def digests():
            got = [get(url) for url in (f"{self.b}/peers/0/leaves/digest", f"{self.b}/leaves/digest")]
            self.assertEqual([status for status, _, _ in got], [200, 200])
            return [int(body) for _, body, _ in got]

        self.cluster.sync()
        self.assertEqual(digests(), [digest_of(self.leaves(f"{self.a}/leaves"))] * 2)
        self.cluster.redis(0, "SET", "key of a", "value")
        self.assertEqual(digests(), [digest_of(self.leaves(f"{url}/leaves")) for url in (self.a, self.b)])
        self.assertNotEqual(*digests())

    def test_status_tells_of_replica_and_peers(self):
        self.cluster.redis(0, "SET", "more", "value")
        self.cluster.sync()
        status = self.cluster.status(1)
        self.assertEqual(status["name"], "b")
        self.assertEqual(status["session_interval_ms"], 0)
        self.assertEqual(status["tombstones_held_up_since_ms"], 0)
        self.assertEqual(status["peer_pages"], [self.cluster.replicas[0].page])
        self.assertEqual(status["stats"]["peers"][0]["address"], self.cluster.replicas[0].address)
        self.assertEqual(status["stats"]["peers"][0]["last_error"], "")
        self.assertGreater(status["stats"]["bytes_total"], 0)
        traffic = wait_for("traffic", lambda: [t for t in self.cluster.status(1)["traffic"] if t["values"] > 0])
        self.assertEqual(sorted(traffic[0]), ["filters", "keys", "ms", "offers", "other", "pairs", "streams", "values"])
        self.assertEqual(get(f"{self.b}/peers/0/status.json")[0], 200)

    def test_streams_are_traffic_too(self):
        # The first session has been, and the next is far away.
        live = Cluster(STORE, 2, page=True, interval_ms=600_000)
        self.addCleanup(live.close)
        wait_for("a proof", lambda: live.status(1)["stats"]["peers"][0]["last_proven_equal_ms"])
        wait_for("a stream", lambda: live.status(1)["stats"]["stream"]["open"])
        live.redis(0, "SET", "streamed", "value" * 100)
        traffic = wait_for("traffic", lambda: [t for t in live.status(1)["traffic"] if t["streams"] > 500])
        self.assertEqual(traffic[0]["values"], 0)
        self.assertEqual(live.redis(1, "GET", "streamed"), "value" * 100)

    def test_since_when_a_member_that_is_away_holds_up_tombstones(self):
        live = Cluster(STORE, 3, page=True, interval_ms=200)
        self.addCleanup(live.close)
        live.redis(0, "SET", "key", "value")
        live.redis(0, "REPLICATION", "MEMBERS", "1", *(live.status(i)["stats"]["replica_id"] for i in range(3)))
        wait_for("the list", lambda: all(live.status(i)["stats"]["tombstone_gc"]["epoch"] for i in range(3)))
        live.replicas[2].kill()
        live.redis(0, "DEL", "key")

        def stays():
            status = live.status(0)
            return 0 < status["tombstones_held_up_since_ms"] < status["wall_clock_ms"] - 3000

        wait_for("a member that stays", stays)

    def test_metrics(self):
        status, body, headers = get(f"{self.a}/metrics")
        self.assertEqual(status, 200)
        self.assertIn("version=0.0.4", headers["Content-Type"])
        self.assertIn(b"# TYPE rocksync_elements gauge\nrocksync_elements{replica=", body)

    def test_files_are_there_and_use_nothing_from_elsewhere(self):
        for path, kind in (("/", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript")):
            status, body, headers = get(self.a + path)
            self.assertEqual(status, 200)
            self.assertTrue(headers["Content-Type"].startswith(kind))
            self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertNotIn(b"https://", body)
            self.assertNotIn(b"innerHTML", body)

    def test_other_host_names_are_refused(self):
        port = self.cluster.replicas[0].page.split(":")[1]
        for host in ("evil.example", f"evil.example:{port}", "",
                     f"127.0.0.1:{port}.evil.example"):
            for path in ("/", "/status.json", "/leaves", "/metrics", "/peers/0/leaves", "/nothing"):
                status, body, _ = get(self.a + path, {"Host": host})
                self.assertEqual(status, 403, f"{host} {path}")
                self.assertIn(b"--http-name", body)
        # Behind a tunnel the port is another one.
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LocalHost:{port}", "localhost:8080", "127.0.0.1"):
            self.assertEqual(get(self.a + "/", {"Host": host})[0], 200, host)

    def test_names_of_this_host_are_answered(self):
        named = Cluster(STORE, 1, page=True, options=["--http-name", "2001:db8::5", "--http-name", "Store_1.example."])
        self.addCleanup(named.close)
        base = f"http://{named.replicas[0].page}/"
        for host in ("[2001:db8::5]", "[2001:DB8::5]:8080", "store_1.example.:80"):
            self.assertEqual(get(base, {"Host": host})[0], 200, host)
        self.assertEqual(get(base, {"Host": "[2001:db8::6]"})[0], 403)

    def test_other_origins_are_refused(self):
        for origin in ("http://evil.example", "null", self.b, self.a.replace("http:", "https:")):
            for path in ("/", "/status.json", "/leaves"):
                self.assertEqual(get(self.a + path, {"Origin": origin})[0], 403, origin)
        self.assertEqual(get(self.a + "/status.json", {"Origin": self.a})[0], 200)
        self.assertNotIn("Access-Control-Allow-Origin", get(self.a + "/status.json", {"Origin": self.a})[2])

    def test_nothing_can_be_written(self):
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            self.assertEqual(get(self.a + "/status.json", method=method)[0], 403, method)

    def test_nonsense_is_answered(self):
        for path in ("/peers/1/leaves", "/peers/99999/leaves", "/peers/0/metrics", "/../etc/passwd", "/%00"):
            self.assertEqual(get(self.b + path)[0], 404, path)
        host, port = self.cluster.replicas[0].page.split(":")
        with socket.create_connection((host, int(port)), timeout=20) as raw:
            raw.sendall(b"\x16\x03\x01 no HTTP\r\n\r\n")
            self.assertNotIn(b" 200 ", raw.recv(1000))
        self.assertEqual(get(self.a + "/")[0], 200)

    def test_metrics_beside_many_that_wait(self):
        host, port = self.a.split("//")[1].split(":")
        waiting = [socket.create_connection((host, int(port))) for _ in range(16)]
        for client in waiting[::2]:
            client.sendall(b"GET / HTTP/1.1\r\nX: ")
        pages = [http.client.HTTPConnection(host, int(port), timeout=20) for _ in range(12)]
        for page in pages:
            page.request("GET", "/status.json")
            self.assertEqual(page.getresponse().read()[:1], b"{")
        self.assertEqual(get(f"{self.a}/metrics")[0], 200)
        for client in waiting + pages:
            client.close()

    def test_a_client_forges_no_line_of_the_log(self):
        self.cluster.redis(0, "REPLICATION", "SYNC", "x\n[2026-01-01 00:00:00.000] [error] forged:7400")
        replica = self.cluster.replicas[0]
        self.cluster.redis(0, "REPLICATION", "SYNC", replica.address)
        wait_for("a line", lambda: replica.said(r"(refused replica )"))
        with open(replica.log, encoding="utf-8") as log:
            self.assertNotIn("forged", log.read())
        self.assertNotIn("forged", self.cluster.redis(0, "INFO"))

    def test_a_peer_that_is_gone_is_told_as_such(self):
        other = Cluster(STORE, 2, page=True)
        self.addCleanup(other.close)
        other.replicas[0].kill()
        status, body, _ = get(f"http://{other.replicas[1].page}/peers/0/status.json")
        self.assertEqual(status, 502)
        self.assertIn(other.replicas[0].page.encode(), body)

    def test_a_peer_page_that_refuses_names_the_remedy(self):
        port = self.cluster.replicas[0].page.split(":")[1]
        # 127.0.0.1 as a name that nobody gave it.
        near = Cluster(STORE, 1, page=True, options=["--http-peer", f"0x7f000001:{port}"])
        self.addCleanup(near.close)
        status, body, _ = get(f"http://{near.replicas[0].page}/peers/0/status.json")
        self.assertEqual(status, 502, body)
        self.assertIn(b"HTTP 403: This page does not answer to that host name; --http-name adds one.", body)

    def test_a_refusal_is_told_in_few_harmless_words(self):
        with HostilePage() as page:
            page.kind = "a long refusal"
            cluster = Cluster(STORE, 1, page=True, options=["--http-peer", page.address])
            self.addCleanup(cluster.close)
            body = get(f"http://{cluster.replicas[0].page}/peers/0/status.json")[1].decode().strip()
            self.assertRegex(body, r"^IO error: the page of \S+ answers: HTTP 503: \?\[31m<b>x{192}$")

    def test_a_peer_page_at_an_ipv6_address(self):
        far = Cluster(STORE, 1, page=True, options=["--http-host", "::1"])
        self.addCleanup(far.close)
        port = far.replicas[0].page.rsplit(":", 1)[1]
        near = Cluster(STORE, 1, page=True, options=["--http-peer", f"[::1]:{port}"])
        self.addCleanup(near.close)
        status, body, _ = get(f"http://{near.replicas[0].page}/peers/0/status.json")
        self.assertEqual(status, 200, body)

    def test_a_hostile_peer_page_takes_neither_memory_nor_time(self):
        with HostilePage() as page:
            cluster = Cluster(STORE, 1, page=True, options=["--http-peer", page.address])
            self.addCleanup(cluster.close)
            store, = cluster.replicas
            for kind in page.KINDS:
                page.kind = kind
                status, body, _ = get(f"http://{store.page}/peers/0/leaves")
                self.assertEqual(status, 502, kind)
                self.assertIn(page.address.encode(), body)
            # Each answer that does not end could fill gigabytes meanwhile.
            self.assertLess(store.peak_bytes(), 200 << 20)
            page.kind = "drip"
            host, port = store.page.split(":")
            with socket.create_connection((host, int(port))) as asking:
                asking.sendall(b"GET /peers/0/leaves HTTP/1.1\r\nHost: localhost\r\n\r\n")
                self.assertEqual(store.stop(), 0)

    def test_a_taken_port_and_a_wrong_peer_are_named(self):
        taken = self.cluster.replicas[0].page.split(":")[1]
        for option, text, code in ((["--http-port", taken], "another --http-port", 1),
                                   (["--http-port", "0", "--http-peer", "nowhere"], "is no host:port of a page", 2)):
            done = subprocess.run([STORE, "--dir", os.path.join(self.cluster.directory, "x"), "--certificates",
                                   self.cluster.certificates, "--redis-port", "0", *option], capture_output=True,
                                  text=True, timeout=60)
            self.assertEqual(done.returncode, code)
            self.assertIn(text, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
