"""What happens to the replicas, turn by turn. Each fault says what it did; some
linger over the next turns: links that are cut, slow or noisy, clocks that are
wrong."""

import os
import shutil
import subprocess
import time

from client import Gone, Refused
from store import Died, find_libfaketime
from writers import CLASSES

HEAL_S = 90
REFUSED_S = 60
NEAR_S = 25  # two clocks off by this are within max_clock_ahead_ms, 60 s
FAR_S = (120, 600)
BALLAST = "ballast"
TOO_OLD = "that other members have deleted"
REFUSALS = ("rolled back", "same identity", "older state of its disk",
            "open_copy_as_new_replica", "as-new-replica")


class Violation(Exception):
    """What must not happen has happened."""


def by_name(error):
    return any(text in error for text in REFUSALS)


class Faults:

    def __init__(self, stores, relays, writers, binaries, scratch, random,
                 full_disk):
        self.stores, self.relays, self.writers = stores, relays, writers
        self.random = random
        self.counts = {}
        self._rocksync = f"{binaries}/rocksync"
        self._scratch = scratch
        self._link_faults = {}  # relay: until when
        self._old = {}  # replica: its directory of before, and restarts since
        self._ahead_until = 0  # some version may be ahead of the wall clock
        self._kinds = {
            self.kill: 4, self.kill_two: 1, self.freeze: 2, self.cut: 3,
            self.delay: 2, self.throttle: 2, self.corrupt: 2,
            self.keep_copy: 2, self.put_old_state_back: 2, self.run_copy: 1,
            self.set_members: 2, self.collect: 2, self.hand_over: 3,
            self.resync: 2,
        }
        if find_libfaketime():
            self._kinds[self.shift_clock] = 3
            self._kinds[self.far_clock] = 1
        if full_disk:
            self._kinds[self.fill_disk] = 2

    def turn(self):
        """None, or what was done."""
        now = time.monotonic()
        for relay, until in list(self._link_faults.items()):
            if until < now:
                relay.heal()
                del self._link_faults[relay]
        kinds, weights = zip(*self._kinds.items())
        kind = self.random.choices(kinds, weights)[0]
        done = kind()
        if done:
            self.counts[kind.__name__] = self.counts.get(kind.__name__, 0) + 1
        return done

    def end(self):
        """Everything as it should be, but for what the replicas hold."""
        self._calm()
        for store in self.stores:
            store.thaw()
            store.set_clock(0)

    # --- What is needed for the more complicated ones

    def _calm(self):
        for relay in self.relays:
            relay.heal()
        self._link_faults = {}

    def _any(self):
        return self.random.choice(self.stores)

    def _others(self, store):
        return [s for s in self.stores if s is not store]

    def _link_fault(self):
        relay = self.random.choice(self.relays)
        self._link_faults[relay] = (
            time.monotonic() + self.random.uniform(0.5, 8))
        return relay

    def _restart(self, store):
        store.start()
        if store in self._old:
            directory, restarts = self._old[store]
            self._old[store] = (directory, restarts + 1)

    def _must_sync(self, store, why, numbers=None):
        error = store.sync(HEAL_S, numbers)
        if error:
            raise Violation(f"{why}: replica {store.name} is not proven equal to "
                            f"a peer within {HEAL_S} s: {error}")

    def _epoch(self, store):
        return int(store.info()["members_epoch"])

    def _list_all(self, by=None):
        """A newer member list of those that run, set where the newest is."""
        newest = by or max(self.stores, key=self._epoch)
        epoch = max(self._epoch(store) for store in self.stores) + 1
        ids = [store.info()["replica_id"] for store in self.stores]
        newest.call("REPLICATION", "MEMBERS", epoch, *ids)
        return epoch

    def _become_new(self, store, why):
        """The remedy that refusals name. What the directory holds alone has
        been synced before, so it may start empty if its data are too old."""
        self._old.pop(store, None)
        for empty in (False, True):
            store.kill()
            if empty:
                shutil.rmtree(store.directory)
            store.start(as_new=True)
            others = self._others(store)
            if max(self._epoch(other) for other in others) > 0:
                self._list_all(max(others, key=self._epoch))
            error = store.sync(HEAL_S, hopeless=None if empty else TOO_OLD)
            if error is None:
                return "as a new replica" + (", empty" if empty else "")
            if TOO_OLD not in error:
                break
        raise Violation(f"{why}, opened as a new replica, {store.name} is not "
                        f"proven equal within {HEAL_S} s: {error}")

    def _refusal(self, stores):
        """Who says of a peer, or of whom a peer says, that it is a second one:
        the store of `stores` that is refused."""
        for store in stores:
            for error in store.errors():
                if "the peer refuses" in error and by_name(error):
                    return store, error
        return None

    # --- Processes

    def kill(self):
        store = self._any()
        store.kill()
        time.sleep(self.random.choice([0, 0.2, 2]))
        self._restart(store)
        return f"kill -9 of {store.name}"

    def kill_two(self):
        pair = self.random.sample(self.stores, 2)
        for store in pair:
            store.kill()
        time.sleep(self.random.choice([0, 0.5]))
        for store in pair:
            self._restart(store)
        return f"kill -9 of {pair[0].name} and {pair[1].name}"

    def freeze(self):
        store = self._any()
        seconds = self.random.choice([0.3, 1, 5])
        store.freeze()
        time.sleep(seconds)
        if self.random.random() < 0.3:
            store.kill()
            self._restart(store)
            return f"{store.name} is stopped for {seconds} s, then killed"
        store.thaw()
        return f"{store.name} is stopped for {seconds} s"

    # --- The network

    def cut(self):
        relay = self._link_fault()
        relay.cut_now()
        return f"{relay.name} is cut"

    def delay(self):
        relay = self._link_fault()
        relay.delay_s = self.random.choice([0.01, 0.1, 0.5])
        return f"{relay.name} takes {relay.delay_s} s"

    def throttle(self):
        relay = self._link_fault()
        relay.bytes_per_s = self.random.choice([5_000, 50_000, 500_000])
        return f"{relay.name} carries {relay.bytes_per_s} B/s"

    def corrupt(self):
        relay = self._link_fault()
        relay.corrupt = self.random.choice([0.01, 0.2])
        return f"{relay.name} flips a bit in {relay.corrupt:.0%} of the pieces"

    # --- Disks

    def keep_copy(self):
        store = self._any()
        directory = f"{self._scratch}/{store.name}.old"
        store.copy_to(directory)
        self._old[store] = (directory, 0)
        return f"{store.name}'s directory is copied"

    def put_old_state_back(self):
        # A peer must have met a later opening, or nobody could tell.
        ready = [s for s, (_, restarts) in self._old.items() if restarts > 0]
        if not ready:
            return None
        store = self.random.choice(ready)
        directory, _ = self._old.pop(store)
        self._calm()
        self.writers.pause(store.number)
        try:
            self._must_sync(store, "before an old state is put back")
            store.kill()
            shutil.rmtree(store.directory)
            shutil.move(directory, store.directory)  # another disk, it may be
            why = "an old state of the disk was put back"
            refused = self._refused_at_start(store)
            deadline = time.monotonic() + REFUSED_S
            while not refused:
                refused = self._refusal([store])
                if not refused and time.monotonic() > deadline:
                    raise Violation(f"{why}, and nobody refuses {store.name} by "
                                    f"name: {store.errors()}")
                time.sleep(0.1)
            return f"{why}: {store.name} is refused, then goes on " + \
                self._become_new(store, why)
        finally:
            self.writers.resume(store.number)

    def _refused_at_start(self, store):
        try:
            store.start()
            return None
        except Died as error:
            if by_name(str(error)):
                return store, str(error)
            raise

    def run_copy(self):
        """A copy runs beside its original. Which of the two is refused depends
        on whom the peers met last; it becomes a new replica, the other goes on
        if it is the original."""
        store = self._any()
        self._calm()
        self.writers.pause(store.number)
        twin = None
        try:
            self._must_sync(store, "before a copy runs beside it")
            directory = f"{self._scratch}/{store.name}.copy"
            store.copy_to(directory)
            twin = store.twin(directory, store.name + "'s copy")
            if self._refused_at_start(twin):
                return f"a copy of {store.name} does not open"
            deadline = time.monotonic() + REFUSED_S
            while not (refused := self._refusal([twin, store])):
                if time.monotonic() > deadline:
                    raise Violation(
                        f"a copy of {store.name} runs beside it, and nobody "
                        f"refuses one of them by name: {twin.errors()} "
                        f"{store.errors()}")
                time.sleep(0.1)
            twin.kill()
            # Both may be refused, one by each peer.
            if refused[0] is store or self._soon_refused(store):
                return f"{store.name} is refused for its copy, and goes on " + \
                    self._become_new(store, "refused for a copy")
            self._must_sync(store, "after a copy ran beside it")
            return f"a copy of {store.name} is refused"
        finally:
            if twin:
                twin.kill()
                shutil.rmtree(twin.directory, ignore_errors=True)
            self.writers.resume(store.number)

    def _soon_refused(self, store):
        """By any of its peers, each of which it asks now."""
        for number in store.peers:
            error = store.sync(10, [number])
            if error and by_name(error):
                return True
        return False

    def fill_disk(self):
        store = self.stores[-1]  # it lies on a small file system of its own
        ballast = f"{os.path.dirname(store.directory)}/{BALLAST}"
        refused = self.writers.ledger.refused
        with open(ballast, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * (1 << 16))
            except OSError:
                pass
        deadline = time.monotonic() + 20
        while (self.writers.ledger.refused == refused
               and time.monotonic() < deadline):
            store.check_alive()
            time.sleep(0.1)
        refused = self.writers.ledger.refused - refused
        os.unlink(ballast)
        store.check_alive()
        return f"{store.name}'s disk is full, {refused} writes are refused"

    def resync(self):
        """A copy of a peer's files takes the place of a replica's own. What does
        that may die at any moment, and the links be as they are."""
        store = self._any()
        source = self.random.choice(self._others(store))
        store.kill()
        tool = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", self._rocksync, "resync",
             f"127.0.0.1:{store.peers[source.number]}", store.directory,
             "--certificates", store.certificates, "--cluster", "trial",
             "--copy-from-share", "0"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        dies = self.random.random() < 0.5
        try:
            said, _ = tool.communicate(
                timeout=self.random.uniform(0, 1.5) if dies else HEAL_S)
            done = "ends with " + str(tool.returncode)
        except subprocess.TimeoutExpired:
            tool.kill()
            said, _ = tool.communicate()
            done = "is killed"
        if "Corruption" in said:
            raise Violation(f"a resync of {store.name} from {source.name}: {said}")
        self._restart(store)
        said = said.strip().split("\n")[-1][:160]
        return f"a resync of {store.name} from {source.name} {done}: {said}"

    # --- Clocks

    def shift_clock(self):
        store = self._any()
        offset_s = self.random.randint(-NEAR_S, NEAR_S)
        store.set_clock(offset_s)
        self._ahead_until = time.monotonic() + NEAR_S + 5
        time.sleep(1.5)  # until the process has noticed
        return f"{store.name}'s clock is {offset_s:+d} s off"

    def far_clock(self):
        """So far ahead that peers hold back what is written; the remedy is
        `rocksync restamp`. It asks for peers that are not ahead themselves."""
        if time.monotonic() < self._ahead_until:
            return None
        for store in self.stores:
            store.set_clock(0)
        time.sleep(1.5)
        store = self._any()
        self._calm()
        offset_s = self.random.randint(*FAR_S)
        store.set_clock(offset_s)
        time.sleep(self.random.uniform(2, 4))
        self.writers.pause(store.number)
        try:
            store.kill()
            store.set_clock(0)
            restamp = subprocess.run(
                [self._rocksync, "restamp", store.directory, "--certificates",
                 store.certificates, "--cluster", "trial"],
                capture_output=True, text=True)
            if restamp.returncode != 0:
                raise Violation(f"restamp of {store.name} failed: "
                                f"{restamp.stdout}{restamp.stderr}")
            self._restart(store)
            self._must_sync(store, "after restamp")
        finally:
            self.writers.resume(store.number)
        return (f"{store.name}'s clock was {offset_s:+d} s off; "
                + restamp.stdout.strip())

    # --- What operators do

    def set_members(self):
        try:
            return f"member list {self._list_all()}"
        except (Refused, Gone):
            return None  # the newest list has not arrived where it was set

    def collect(self):
        store = self._any()
        try:
            store.call("REPLICATION", "COLLECT")
        except (Refused, Gone):
            return None
        return f"{store.name} is asked to collect tombstones"

    def hand_over(self):
        """A class of keys is written elsewhere from now on, by a replica that
        has seen all that the one before wrote."""
        key_class = self.random.randrange(CLASSES)
        old = self.stores[self.writers.owner[key_class]]
        new = self.random.choice(self._others(old))
        self.writers.pause()
        try:
            if old.sync(5, [new.number]):
                return None
            self.writers.hand_over(key_class, new.number)
        finally:
            self.writers.resume()
        return f"keys go from {old.name} to {new.name}"
