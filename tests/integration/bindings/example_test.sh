#!/usr/bin/env bash
# An example of two replicas, in whatever language, ends with two that are equal,
# whose pairs RocksDB's own tool reads.
# usage: example_test.sh PROGRAM
set -euo pipefail
program=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$program" | tee said
[[ $(cat said) == "equal: true" ]] || { echo "the replicas are not equal"; exit 1; }
for name in a b; do
  ldb scan --db="$name" 2>/dev/null | sed 's/ ==> / : /' >"$name.pairs"
  printf 'from a : 1\nfrom b : 2\n' | cmp - "$name.pairs" || { echo "pairs of $name"; exit 1; }
done
