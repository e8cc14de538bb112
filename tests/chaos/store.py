"""A process of the example store: one replica, its directory and its clock."""

import contextlib
import glob
import os
import random
import shutil
import signal
import socket
import subprocess
import time

from client import Client, Gone, Refused

START_S = 60
SYNC_INTERVAL_MS = 300
PEER_TIMEOUT_MS = 3000


class Died(Exception):
    """The process ended by itself; with the last of what it logged."""


# Below those that systems give to connections and to whoever listens on port 0:
# a port that a process is to have, and have again after each kill, must not go
# to another program in between.
LOWEST_PORT, HIGHEST_PORT = 15000, 31999


def free_port(taken=set()):
    """A port of this machine that nobody uses, and another one each time."""
    candidates = random.SystemRandom().sample(
        range(LOWEST_PORT, HIGHEST_PORT + 1), 1000)
    for port in candidates:
        if port in taken:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        taken.add(port)
        return port
    raise Died(f"no free port between {LOWEST_PORT} and {HIGHEST_PORT}")


def find_libfaketime():
    found = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
    return found[0] if found else None


def remove_faketime_memory(pid):
    """libfaketime's shared memory, which a process that is killed leaves."""
    for left in (f"/dev/shm/faketime_shm_{pid}", f"/dev/shm/sem.faketime_sem_{pid}"):
        with contextlib.suppress(FileNotFoundError):
            os.remove(left)


class Store:

    def __init__(self, number, binaries, scratch):
        self.number = number
        self.name = "abc"[number]
        self.directory = f"{scratch}/{self.name}"
        self.log = f"{scratch}/{self.name}.log"
        self.certificates = f"{scratch}/certificates"
        self.redis_port = free_port()
        self.peer_port = free_port()
        self.peers = {}  # number of the other: the port of the relay to it
        self._program = f"{binaries}/replicated_store"
        self._clock = f"{scratch}/{self.name}.clock"
        self._process = None
        self.offset_s = 0
        self.set_clock(0)

    def twin(self, directory, name):
        """Another process with this one's peers, for a copy of its directory."""
        twin = object.__new__(Store)
        twin.__dict__.update(self.__dict__)
        twin.name = name
        twin.directory = directory
        twin.log = f"{directory}.log"
        twin.redis_port = free_port()
        twin.peer_port = free_port()
        twin._process = None
        return twin

    def set_clock(self, offset_s):
        self.offset_s = offset_s
        with open(self._clock + ".new", "w") as file:
            file.write(f"{offset_s:+d}\n")
        os.replace(self._clock + ".new", self._clock)

    def start(self, as_new=False):
        """Waits until it answers. Died: it does not."""
        # Nothing of a replica outlives this program, however it ends.
        words = ["setpriv", "--pdeathsig", "KILL", self._program, "--dir", self.directory, "--certificates",
                 self.certificates, "--redis-port", str(self.redis_port),
                 "--listen", f"127.0.0.1:{self.peer_port}",
                 "--sync-interval-ms", str(SYNC_INTERVAL_MS),
                 "--peer-timeout-ms", str(PEER_TIMEOUT_MS),
                 "--memory-mib", "8"]
        for port in self.peers.values():
            words += ["--peer", f"127.0.0.1:{port}"]
        if as_new:
            words.append("--as-new-replica")
        environment = dict(os.environ)
        library = find_libfaketime()
        if library:
            environment.update(
                LD_PRELOAD=library, FAKETIME_TIMESTAMP_FILE=self._clock,
                FAKETIME_CACHE_DURATION="1", FAKETIME_DONT_FAKE_MONOTONIC="1",
                DONT_FAKE_MONOTONIC="1")
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                words, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                env=environment, start_new_session=True)
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            self.check_alive()
            try:
                return self.call("PING")
            except Gone:
                time.sleep(0.05)
        raise Died(f"replica {self.name} does not answer after {START_S} s")

    def check_alive(self):
        if self._process is not None and self._process.poll() is not None:
            status = self._process.returncode
            self._gone()
            raise Died(f"replica {self.name} ended with status {status}:\n"
                       + self.last_lines())

    def last_lines(self):
        with open(self.log, errors="replace") as log:
            return "".join(log.readlines()[-3:])

    def _signal(self, number):
        if self._process is not None:
            os.kill(self._process.pid, number)

    def freeze(self):
        self._signal(signal.SIGSTOP)

    def thaw(self):
        self._signal(signal.SIGCONT)

    def kill(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._gone()

    def _gone(self):
        remove_faketime_memory(self._process.pid)
        self._process = None

    def stop(self):
        """As an operator does. Died: it does not end well."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            status = self._process.wait(60)
        except subprocess.TimeoutExpired as error:
            self.kill()
            raise Died(f"replica {self.name} does not stop") from error
        self._gone()
        if status != 0:
            raise Died(f"replica {self.name} stopped with status {status}:\n"
                       + self.last_lines())

    def copy_to(self, directory):
        """As it is at this instant, as after a kill."""
        self.freeze()
        try:
            shutil.rmtree(directory, ignore_errors=True)
            subprocess.run(["cp", "-a", self.directory, directory], check=True)
        finally:
            self.thaw()

    def call(self, *words):
        client = Client(self.redis_port)
        try:
            return client.call(*words)
        finally:
            client.close()

    def info(self):
        client = Client(self.redis_port)
        try:
            return client.info()
        finally:
            client.close()

    def errors(self):
        """What it says of its peers."""
        info = self.info()
        return [value for field, value in info.items()
                if field.endswith("_last_error") and value]

    def sync(self, patience_s, numbers=None, hopeless=None):
        """None once it is proven equal to one of these peers (or of all), else
        why not; at once if the reason holds these words."""
        ports = [self.peers[n] for n in numbers or self.peers]
        deadline = time.monotonic() + patience_s
        while True:
            for port in ports:
                try:
                    self.call("REPLICATION", "SYNC", f"127.0.0.1:{port}")
                    return None
                except (Refused, Gone) as error:
                    why = str(error)
                    if hopeless and hopeless in why:
                        return why
            if time.monotonic() > deadline:
                return why
            self.check_alive()
            time.sleep(0.2)
