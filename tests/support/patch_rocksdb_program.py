#!/usr/bin/env python3
"""Copies those sources of one of RocksDB's own programs that have to know of rocksync,
and alters them: databases are opened through ReplicatedDB, and db_stress knows the index
as a family that is not its own; tests of Bloom filters make ours.

usage: patch_rocksdb_program.py PROGRAM ROCKSDB_SOURCE RESULT
"""
import os
import re
import sys

# By program: the header that declares what the altered sources call.
HEADERS = {
    "db_stress": "tests/stress/open_replicated.h",
    "db_bench": "tests/bench/db_bench/open.h",
    "bloom_test": "tests/bloom/policy.h",
    "db_bloom_filter_test": "tests/bloom/policy.h",
}

# By program and file: what is replaced, by what, and how often at least. Another RocksDB
# may have written it in another way, and must not pass unaltered.
REPLACEMENTS = {
    "db_stress": {
        "db_stress_tool/db_stress_test_base.cc": [
            (r"(?<![\w:])DB::Open\(", "rocksync::stress::Open(", 2),
            (r"(?<![\w:])DB::ListColumnFamilies\(", "rocksync::stress::ListColumnFamilies(", 1),
            # Handles are given back to the database that they are of.
            (r"(for \(auto cf : column_families_\) \{\s*)delete cf;", r"\1db_->DestroyColumnFamilyHandle(cf);", 1),
        ],
        "db_stress_tool/db_stress_listener.h": [
            (r"bool IsValidColumnFamilyName\(const std::string& cf_name\) const \{",
             r"\g<0> if (cf_name == rocksync::kIndexFamilyName) return true;", 1),
        ],
        "db_stress_tool/cf_consistency_stress.cc": [
            # A range without a key in it takes no sequence number here. Not in old versions.
            (r"latest_seq_before \+ static_cast<SequenceNumber>\(batch\.Count\(\)\)", "latest_seq_before", 0),
        ],
    },
    "db_bench": {
        "tools/db_bench_tool.cc": [
            # The database of one family; newer versions open it by a hook.
            (r"(?:(?<![\w:])DB::|hooks\.)Open\((?=options, db_name, &db->db)", "rocksync::db_bench::Open(", 1),
        ],
    },
    "bloom_test": {
        "util/bloom_test.cc": [
            (r"BloomLikeFilterPolicy::Create\(GetParam\(\), ", "rocksync::bloom::SharedPolicy(", 1),
        ],
    },
    "db_bloom_filter_test": {
        "db/db_bloom_filter_test.cc": [
            (r"BloomLikeFilterPolicy::Create\(name, ", "rocksync::bloom::SharedPolicy(", 1),
            (r"(?:ROCKSDB_NAMESPACE::)?\bNewBloomFilterPolicy\(", "rocksync::bloom::NewPolicy(", 10),
        ],
    },
}


def main(program: str, source: str, result: str) -> None:
    for name, replacements in REPLACEMENTS[program].items():
        with open(os.path.join(source, name), encoding="utf-8") as file:
            text = file.read()
        for pattern, replacement, least in replacements:
            text, count = re.subn(pattern, replacement, text)
            if count < least:
                sys.exit(f"{source}/{name}: '{pattern}' is there {count} times, not {least}")
        path = os.path.join(result, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'#include "{HEADERS[program]}"\n' + text)


if __name__ == "__main__":
    main(*sys.argv[1:])
