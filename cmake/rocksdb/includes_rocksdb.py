#!/usr/bin/env python3
"""Prints the files of a tree that include a header of RocksDB, themselves or through
other files of the tree: absolute paths, a line each. Reads text only, so that an
include in a branch that is not compiled counts, too.

usage: includes_rocksdb.py ROOT FOLDER...
"""
import os
import re
import sys

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)


def included_by(root: str, path: str) -> "list[str]":
    """The files of the tree that a file includes, and names that begin with rocksdb/."""
    with open(path, encoding="utf-8", errors="replace") as file:
        names = INCLUDE.findall(file.read())
    out = []
    for name in names:
        if name.startswith("rocksdb/"):
            out.append(name)
        for folder in (os.path.dirname(path), root, os.path.join(root, "include")):
            found = os.path.normpath(os.path.join(folder, name))
            if os.path.isfile(found):
                out.append(found)
                break
    return out


def main(root: str, folders: "list[str]") -> None:
    root = os.path.abspath(root)
    includers: dict[str, set[str]] = {}  # by what they include
    for folder in folders:
        for directory, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                if name.endswith((".h", ".cc", ".c")):
                    path = os.path.join(directory, name)
                    for included in included_by(root, path):
                        includers.setdefault(included, set()).add(path)
    waiting = [name for name in includers if name.startswith("rocksdb/")]
    reached: set[str] = set()
    while waiting:
        for path in includers.get(waiting.pop(), set()) - reached:
            reached.add(path)
            waiting.append(path)
    print("\n".join(sorted(reached)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
