#!/usr/bin/env python3
"""RocksDB's own benchmark, db_bench of the RocksDB at hand with its default options, on a
plain and on a replicated database in turn: what the replicated one reaches of the plain
one's operations per second. With --two-families also plain RocksDB that puts an entry of
the size of the index's into a second family beside each pair: what such an index costs if
RocksDB itself keeps it.

Each line is the median over the rounds, least and most behind it. Of benchmarks that
write beside reading, db_bench counts the reads.
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

# Each of them is one run of db_bench: its name, its threads, and what is run in turn in one
# database.
RUNS = [
    ("", 1, ["fillrandom", "overwrite", "readrandom", "multireadrandom", "readseq", "seekrandom",
             "seekrandomwhilewriting", "readwhilewriting", "updaterandom", "deleterandom"]),
    ("2 threads: ", 2, ["fillrandom", "overwrite"]),
]


def rates(options: argparse.Namespace, kind: str, threads: int, benchmarks: "list[str]") -> "dict[str, float]":
    """Operations per second by benchmark."""
    directory = tempfile.mkdtemp(prefix="rocksync_db_bench_", dir=options.directory)
    try:
        command = [options.db_bench, kind, f"--db={directory}/db", f"--num={options.num}", f"--threads={threads}",
                   f"--value_size={options.value_size}", f"--benchmarks={','.join(benchmarks)}"]
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace")
    finally:
        shutil.rmtree(directory)
    found = {name: float(rate) for name, rate in
             re.findall(r"^(\w+) *: +[\d.]+ micros/op +([\d.]+) ops/sec", done.stdout, re.M)}
    missing = [name for name in benchmarks if not found.get(name)]
    if done.returncode != 0 or missing:
        sys.exit(f"{done.stdout}\n{' '.join(command)} ended with {done.returncode}, without: {', '.join(missing)}")
    return found


def measure(options: argparse.Namespace, prefix: str, threads: int, benchmarks: "list[str]") -> "list[dict]":
    kinds = ["plain", "replicated"] + ["two_families"] * options.two_families
    measured = {kind: [] for kind in kinds}
    for number in range(options.rounds):
        # Now one, now the other begins.
        for kind in kinds if number % 2 == 0 else kinds[::-1]:
            print(f"{prefix}round {number + 1} of {options.rounds}, {kind}", file=sys.stderr, flush=True)
            measured[kind].append(rates(options, kind, threads, benchmarks))
    lines = []
    for name in benchmarks:
        plain = [round_rates[name] for round_rates in measured["plain"]]
        for kind in kinds[1:]:
            ratios = [mine[name] / beside for mine, beside in zip(measured[kind], plain)]
            lines.append({
                "case": prefix + name,
                "kind": kind,
                "ratio": round(statistics.median(ratios), 3),
                "least": round(min(ratios), 3),
                "most": round(max(ratios), 3),
                "plain_per_second": round(statistics.median(plain)),
                "rounds": options.rounds,
            })
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench db_bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num", type=int, default=1000000, help="keys, and operations of each benchmark (%(default)s)")
    parser.add_argument("--value_size", type=int, default=100, help="bytes (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="of each kind (%(default)s)")
    parser.add_argument("--only", metavar="NAME", help="a benchmark, and what has to be run before it; one of: " + ", ".join(RUNS[0][2]))
    parser.add_argument("--two-families", action="store_true", help="measure plain RocksDB with a second family, too")
    parser.add_argument("--directory", default=None, help="where the databases are, on a disk of one's choice")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each case")
    parser.add_argument("--db-bench", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.num < 1 or options.value_size < 1 or options.rounds < 1:
        parser.error("--num, --value_size and --rounds are at least 1")
    if options.only and not any(options.only in benchmarks for _, _, benchmarks in RUNS):
        parser.error(f"--only knows: {', '.join(RUNS[0][2])}")
    if options.directory and not os.path.isdir(options.directory):
        parser.error(f"--directory {options.directory} is not a directory")

    if not options.json:
        print(f"{'db_bench':34}{'kind':14}{'ratio':>7}   {'least, most':14}{'plain/s':>10}")
    for prefix, threads, benchmarks in RUNS:
        if options.only:
            if options.only not in benchmarks:
                continue
            benchmarks = list(dict.fromkeys([benchmarks[0], options.only]))
        for line in measure(options, prefix, threads, benchmarks):
            if options.json:
                print(json.dumps(line), flush=True)
            else:
                scatter = f"({line['least']:.2f}, {line['most']:.2f})"
                print(f"{line['case']:34}{line['kind']:14}{line['ratio']:7.2f}   {scatter:14}{line['plain_per_second']:10}", flush=True)


if __name__ == "__main__":
    main()
