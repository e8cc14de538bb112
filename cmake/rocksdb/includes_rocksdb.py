#!/usr/bin/env python3
"""Whether a source, or any file of this project that it includes, includes a header of
RocksDB. Exits with 0 if so, with 1 if not. Reads text only, so that an include in a
branch that is not compiled counts, too.

usage: includes_rocksdb.py ROOT SOURCE
"""
import os
import re
import sys

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)


def includes_rocksdb(root: str, source: str) -> bool:
    waiting, seen = [source], {source}
    while waiting:
        path = waiting.pop()
        with open(path, encoding="utf-8", errors="replace") as file:
            names = INCLUDE.findall(file.read())
        for name in names:
            if name.startswith("rocksdb/"):
                return True
            for folder in (os.path.dirname(path), root, os.path.join(root, "include")):
                found = os.path.normpath(os.path.join(folder, name))
                if os.path.isfile(found):
                    if found not in seen:
                        seen.add(found)
                        waiting.append(found)
                    break
    return False


if __name__ == "__main__":
    sys.exit(0 if includes_rocksdb(sys.argv[1], sys.argv[2]) else 1)
