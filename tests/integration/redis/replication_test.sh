#!/usr/bin/env bash
# Two stores and redis-cli: they become equal by themselves and on request, and
# not while one is paused.
# usage: replication_test.sh REPLICATED_STORE
STORE=$1
source "$(dirname "${BASH_SOURCE[0]}")/replica.sh"

start_replica a --sync-interval-ms 200
start_replica b --sync-interval-ms 200 --peer "${peer_address[a]}"

more_bytes_than() { (( $(replication b bytes_total) > $1 )); }
has() { [[ $(cli "$1" GET "$2") == "$3" ]]; }

# By themselves, both ways.
cli a SET from_a 1 >/dev/null
cli b SET from_b 2 >/dev/null
wait_until "a's pair being on b" has b from_a 1
wait_until "b's pair being on a" has a from_b 2

# Not while paused. Replica c, which is not, is the clock: meanwhile it has as
# many sessions with a as b would have had.
start_replica c --sync-interval-ms 200 --peer "${peer_address[a]}"
expect PAUSE OK "$(cli b REPLICATION PAUSE)"
expect paused 1 "$(replication b paused)"
more_sessions() { (( $(replication c sessions) >= sessions + 5 )); }
# A session that had begun before goes on; it is over by then.
sessions=$(replication c sessions)
wait_until "five sessions of c" more_sessions
cli a MSET x a y a >/dev/null
cli b MSET x b z b >/dev/null
cli a DEL from_b >/dev/null
wait_until "a's pair being on c" has c y a
sessions=$(replication c sessions)
wait_until "five more sessions of c" more_sessions
stop_replica c
expect "b's x while apart" b "$(cli b GET x)"
expect "b's y while apart" "" "$(cli b GET y)"
expect "b's from_b while apart" 2 "$(cli b GET from_b)"
expect RESUME OK "$(cli b REPLICATION RESUME)"
sync_pair b a
expect "a's x, of which b's is later" b "$(cli a GET x)"
expect "b's y" a "$(cli b GET y)"
expect "a's z" b "$(cli a GET z)"
expect "b's from_b" 0 "$(cli b EXISTS from_b)"
expect "a's from_b" 0 "$(cli a EXISTS from_b)"

# The figures are there.
[[ $(replication a pairs_sent) -ge 2 ]] || fail "pairs_sent of a"
[[ $(replication b pairs_applied) -ge 2 ]] || fail "pairs_applied of b"
[[ $(replication b peer0_last_proven_equal_ms) -gt 0 ]] || fail "last_proven_equal_ms"
expect "address of the peer" "${peer_address[a]}" "$(replication b peer0_address)"
expect "id of the peer" "$(replication a replica_id)" "$(replication b peer0_replica_id)"

# A scrub on request.
before=$(replication a scrub_last_finished_ms)
expect SCRUB OK "$(cli a REPLICATION SCRUB)"
[[ $(replication a scrub_last_finished_ms) -gt $before ]] || fail "no scrub of a is over"
expect "pairs that the scrub compared" "$(cli a DBSIZE)" "$(replication a scrub_pairs_compared)"
expect "pairs that are not what was written" 0 "$(replication a scrub_corruption_found)"

# FLUSHALL travels as deletes.
cli a FLUSHALL >/dev/null
sync_pair b a
expect "DBSIZE of b" 0 "$(cli b DBSIZE)"

# A replica that is down is named, and comes back.
kill_replica a
expect_in "SYNC with a peer that is down" "${peer_address[a]}" \
  "$(cli b REPLICATION SYNC "${peer_address[a]}")"
expect "PING" PONG "$(cli b PING)"
cli b SET meanwhile 3 >/dev/null
start_replica a --listen "${peer_address[a]}" --sync-interval-ms 200
wait_until "what was written meanwhile being on a" has a meanwhile 3

# A stream to one that is frozen ends after the limit, although this one goes on
# speaking, and the other's machine acknowledges what it says.
stop_replica a
stop_replica b
start_replica a --listen "${peer_address[a]}" --sync-interval-ms 200 --peer-timeout-ms 2000
start_replica b --sync-interval-ms 200 --peer "${peer_address[a]}" --peer-timeout-ms 2000
streams_of_b() { [[ $(replication b streams) == "$1" ]]; }
wait_until "the stream from b to a" streams_of_b 1
kill -STOP "${replica_pid[a]}"
wait_until "the end of the stream from b to a" streams_of_b 0
kill -CONT "${replica_pid[a]}"
# Which is what it was told; the log says how long a was silent.
grep -q "no stream with ${peer_address[a]}: .* sent nothing for 2000 ms" "$work/b/LOG" ||
  fail "the end of the stream is not in the log of b: $(grep stream "$work/b/LOG")"

# One whose peer hangs in the middle of a sync stops all the same; it would be
# an hour before it gives the peer up.
stop_replica b
start_replica b --sync-interval-ms 0 --peer-timeout-ms 3600000
sync_pair b a
cli b SET unheard 4 >/dev/null
kill -STOP "${replica_pid[a]}"
bytes=$(replication b bytes_total)
cli b REPLICATION SYNC "${peer_address[a]}" > "$work/answer" &
client=$!
wait_until "the sync being under way" more_bytes_than "$bytes"
stop_replica b
wait "$client" || true
kill -CONT "${replica_pid[a]}"

stop_replica a
pass
