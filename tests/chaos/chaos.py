#!/usr/bin/env python3
"""Real replicas under faults, and clients that remember what was acknowledged.

Three processes of the example store, Redis clients that put, overwrite and
delete, and faults in random turns. In the end all replicas must be equal, by
their own proof and by a plain scan, and hold what was acknowledged. The first
violation ends with exit code 1 and leaves the directories.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time

import verdict
from client import Gone, Refused
from faults import Faults, Violation
from ledger import DELETED, Ledger
from relay import Relay
from store import Died, Store, find_libfaketime
from writers import Writers

REPLICAS = 3
TMPFS_MIB = 220
DISK = "disk"
PROGRESS_S = 5
NO_ANSWER_S = 60


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="chaos", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1,
                        help="how long faults go on (default: 1)")
    parser.add_argument("--seed", type=int, help="of what happens in which "
                        "order; times are the machine's (default: by chance)")
    parser.add_argument("--json", action="store_true",
                        help="a JSON object a line: one a fault, a summary")
    parser.add_argument("--dir", default="build/chaos",
                        help="for everything that is written (default: "
                        "build/chaos); made anew")
    parser.add_argument("--bin", default="build/release/bin",
                        help="where the programs are")
    parser.add_argument("--full-disk", action="store_true",
                        help="one replica lies on a small tmpfs that is filled "
                        "now and then; needs root")
    parser.add_argument("--plant", choices=["lose-write", "revive", "drop-pair"],
                        help="a fault that must be noticed")
    return parser.parse_args()


class Chaos:

    def __init__(self, options):
        self.options = options
        self.seed = (options.seed if options.seed is not None
                     else random.SystemRandom().randrange(1 << 31))
        self.random = random.Random(self.seed)
        self.scratch = os.path.abspath(options.dir)
        self.binaries = os.path.abspath(options.bin)
        self.mounted = None
        self.begin = time.monotonic()
        self.noticed = []  # by clients while all goes on
        self.ledger = Ledger()
        self.stores, self.faults, self.writers = [], None, None

    def run(self):
        """Returns the violations."""
        try:
            self._start()
            self._faults()
            return self.noticed or self._end()
        except (Violation, Died) as error:
            return [str(error)]
        except (Refused, Gone) as error:
            return [f"a replica did not answer as it should: {error}"]
        finally:
            for store in self.stores:
                store.kill()

    def _start(self):
        if os.path.ismount(f"{self.scratch}/{DISK}"):  # of a run that failed
            subprocess.run(["umount", f"{self.scratch}/{DISK}"], check=True)
        shutil.rmtree(self.scratch, ignore_errors=True)
        os.makedirs(self.scratch)
        self.stores = [Store(i, self.binaries, self.scratch)
                       for i in range(REPLICAS)]
        if self.options.full_disk:
            self._mount(self.stores[-1])
        relays = []
        for near in self.stores:
            for far in self.stores:
                if near is far:
                    continue
                relay = Relay(far.peer_port, self.random.random())
                relay.name = f"the link from {near.name} to {far.name}"
                near.peers[far.number] = relay.port
                relays.append(relay)
        for store in self.stores:
            store.start()
        self.writers = Writers(self.stores, self.ledger, self.seed,
                               self.noticed.append)
        self.faults = Faults(self.stores, relays, self.writers, self.binaries,
                             self.scratch, self.random, self.options.full_disk)

    def _mount(self, store):
        self.mounted = f"{self.scratch}/{DISK}"
        os.makedirs(self.mounted)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={TMPFS_MIB}m",
                        "tmpfs", self.mounted], check=True)
        store.directory = f"{self.mounted}/{store.name}"

    def unmount(self):
        if self.mounted:
            subprocess.run(["umount", self.mounted], check=True)

    def _faults(self):
        self.writers.resume()
        until = self.begin + self.options.minutes * 60
        shown = 0
        while not self.noticed and (time.monotonic() < until
                                    or self._wait_for_writes(until)):
            time.sleep(self.random.uniform(0, 1))
            done = self.faults.turn()
            for store in self.stores:
                store.check_alive()
            if self.writers.longest_wait_s() > NO_ANSWER_S:
                raise Violation(f"a client has waited for {NO_ANSWER_S} s")
            if done:
                self._say(done)
            if time.monotonic() > shown + PROGRESS_S:
                shown = time.monotonic()
                self._progress()
        self.faults.end()
        self.writers.pause()
        self.writers.stop()

    def _wait_for_writes(self, until):
        """Whether a short run on a busy machine has to go on to show
        anything."""
        return not self._live() and time.monotonic() < until + NO_ANSWER_S

    def _live(self):
        """Owned keys that surely have a value."""
        return [k for k in sorted(self.ledger.keys()) if k.startswith("own")
                and DELETED not in self.ledger.possible(k)]

    def _end(self):
        self._progress()
        self._note("faults are over; replicas heal")
        verdict.heal(self.stores, self.binaries)
        for store in self.stores:
            store.stop()
        self._plant()
        return verdict.complaints(self.stores, self.ledger, self.binaries)

    def _plant(self):
        """What a database or a replica that lies would look like."""
        plant = self.options.plant
        live = self._live()
        if plant == "drop-pair":
            verdict.drop_pair(self.stores[1], live[0], self.binaries)
        elif plant:
            value = DELETED if plant == "revive" else "acknowledged, never sent"
            owner = self.writers.owner[int(live[0][3])]
            self.ledger.acknowledge(
                live[0], owner, self.ledger.begin(live[0], owner, value))

    def _seconds(self):
        return time.monotonic() - self.begin

    def _say(self, what):
        if self.options.json:
            print(json.dumps({"s": round(self._seconds(), 1), "fault": what}),
                  flush=True)
        else:
            self._note(what)

    def _note(self, what):
        print(f"{self._seconds():7.1f} s  {what}", file=sys.stderr, flush=True)

    def _progress(self):
        self._note(f"{self.ledger.acknowledged} writes acknowledged, "
                   f"{self.ledger.refused} refused, {self.ledger.unanswered} "
                   f"unanswered; {sum(self.faults.counts.values())} faults")

    def report(self, wrong):
        counts = self.faults.counts if self.faults else {}
        if self.options.json:
            print(json.dumps({
                "seed": self.seed, "minutes": self.options.minutes,
                "seconds": round(self._seconds(), 1),
                "faults": counts, "clocks": find_libfaketime() is not None,
                "full_disk": self.options.full_disk,
                "acknowledged": self.ledger.acknowledged,
                "refused": self.ledger.refused,
                "unanswered": self.ledger.unanswered, "violations": wrong}))
            return
        for what in wrong[:verdict.MOST_COMPLAINTS]:
            print(f"violation: {what}")
        print(f"{len(wrong)} violations, seed {self.seed}: "
              f"{self.ledger.acknowledged} writes acknowledged, "
              f"{sum(counts.values())} faults in {self._seconds():.0f} s")
        print("  " + ", ".join(f"{name.replace('_', ' ')} {count}"
                               for name, count in sorted(counts.items())))
        if wrong:
            print(f"what is left is in {self.scratch}; again: ./dev chaos "
                  f"--minutes {self.options.minutes} --seed {self.seed}")


def main():
    options = parse_arguments()
    chaos = Chaos(options)
    print(f"chaos: seed {chaos.seed}, {chaos.scratch}", file=sys.stderr)
    if not find_libfaketime():
        print("chaos: libfaketime is not there, so clocks are left alone",
              file=sys.stderr)
    wrong = chaos.run()
    chaos.report(wrong)
    if wrong:
        return 1
    chaos.unmount()
    shutil.rmtree(chaos.scratch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
