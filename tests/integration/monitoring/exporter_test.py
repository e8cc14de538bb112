"""rocksync exporter on running replicas. usage: exporter_test.py STORE ROCKSYNC"""

import functools
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from replicas import Cluster, Process, get, wait_for  # noqa: E402

STORE, ROCKSYNC = sys.argv[1:3]


class ExporterTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(STORE, 2)
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.redis(0, "SET", "key", "value")
        cls.cluster.sync()

    def run_once(self, *arguments):
        return subprocess.run([ROCKSYNC, "exporter", *arguments, "--once", "--certificates",
                               self.cluster.certificates], capture_output=True, text=True, timeout=60)

    def test_once_tells_all_replicas(self):
        targets = [r.address for r in self.cluster.replicas]
        done = self.run_once(*targets)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        for target in targets:
            self.assertIn(f'rocksync_up{{target="{target}"}} 1', lines)
        applied = [line for line in lines if line.startswith("rocksync_pairs_applied_total{")]
        self.assertEqual(sorted(line.split()[-1] for line in applied), ["0", "1"])
        self.assertEqual(lines.count("# TYPE rocksync_elements gauge"), 1)
        proven = [line for line in lines if line.startswith("rocksync_peer_last_proven_equal_timestamp_seconds{")]
        self.assertEqual(len(proven), 2)
        self.assertTrue(all(float(line.split()[-1]) > 1e9 for line in proven), proven)

    def test_versions_are_those_that_the_programs_name(self):
        said = subprocess.run([ROCKSYNC, "--version"], capture_output=True, text=True, timeout=60).stdout.split()
        expected = f'version="{said[1]}",rocksdb_version="{said[3]}",protocol="{said[5]}"'
        builds = [line for line in self.run_once(self.cluster.replicas[0].address).stdout.splitlines()
                  if line.startswith("rocksync_build_info{")]
        self.assertEqual(len(builds), 1)
        self.assertIn(expected, builds[0])
        store = subprocess.run([STORE, "--version"], capture_output=True, text=True, timeout=60).stdout.split()
        self.assertEqual(store[1::2], said[1::2])
        self.assertEqual(self.cluster.replicas[0].said(r"(rocksync-store \S+, RocksDB \S+, protocol \d+)"),
                         f"rocksync-store {said[1]}, RocksDB {said[3]}, protocol {said[5]}")

    def test_a_replica_that_is_named_twice_is_told_once(self):
        target = self.cluster.replicas[0].address
        done = self.run_once(target, target.replace("127.0.0.1", "localhost"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("\nrocksync_elements{"), 1)
        self.assertEqual(done.stdout.count("\nrocksync_up{"), 2)

    def test_a_replica_that_is_down_is_told_as_down(self):
        targets = [self.cluster.replicas[0].address, "127.0.0.1:1"]
        done = self.run_once(*targets)
        self.assertEqual(done.returncode, 2)
        self.assertIn("127.0.0.1:1", done.stderr)
        self.assertIn('rocksync_up{target="127.0.0.1:1"} 0', done.stdout)
        self.assertIn(f'rocksync_up{{target="{targets[0]}"}} 1', done.stdout)

    def test_serves_until_it_is_stopped(self):
        command = [ROCKSYNC, "exporter", self.cluster.replicas[0].address, "127.0.0.1:1", "--listen", "127.0.0.1:0",
                   "--certificates", self.cluster.certificates]
        exporter = Process(os.path.join(self.cluster.directory, "exporter.log"), *command)
        self.addCleanup(exporter.kill)
        url = wait_for("a port", lambda: exporter.said(r"(http://\S+/metrics)"))
        status, body, headers = get(url)
        self.assertEqual(status, 200)
        self.assertEqual(headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        self.assertIn(b'rocksync_up{target="127.0.0.1:1"} 0', body)
        self.assertIn(b"\nrocksync_elements{", body)
        self.assertEqual(get(url.replace("/metrics", "/other"))[0], 404)
        # The port is this one's alone.
        taken = url.split("/")[2]
        command[command.index("127.0.0.1:0")] = taken
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"cannot listen on {taken}", done.stderr)
        self.assertEqual(exporter.stop(), 0)

    def start_exporter(self, name, *arguments, cluster=None):
        """The process and its page."""
        exporter = Process(os.path.join(self.cluster.directory, name + ".log"), ROCKSYNC, "exporter", *arguments,
                           "--listen", "127.0.0.1:0", "--certificates", (cluster or self.cluster).certificates)
        self.addCleanup(exporter.kill)
        return exporter, wait_for("a port", lambda: exporter.said(r"(http://\S+/metrics)"))

    def silent_replica(self):
        """A listener that says nothing."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        return listener, f"127.0.0.1:{listener.getsockname()[1]}"

    def test_ends_while_a_replica_is_silent(self):
        listener, silent = self.silent_replica()
        exporter, url = self.start_exporter("ending", silent, "--peer-timeout-ms", "600000")
        host, port = url.split("/")[2].split(":")
        with socket.create_connection((host, int(port))) as asking:
            asking.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            asked, _ = listener.accept()
            self.assertEqual(exporter.stop(), 0)
            asked.close()

    def test_a_silent_replica_takes_no_longer_than_prometheus_waits(self):
        _, silent = self.silent_replica()
        target = self.cluster.replicas[0].address
        _, url = self.start_exporter("scraped", target, silent, "--peer-timeout-ms", "600000")
        pages = []

        def scrape():
            start = time.monotonic()
            body = get(url, {"X-Prometheus-Scrape-Timeout-Seconds": "5"})[1].decode().splitlines()
            pages.append((time.monotonic() - start, body))

        # The second comes during the questions for the first, for whom there is no time to ask anew.
        scrapes = [threading.Thread(target=scrape) for _ in range(2)]
        for thread in scrapes:
            thread.start()
            time.sleep(0.5)
        for thread in scrapes:
            thread.join()
        self.assertEqual(len(pages), 2)
        for seconds, lines in pages:
            self.assertLess(seconds, 60, "waits as long as for the replica")  # 4.5 s, on a machine that is idle
            self.assertIn(f'rocksync_up{{target="{silent}"}} 0', lines)
            self.assertIn(f'rocksync_up{{target="{target}"}} 1', lines)
        # Nor does it wait for the round of one that waits longer.
        patient = threading.Thread(target=get, args=(url, {"X-Prometheus-Scrape-Timeout-Seconds": "15"}))
        patient.start()
        time.sleep(0.5)
        lines = get(url, {"X-Prometheus-Scrape-Timeout-Seconds": "3"})[1].decode().splitlines()
        self.assertTrue(patient.is_alive())
        self.assertIn(f'rocksync_up{{target="{target}"}} 1', lines)
        patient.join()
        # Nor is the shortest time none.
        lines = get(url, {"X-Prometheus-Scrape-Timeout-Seconds": "0.001"})[1].decode().splitlines()
        self.assertIn(f'rocksync_up{{target="{silent}"}} 0', lines)
        for nonsense in ("", "-1", "nan", "0", "x", "1e300"):
            exporter, url = self.start_exporter("nonsense", target)
            self.assertIn(b"} 1", get(url, {"X-Prometheus-Scrape-Timeout-Seconds": nonsense})[1])
            exporter.kill()

    def test_says_why_a_replica_does_not_answer_once_per_change(self):
        cluster = Cluster(STORE, 1)
        self.addCleanup(cluster.close)
        replica, = cluster.replicas
        exporter, url = self.start_exporter("logging", "127.0.0.1:1", replica.address, cluster=cluster)

        def lines(seconds="15"):
            get(url, {"X-Prometheus-Scrape-Timeout-Seconds": seconds})
            with open(exporter.log, encoding="utf-8") as log:
                return log.read().splitlines()[1:]

        self.assertEqual(len(lines()), 1)
        replica.process.send_signal(signal.SIGSTOP)
        # Not so short that a busy machine gets no answer from either.
        lines("3")
        told = lines("4")  # waits longer, for the same reason
        self.assertEqual(len(told), 2, told)
        replica.process.send_signal(signal.SIGCONT)
        lines()
        refused, silent, again = lines()
        self.assertIn("rocksync exporter: 127.0.0.1:1 does not answer: IO error: ", refused)
        self.assertIn(f"rocksync exporter: {replica.address} does not answer: ", silent)
        self.assertEqual(f"rocksync exporter: {replica.address} answers again", again)

    def test_tells_when_its_own_certificate_expires(self):
        line, = [line for line in self.run_once(self.cluster.replicas[0].address).stdout.splitlines()
                 if line.startswith("rocksync_exporter_certificate_expiry_timestamp_seconds")]
        self.assertGreater(float(line.split()[-1]), time.time())

    def test_one_address_given_twice_is_one(self):
        target = self.cluster.replicas[0].address
        done = self.run_once(target, target)
        self.assertEqual(done.returncode, 0, done.stderr)
        series = [line.rsplit(" ", 1)[0] for line in done.stdout.splitlines() if not line.startswith("#")]
        self.assertEqual(len(series), len(set(series)))

    def test_lost_output_is_an_error(self):
        target = self.cluster.replicas[0].address
        access = ["--certificates", self.cluster.certificates]
        for command in (["exporter", target, "--once", *access], ["status", target, *access],
                        ["status", target, "--json", *access], ["--version"], ["status", "--help"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([ROCKSYNC, *command], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual(done.returncode, 2, command)
            self.assertIn("could not be written", done.stderr)

    def test_other_pages_are_refused(self):
        exporter = Process(os.path.join(self.cluster.directory, "guarded.log"), ROCKSYNC, "exporter",
                           self.cluster.replicas[0].address, "--listen", "127.0.0.1:0",
                           "--certificates", self.cluster.certificates)
        self.addCleanup(exporter.kill)
        url = wait_for("a port", lambda: exporter.said(r"(http://\S+/metrics)"))
        self.assertEqual(get(url, {"Host": "localhost:8080"})[0], 200)
        self.assertEqual(get(url, {"Host": "evil.example"})[0], 403)
        self.assertEqual(get(url, {"Origin": "http://evil.example"})[0], 403)
        for method in ("POST", "PUT", "OPTIONS"):
            self.assertEqual(get(url, method=method)[0], 403, method)

    def test_the_address_that_it_prints_answers(self):
        for listen in ("127.0.0.2:0", "[::1]:0", "localhost:0"):
            exporter = Process(os.path.join(self.cluster.directory, "elsewhere.log"), ROCKSYNC, "exporter",
                               self.cluster.replicas[0].address, "--listen", listen,
                               "--certificates", self.cluster.certificates)
            self.addCleanup(exporter.kill)
            url = wait_for("a port", lambda: exporter.said(r"(http://\S+/metrics)"))
            self.assertEqual(get(url)[0], 200, url)
            status, refusal = get(url, {"Host": "evil.example"})[:2]
            self.assertEqual(status, 403)
            self.assertIn(b"--listen with another address", refusal)
            exporter.kill()

    def test_many_connections_leave_files_to_ask_the_replicas(self):
        target = self.cluster.replicas[0].address
        exporter = Process(os.path.join(self.cluster.directory, "crowded.log"), "sh", "-c", 'ulimit -n 64; exec "$@"',
                           "sh", ROCKSYNC, "exporter", target, "--listen", "127.0.0.1:0", "--certificates",
                           self.cluster.certificates)
        self.addCleanup(exporter.kill)
        url = wait_for("a port", lambda: exporter.said(r"(http://\S+/metrics)"))
        host, port = url.split("/")[2].split(":")
        clients = [socket.create_connection((host, int(port))) for _ in range(150)]
        for client in clients:
            self.addCleanup(client.close)
            client.settimeout(60)
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answers = [b"".join(iter(functools.partial(client.recv, 65536), b"")) for client in clients]
        pages = [answer for answer in answers if answer.startswith(b"HTTP/1.1 200 ")]
        refused = [answer for answer in answers if answer.startswith(b"HTTP/1.1 503 ")]
        self.assertEqual(len(pages) + len(refused), len(answers))
        self.assertGreater(len(pages), 0)
        for page in pages:
            self.assertIn(f'rocksync_up{{target="{target}"}} 1', page.decode().splitlines())

    def test_wrong_arguments(self):
        done = self.run_once("nowhere")
        self.assertEqual(done.returncode, 2)
        self.assertIn("is not host:port", done.stderr)
        done = subprocess.run([ROCKSYNC, "exporter"], capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
