#!/usr/bin/env bash
# What the store tells of replicas that it refuses, and of certificates that are
# renewed while it runs: once each, and no more than that.
# usage: strangers_test.sh STORE
STORE=$1
# shellcheck source=tests/integration/redis/replica.sh
source "$(dirname "${BASH_SOURCE[0]}")/replica.sh"

start_replica a --http-port 0 --sync-interval-ms 200
has_page() { grep -q "status page: http" "$work/a.log"; }
wait_until "the line of the status page" has_page
page=$(sed -nE 's|.*status page: http://([^/]+)/.*|\1|p' "$work/a.log")
metrics() { curl -sS "http://$page/metrics"; }
metric() { metrics | sed -nE "s/^$1(\{.*\})? ([0-9.]+)$/\2/p"; }

# --- A replica that the member list does not name ----------------------------

start_replica b --peer "${peer_address[a]}" --sync-interval-ms 200
b_id=$(replication b replica_id)
sync_pair b a
expect "the list" OK "$(cli a REPLICATION MEMBERS 1 "$(replication a replica_id)" "$b_id")"
has_list() { [[ $(replication b members_epoch) == 1 ]]; }
wait_until "the list at b" has_list
# Removed, it comes on.
expect "the newer list" OK "$(cli a REPLICATION MEMBERS 2 "$(replication a replica_id)")"
refused() { (($(replication a connections_refused) > 2)); }
wait_until "a refusing b" refused
stop_replica b
expect_in "who was refused" "replica $b_id" "$(replication a last_refusal)"
expect_in "and why" "not in the member list of epoch 2" "$(replication a last_refusal)"
expect "peers of a" 0 "$(replication a peers)"
expect "failing peers" "" "$(metrics | grep '^rocksync_peer_failing' || true)"
(($(metric rocksync_connections_refused_total) > 0)) || fail "refused callers are not counted"
wait_until "the log naming it" grep -q "refused replica $b_id at .*not in the member list" "$work/a.log"
expect "lines about it" 1 "$(grep -c 'refused replica' "$work/a.log")"

# --- A caller of another CA --------------------------------------------------

mkdir "$work/elsewhere"
"$STORE" --dir "$work/x" --certificates "$work/elsewhere" --redis-port 0 --peer "${peer_address[a]}" >"$work/x.log" 2>&1 &
stranger=$!
wait_until "the log telling of it" grep -q '\[warning\] refused connection: ' "$work/a.log"
kill "$stranger"
wait "$stranger" || true

# --- Certificate files -------------------------------------------------------

certificate=$work/certificates/replica-$(replication a replica_id).pem
[[ -f $certificate ]] || fail "where is the certificate? $(ls "$work/certificates")"
expect "renewals at first" 0 "$(metric rocksync_certificate_renewals_total)"
mv "$certificate" "$certificate.away"
wait_until "the log telling of it" grep -q '\[warning\] the certificate files were changed and are not used' "$work/a.log"
expect "files unused" 1 "$(metric rocksync_certificate_files_unused)"
mv "$certificate.away" "$certificate"
wait_until "the log telling of the renewal" grep -qE '\[info\] renewed certificate files are in use; the certificate in .+ expires on [0-9-]+ [0-9:]+ UTC' "$work/a.log"
expect "files unused" 0 "$(metric rocksync_certificate_files_unused)"
expect "renewals" 1 "$(metric rocksync_certificate_renewals_total)"
# In the database's own log, too, for programs that are not the store.
for level in 'are not used' 'are in use'; do
  expect "lines of the store: $level" 1 "$(grep -c "certificate files .*$level" "$work/a.log")"
  expect "lines of RocksDB: $level" 1 "$(grep -c "certificate files .*$level" "$work/a/LOG")"
done
stop_replica a
pass
