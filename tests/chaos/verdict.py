"""The end: replicas heal, stop, and their databases are read with plain
RocksDB."""

import json
import subprocess
import time

from client import Gone, Refused
from faults import Violation

HEAL_S = 180
MOST_LEAD_MS = 120_000  # clocks have been ahead
MOST_COMPLAINTS = 8


def heal(stores, binaries):
    """Until each is proven equal to each other one, with no session between
    that changed anything."""
    deadline = time.monotonic() + HEAL_S
    while True:
        errors = [f"{store.name}: {error}" for store in stores
                  for number in store.peers
                  if (error := store.sync(0, [number]))]
        if not errors and _verify(stores, binaries):
            return
        if time.monotonic() > deadline:
            raise Violation(f"replicas are not equal within {HEAL_S} s: "
                            + "; ".join(errors or ["rocksync verify says so"]))
        for store in stores:
            store.check_alive()
        time.sleep(0.5)


def _verify(stores, binaries):
    for i, left in enumerate(stores):
        for right in stores[i + 1:]:
            done = subprocess.run(
                [f"{binaries}/rocksync", "verify",
                 f"127.0.0.1:{left.peer_port}", f"127.0.0.1:{right.peer_port}",
                 "--certificates", left.certificates, "--cluster", "trial"],
                capture_output=True, text=True)
            if done.returncode != 0:
                return False
    return True


def scan(store, binaries):
    done = subprocess.run(
        [f"{binaries}/chaos_scan", store.directory,
         f"{store.certificates}/trial-secret", str(MOST_LEAD_MS)],
        capture_output=True, text=True)
    if done.returncode != 0:
        raise Violation(f"replica {store.name} cannot be read: {done.stderr}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return lines[0], {line["key"]: line["value"] for line in lines[1:]}


def drop_pair(store, key, binaries):
    """A planted fault: a foreign write."""
    subprocess.run([f"{binaries}/chaos_scan", store.directory, "--drop", key],
                   check=True)


def complaints(stores, ledger, binaries):
    """What is wrong with the databases of offline replicas; empty: nothing."""
    wrong = []
    found = {}
    for store in stores:
        summary, found[store.name] = scan(store, binaries)
        wrong += [f"replica {store.name}: {what}" for what in summary["wrong"]]
        if summary["being_read"] or not summary["has_index"]:
            wrong.append(f"replica {store.name}: the index is not complete")
        if store is stores[0]:
            live = summary["live"]
        elif summary["live"] != live:
            wrong.append(f"replica {store.name}: entries differ from those of "
                         f"{stores[0].name}")
    first = found[stores[0].name]
    for name, pairs in found.items():
        differ = [k for k in pairs.keys() | first.keys()
                  if pairs.get(k) != first.get(k)]
        if differ:
            wrong.append(f"replica {name} holds {len(differ)} other pairs than "
                         f"{stores[0].name}, e.g. of {sorted(differ)[0]}")
    for name, pairs in found.items():
        for key in sorted(set(ledger.keys()) | pairs.keys()):
            complaint = ledger.complaint(key, pairs.get(key))
            if complaint:
                wrong.append(f"replica {name}: {complaint}")
    return wrong
