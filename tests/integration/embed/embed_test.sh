#!/usr/bin/env bash
# examples/embed on two databases that RocksDB's own tool made: they become
# equal, and that tool still reads them.
# usage: embed_test.sh EMBED SOURCE ROCKSYNC
set -euo pipefail
embed=$1 source=$2 tool=$3
work=$(mktemp -d)
pids=()
finished=0
cleanup() {
  local status=$?
  # However it ended, a test that did not come to its end has not passed.
  if (( status == 0 && ! finished )); then status=1; fi
  if (( ${#pids[@]} )); then kill -9 "${pids[@]}" 2>/dev/null || true; fi
  wait 2>/dev/null || true
  (( status == 0 )) || tail -n 20 "$work"/*.out
  rm -rf "$work"
  exit "$status"
}
trap cleanup EXIT
trap 'exit 1' INT TERM
fail() { echo "FAILED: $*"; exit 1; }

ldb put --db="$work/a" --create_if_missing old_a from_a > /dev/null
ldb put --db="$work/a" both same > /dev/null
ldb put --db="$work/b" --create_if_missing old_b from_b > /dev/null
ldb put --db="$work/b" both same > /dev/null

start() {  # NAME LISTEN PEER
  mkfifo "$work/$1.in"
  "$embed" "$work/$1" "127.0.0.1:$2" "127.0.0.1:$3" "$work/trial" \
    < "$work/$1.in" > "$work/$1.out" 2>&1 &
  pids+=($!)
}
port=$(( 28000 + RANDOM % 4000 ))
start a "$port" $(( port + 1 ))
exec 3> "$work/a.in"
start b $(( port + 1 )) "$port"
exec 4> "$work/b.in"

# ask FD NAME KEY WANTED: until the answer is right.
ask() {
  local i
  for (( i = 0; i < 150; ++i )); do
    echo "$3" >&"$1"
    sleep 0.2
    if [[ $(tail -n 1 "$work/$2.out") == "$4" ]]; then return 0; fi
  done
  fail "$3 on $2 is not '$4' but '$(tail -n 1 "$work/$2.out")'"
}
ask 3 a old_b from_b
ask 4 b old_a from_a
echo "new_a hello world" >&3
ask 4 b new_a "hello world"

# What the source begins with shows their status.
commands=$(sed -n 's|^//   \(.*\)|\1|p' "$source" | grep -v '^embed ')
[[ $commands == *"rocksync status"* ]] || fail "the source shows no status"
commands=${commands//127.0.0.1:7401/127.0.0.1:$port}
shown=$(cd "$work" && eval "${commands//rocksync /$tool }") || fail "status"
[[ $shown == *"127.0.0.1:$(( port + 1 ))"* ]] || fail "status: $shown"
exec 3>&- 4>&-
for pid in "${pids[@]}"; do wait "$pid" || fail "a program ended badly"; done
pids=()

# The data are plain RocksDB's.
for name in a b; do
  got=$(ldb scan --db="$work/$name" 2>/dev/null)
  wanted=$'both : same\nnew_a : hello world\nold_a : from_a\nold_b : from_b'
  # Releases of ldb put "==>" or ":" between key and value.
  [[ ${got// ==> / : } == "$wanted" ]] || fail "scan of $name: $got"
done
finished=1
echo ok
