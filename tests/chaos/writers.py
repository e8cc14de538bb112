"""Clients that write to the replicas all the time and remember what was
acknowledged."""

import random
import threading
import time

from client import Client, Gone, Refused
from ledger import DELETED

CLASSES = 6  # of owned keys; each belongs to one replica at a time
CLASS_KEYS = 120
CONTESTED_KEYS = 80
THREADS = 2  # a replica
PAUSE_S = 0.003


class Writers:
    """The clients of all replicas."""

    def __init__(self, stores, ledger, seed, complain):
        self.ledger = ledger
        self.owner = [c % len(stores) for c in range(CLASSES)]
        self._threads = [
            _Writer(self, store, t, f"{seed}.{store.number}.{t}", complain)
            for store in stores for t in range(THREADS)
        ]
        for thread in self._threads:
            thread.start()

    def pause(self, number=None):
        """Returns once no command of these clients is under way."""
        for thread in self._of(number):
            thread.go.clear()
        for thread in self._of(number):
            with thread.busy:
                pass

    def resume(self, number=None):
        for thread in self._of(number):
            thread.go.set()

    def stop(self):
        for thread in self._threads:
            thread.over = True
            thread.go.set()
        for thread in self._threads:
            thread.join()

    def longest_wait_s(self):
        now = time.monotonic()
        return max(now - (t.since or now) for t in self._threads)

    @staticmethod
    def keys_of_class(key_class):
        return [f"own{key_class}-{i}" for i in range(CLASS_KEYS)]

    def hand_over(self, key_class, new):
        old, self.owner[key_class] = self.owner[key_class], new
        self.ledger.hand_over(self.keys_of_class(key_class), old, new)

    def _of(self, number):
        return [t for t in self._threads
                if number is None or t.store.number == number]


class _Writer(threading.Thread):

    def __init__(self, writers, store, number, seed, complain):
        super().__init__(daemon=True)
        self.writers, self.store, self.number = writers, store, number
        self.random = random.Random(seed)
        self.complain = complain
        self.go = threading.Event()
        self.busy = threading.Lock()
        self.over = False
        self.since = None  # when the command under way began
        self._client = None
        self._write = None  # under way
        self._count = 0

    def run(self):
        while True:
            self.go.wait()
            if self.over:
                return
            with self.busy:
                if self.go.is_set():
                    self._step()
            time.sleep(PAUSE_S)

    def _step(self):
        key, owned = self._key()
        self.since = time.monotonic()
        try:
            if self._client is None:
                self._client = Client(self.store.redis_port)
            self._command(key, owned)
        except Refused:
            self.writers.ledger.refused += 1
        except Gone:
            self.writers.ledger.unanswered += 1
            if self._client is not None:
                self._client.close()
            self._client = None
            time.sleep(0.05)
        finally:
            self.since = None
            if self._write is not None and self._write.ended is None:
                self.writers.ledger.give_up(self._write)
            self._write = None

    def _key(self):
        mine = [c for c, owner in enumerate(self.writers.owner)
                if owner == self.store.number and c % THREADS == self.number]
        if not mine or self.random.random() < 0.2:
            return f"all-{self.random.randrange(CONTESTED_KEYS)}", False
        key_class = self.random.choice(mine)
        return f"own{key_class}-{self.random.randrange(CLASS_KEYS)}", True

    def _command(self, key, owned):
        ledger, number = self.writers.ledger, self.store.number
        what = self.random.random()
        if what < 0.65:
            self._count += 1
            filler = "x" * self.random.choice([0, 20, 200, 1500])
            value = f"{number}.{self.number}.{self._count}.{filler}"
            self._write = ledger.begin(key, number, value)
            self._client.call("SET", key, value)
            ledger.acknowledge(key, number, self._write)
        elif what < 0.85:
            before = ledger.possible(key)
            self._write = ledger.begin(key, number, DELETED)
            if self._client.call("DEL", key) == 1:
                ledger.acknowledge(key, number, self._write)
            else:
                ledger.without_effect(key, number, self._write)
                if owned and DELETED not in before:
                    self.complain(f"{key}: is lost, says replica {number}")
        else:
            found = self._client.call("GET", key)
            wrong = ledger.complaint(key, found) if owned else None
            if wrong:
                self.complain(f"{wrong}, says replica {number}")
