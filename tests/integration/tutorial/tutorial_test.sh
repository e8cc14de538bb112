#!/usr/bin/env bash
# Runs each command of a document's ```sh blocks, as it stands there; only the
# ports are others, so that tests may run side by side.
# usage: tutorial_test.sh DOCUMENT LINES STORE ROCKSYNC
# LINES: at least as many are there.
set -euo pipefail
document=$1 lines=$2 store=$3 rocksync=$4
work=$(mktemp -d)
finished=0
cleanup() {
  local status=$? pid
  if ((status == 0 && !finished)); then status=1; fi
  for pid in "$work"/run/*.pid; do
    [[ ! -f $pid ]] || kill -9 "$(cat "$pid")" 2>/dev/null || true
  done
  ((status == 0)) || { tail -n 40 "$work/said"; tail -n 5 "$work"/run/*.log; }
  rm -rf "$work"
  exit "$status"
}
trap cleanup EXIT

# All digits but the last one, of ports below those that the system gives away.
ports=$((2000 + RANDOM % 400))
{
  echo 'set -euo pipefail'
  sed -n '/^```sh$/,/^```$/ { /^```/d; p }' "$document" |
    sed -E "s/\b740(\\$|[0-9])/@7\1/g; s/\b640(\\$|[0-9])/@6\1/g; s/\b748(\\$|[0-9])/@8\1/g" |
    sed -E "s/@7/$ports/g; s/@6/$((ports + 1))/g; s/@8/$((ports + 2))/g"
  # What was told to end still writes for a moment, and is in the way of rm.
  echo 'jobs -p | xargs -r kill 2>/dev/null || true; wait'
} >"$work/tutorial.sh"
(($(wc -l <"$work/tutorial.sh") > lines)) || { echo "cannot read $document"; exit 1; }

mkdir "$work/bin" "$work/run"
ln -s "$(realpath "$store")" "$work/bin/rocksync-store"
ln -s "$(realpath "$rocksync")" "$work/bin/rocksync"
cd "$work/run"
PATH=$work/bin:$PATH timeout 180 bash -x "$work/tutorial.sh" >"$work/said" 2>&1
finished=1
echo ok
