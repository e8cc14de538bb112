# For tests in bash: replicas in a temporary directory, on ports of their own,
# all killed and removed when the test ends.
# Sourced with STORE, the path of replicated_store, set.
# shellcheck shell=bash

set -euo pipefail
work=$(mktemp -d)
finished=0
declare -A replica_pid=() redis_port=() peer_address=()

cleanup() {
  local status=$? name
  # However it ended, a test that did not come to its end has not passed.
  if (( status == 0 && ! finished )); then status=1; fi
  for name in "${!replica_pid[@]}"; do
    kill -9 "${replica_pid[$name]}" 2>/dev/null || true
    if (( status != 0 )); then
      echo "--- log of replica $name"; tail -n 20 "$work/$name.log"
    fi
  done
  wait 2>/dev/null || true
  rm -rf "$work"
  exit "$status"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

# The end of every test.
pass() { finished=1; echo ok; }

fail() { echo "FAILED: $*"; exit 1; }

# expect WHAT WANTED GOT
expect() { [[ $3 == "$2" ]] || fail "$1: wanted '$2', got '$3'"; }

# expect_in WHAT PART WHOLE
expect_in() { [[ $3 == *"$2"* ]] || fail "$1: wanted '$2' in '$3'"; }

# wait_until WHAT COMMAND...: tries for half a minute.
wait_until() {
  local what=$1 i; shift
  for (( i = 0; i < 300; ++i )); do
    if "$@" >/dev/null 2>&1; then return 0; fi
    sleep 0.1
  done
  fail "$what did not come true"
}

# Prints a port on which nobody listens, not one of those that the system gives
# to connections.
free_port() {
  local port
  while true; do
    port=$(( 15000 + RANDOM % 5000 ))
    (exec 3<> "/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
  done
  echo "$port"
}

# start_replica NAME ARGUMENTS...: and waits until it answers.
start_replica() {
  local name=$1 port arguments; shift
  arguments=(--dir "$work/$name" --redis-port 0 "$@")
  # A replica that was down is to have its port again.
  [[ " $* " == *" --listen "* ]] ||
    arguments+=(--listen "127.0.0.1:$(free_port)")
  [[ " $* " == *" --certificates "* ]] || arguments+=(--certificates "$work/certificates")
  : > "$work/$name.log"
  "$STORE" "${arguments[@]}" >> "$work/$name.log" 2>&1 &
  replica_pid[$name]=$!
  wait_until "replica $name answering" answers "$name"
  port=$(sed -nE 's/.*redis-cli .* -p ([0-9]+).*/\1/p' "$work/$name.log")
  redis_port[$name]=$port
  peer_address[$name]=$(sed -nE 's/.*peers connect to ([^ ]+).*/\1/p' "$work/$name.log")
}

answers() { grep -q 'redis-cli .* -p ' "$work/$1.log"; }

# stop_replica NAME: by SIGTERM; it must end well.
stop_replica() {
  kill -TERM "${replica_pid[$1]}"
  local status=0
  wait "${replica_pid[$1]}" || status=$?
  unset "replica_pid[$1]"
  expect "status of replica $1" 0 "$status"
}

# kill_replica NAME: by SIGKILL.
kill_replica() {
  kill -9 "${replica_pid[$1]}"
  wait "${replica_pid[$1]}" 2>/dev/null || true
  unset "replica_pid[$1]"
}

# run_store ARGUMENTS...: one that is expected to end by itself; its output.
run_store() { timeout 30 "$STORE" "$@" 2>&1; }

# cli NAME WORDS...: redis-cli, with errors on its output.
cli() {
  local name=$1; shift
  redis-cli -p "${redis_port[$name]}" "$@" 2>&1
}

# replication NAME FIELD: of INFO's replication section.
replication() {
  cli "$1" INFO replication | tr -d '\r' | sed -n "s/^$2://p"
}

# sync_pair NAME PEER: until proven equal.
sync_pair() {
  wait_until "$1 being equal to $2" syncs "$1" "$2"
}
syncs() { [[ $(cli "$1" REPLICATION SYNC "${peer_address[$2]}") == OK ]]; }
