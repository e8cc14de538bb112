#!/usr/bin/env bash
# Redis' own client and benchmark against one store.
# usage: redis_cli_test.sh REPLICATED_STORE
STORE=$1
source "$(dirname "${BASH_SOURCE[0]}")/replica.sh"

start_replica a
expect PING PONG "$(cli a PING)"
expect SET OK "$(cli a SET key "two words")"
expect GET "two words" "$(cli a GET key)"
expect MSET OK "$(cli a MSET a 1 b 2 c 3)"
expect MGET $'1\n\n3' "$(cli a MGET a nosuch c)"
expect EXISTS 2 "$(cli a EXISTS a b nosuch)"
expect DEL 1 "$(cli a DEL b nosuch)"
expect DBSIZE 3 "$(cli a DBSIZE)"
expect --scan $'a\nc' "$(cli a --scan --pattern '[a-d]')"
expect_in "an unknown command" "unknown command" "$(cli a INCR a)"
expect_in INFO "# Replication" "$(cli a INFO)"
expect_in COMMAND mget "$(cli a COMMAND)"
expect_in CONFIG appendonly "$(cli a CONFIG GET appendonly)"

# Large values, through a pipe.
head -c 60000000 /dev/urandom > "$work/large"
expect "SET of 60 MB" OK "$(cli a -x SET large < "$work/large")"
# redis-cli ends what it prints with a line break.
cli a --raw GET large | head -c 60000000 | cmp - "$work/large" || fail "a large value"
expect DEL 1 "$(cli a DEL large)"
head -c 70000000 /dev/zero > "$work/too_large"
cli a -x SET large < "$work/too_large" >/dev/null || true
expect "PING after a value that is too large" PONG "$(cli a PING)"
expect "EXISTS of it" 0 "$(cli a EXISTS large)"

# Many commands at once, as redis-cli --pipe sends them.
for (( i = 0; i < 5000; ++i )); do echo "SET pipe:$i value"; done |
  cli a --pipe | grep -q 'errors: 0, replies: 5000' || fail "--pipe"
expect "--scan of them" 5000 "$(cli a --scan --pattern 'pipe:*' | wc -l)"

# redis-benchmark, with pipelines and without.
for pipeline in 1 16; do
  redis-benchmark -p "${redis_port[a]}" -t ping,set,get,mset -n 2000 -c 20 \
    -P "$pipeline" -r 1000 -d 100 --csv > "$work/benchmark" 2>&1 ||
    fail "redis-benchmark: $(cat "$work/benchmark")"
  for test in PING_INLINE PING_MBULK SET GET "MSET (10 keys)"; do
    grep -qF "\"$test\"" "$work/benchmark" ||
      fail "redis-benchmark has no $test: $(cat "$work/benchmark")"
  done
  cat "$work/benchmark"
done

# What was acknowledged is there after a stop, and after a kill.
stop_replica a
start_replica a
expect "GET after a stop" "two words" "$(cli a GET key)"
expect SET OK "$(cli a SET last word)"
kill_replica a
start_replica a
expect "GET after a kill" word "$(cli a GET last)"
expect FLUSHALL OK "$(cli a FLUSHALL)"
expect "DBSIZE after FLUSHALL" 0 "$(cli a DBSIZE)"
stop_replica a
pass
