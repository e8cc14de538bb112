"""Replicas of the example store as processes, for tests from outside."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request


def wait_for(what, condition, seconds=60):
    """The first true value of condition(), which may raise OSError until then."""
    end = time.monotonic() + seconds
    last = None
    while time.monotonic() < end:
        try:
            value = condition()
            if value:
                return value
        except OSError as error:
            last = error
        time.sleep(0.05)
    raise AssertionError(f"{what} did not come true in {seconds} s (last error: {last})")


def get(url, headers=None, method="GET"):
    """(status, body, headers) of a request, whatever the status."""
    request = urllib.request.Request(url, headers=headers or {}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return response.status, response.read(), response.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers


class Process:
    """A program whose output goes to a file."""

    def __init__(self, log, *command):
        self.log = log
        with open(log, "wb") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL)

    def said(self, expression):
        """Group 1 of the first match in what it has said so far."""
        with open(self.log, encoding="utf-8", errors="replace") as log:
            text = log.read()
        found = re.search(expression, text)
        if found is None and self.process.poll() is not None:
            raise AssertionError(f"{self.process.args[0]} ended: {text}")
        return found and found.group(1)

    def peak_bytes(self):
        """The most memory that it had."""
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as status:
            return int(re.search(r"VmHWM:\s+(\d+) kB", status.read()).group(1)) << 10

    def stop(self):
        self.process.terminate()
        return self.process.wait(30)

    def kill(self):
        self.process.kill()
        self.process.wait(30)


class Cluster:
    """Replicas a, b, ... in a directory of their own; with `page`, each has a
    status page that shows the others. Without an interval there are no streams.
    `options` are further ones of each. The page calls each `shown_as`, if that is
    given, as the Debian service calls all of its databases "db"."""

    def __init__(self, store, count, page=False, interval_ms=0, options=(), shown_as=""):
        self.directory = tempfile.mkdtemp(prefix="rocksync_replicas_")
        self.certificates = os.path.join(self.directory, "trial")
        self.replicas = []
        for number in range(count):
            name = chr(ord("a") + number)
            os.mkdir(os.path.join(self.directory, "of_" + name))
            database = os.path.join(self.directory, "of_" + name, shown_as or name)
            command = [store, "--dir", database, "--certificates", self.certificates,
                       "--redis-port", "0", "--listen", "127.0.0.1:0", "--sync-interval-ms", str(interval_ms), *options]
            for earlier in self.replicas:
                command += ["--peer", earlier.address]
            if page:
                command += ["--http-port", "0"]
                for earlier in self.replicas:
                    command += ["--http-peer", earlier.page]
            replica = Process(os.path.join(self.directory, name + ".log"), *command)
            self.replicas.append(replica)
            replica.name = name
            replica.port = wait_for("a Redis port", lambda: replica.said(r"redis-cli -h 127.0.0.1 -p (\d+)"))
            replica.address = wait_for("an address", lambda: replica.said(r"peers connect to (\S+)"))
            if page:
                replica.page = wait_for("a page", lambda: replica.said(r"status page: http://(\S+)/"))

    def redis(self, number, *command, stdin=None):
        """What redis-cli prints."""
        done = subprocess.run(["redis-cli", "-p", self.replicas[number].port, *command], input=stdin, check=True,
                              capture_output=True, timeout=120)
        return done.stdout.decode().strip()

    def sync(self):
        """The last replica with all before it."""
        said = self.redis(len(self.replicas) - 1, "REPLICATION", "SYNC")
        assert "OK" in said, said

    def status(self, number):
        """What /status.json says."""
        status, body, _ = get(f"http://{self.replicas[number].page}/status.json")
        assert status == 200, body
        return json.loads(body)

    def close(self):
        for replica in self.replicas:
            if replica.process.poll() is None:
                replica.kill()
        shutil.rmtree(self.directory)
