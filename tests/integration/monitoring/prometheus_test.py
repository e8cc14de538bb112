"""A real Prometheus scrapes the exporter with the alert rules loaded, and knows
every metric that the rules and the Grafana board ask for.
usage: prometheus_test.py STORE ROCKSYNC FOLDER_OF_MONITORING"""

import json
import os
import re
import socket
import subprocess
import sys
import unittest
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from replicas import Cluster, Process, get, wait_for  # noqa: E402

STORE, ROCKSYNC, FOLDER = sys.argv[1:4]
RULES = os.path.join(FOLDER, "alerts.yml")


class PrometheusTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(STORE, 2)
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.redis(0, "SET", "key", "value")
        cls.cluster.sync()
        ids = [re.search(r"replica_id:(\w+)", cls.cluster.redis(i, "INFO", "replication")).group(1) for i in (0, 1)]
        cls.cluster.redis(0, "REPLICATION", "MEMBERS", "1", *ids)
        cls.exporter = cls.start("exporter", ROCKSYNC, "exporter", cls.cluster.replicas[0].address, "127.0.0.1:1",
                                 "--listen", "127.0.0.1:0", "--certificates", cls.cluster.certificates)
        cls.url = wait_for("a port", lambda: cls.exporter.said(r"(http://\S+/metrics)"))
        configuration = os.path.join(cls.cluster.directory, "prometheus.yml")
        with open(configuration, "w", encoding="utf-8") as out:
            out.write(f"global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n"
                      f"rule_files: ['{os.path.abspath(RULES)}']\n"
                      f"scrape_configs:\n- job_name: rocksync\n"
                      f"  static_configs: [{{targets: ['{cls.url.split('/')[2]}']}}]\n")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            where = f"127.0.0.1:{free.getsockname()[1]}"
        cls.api = f"http://{where}/api/v1"
        cls.start("prometheus", "prometheus", f"--config.file={configuration}", f"--web.listen-address={where}",
                  f"--storage.tsdb.path={os.path.join(cls.cluster.directory, 'tsdb')}")

    @classmethod
    def start(cls, name, *command):
        process = Process(os.path.join(cls.cluster.directory, name + ".log"), *command)
        cls.addClassCleanup(process.kill)
        return process

    def query(self, expression):
        status, body, _ = get(f"{self.api}/query?" + urllib.parse.urlencode({"query": expression}))
        if status == 503:
            raise OSError("Prometheus is not ready")
        self.assertEqual(status, 200, f"{expression}: {body}")
        return json.loads(body)["data"]["result"]

    def test_rules_and_metrics_are_well_formed(self):
        for command in (["check", "rules", RULES], ["test", "rules", os.path.join(FOLDER, "alerts_test.yml")]):
            done = subprocess.run(["promtool", *command], capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        page = get(self.url)[1]
        done = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    def test_prometheus_scrapes_it(self):
        up = wait_for("a scrape", lambda: self.query("rocksync_up == 1"))
        self.assertEqual(len(up), 1)
        self.assertEqual(up[0]["metric"]["target"], self.cluster.replicas[0].address)
        rules = json.loads(get(f"{self.api}/rules")[1])["data"]["groups"][0]["rules"]
        self.assertGreater(len(rules), 5)
        down = wait_for("an alert", lambda: self.query('ALERTS{alertname="RocksyncReplicaDown"}'))
        self.assertEqual(down[0]["metric"]["target"], "127.0.0.1:1")

    def test_what_is_asked_for_is_there(self):
        wait_for("a scrape", lambda: self.query("rocksync_up == 1"))
        with open(RULES, encoding="utf-8") as file:
            asked = set(re.findall(r"\brocksync_[a-z_]+", file.read()))
        with open(os.path.join(FOLDER, "grafana.json"), encoding="utf-8") as file:
            board = json.load(file)
        drawn = set(re.findall(r"\brocksync_[a-z_]+", json.dumps(board["panels"])))
        self.assertEqual(asked - drawn, set())
        for panel in board["panels"]:
            for target in panel["targets"]:
                expression = target["expr"]
                asked |= set(re.findall(r"\brocksync_[a-z_]+", expression))
                self.query(expression.replace("$replica", ".*").replace("$__rate_interval", "1m"))
        self.assertGreater(len(asked), 10)
        for name in asked:
            self.assertTrue(self.query(f"count({name})"), f"nobody tells {name}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
