#!/usr/bin/env python3
"""docs/testing.md names every argument that stress.py sets, for whoever asks what the
machine does not see.

usage: documented_test.py DOCUMENT
"""
import re
import sys

import stress


def main(document: str) -> None:
    with open(document, encoding="utf-8") as file:
        named = set(re.findall(r"`(\w+)`", file.read()))
    missing = set(stress.ARGUMENTS) - named
    if missing:
        sys.exit(f"{document} does not name: {', '.join(sorted(missing))}")
    print(f"{len(stress.ARGUMENTS)} arguments are named")


if __name__ == "__main__":
    main(*sys.argv[1:])
