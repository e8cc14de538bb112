#!/bin/bash
# Benchmarks refuse values that CLI11 by itself would take: bench_heal and
# bench_sessions, in this order.
set -euo pipefail
refuses() {
  local code=0
  timeout 20 "$@" > /dev/null 2>&1 || code=$?
  # What CLI11 calls a validation error.
  (( code == 105 )) || { echo "exit code $code, not 105: $*" >&2; exit 1; }
}
refuses "$1" --scale nan
refuses "$1" --scale 1e30
refuses "$1" --only nope
refuses "$2" --n -5
refuses "$2" --n 1000 --only-a -1
refuses "$2" --n 1000 --overwrites -1
refuses "$2" --session-bytes 1
