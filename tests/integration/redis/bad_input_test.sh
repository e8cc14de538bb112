#!/usr/bin/env bash
# What users get wrong: each a clear message that names the thing, and a process
# that runs goes on.
# usage: bad_input_test.sh REPLICATED_STORE
STORE=$1
source "$(dirname "${BASH_SOURCE[0]}")/replica.sh"

# refused WHAT PART ARGUMENTS...: the store ends, not with 0, and says PART. With
# the code that is set: systemd starts it again after 1, not after 2.
code=
refused() {
  local what=$1 part=$2 output status=0; shift 2
  output=$(run_store "$@") || status=$?
  [[ $status -ne 0 && $status -ne 124 ]] || fail "$what: status $status: $output"
  [[ -z $code || $status -eq $code ]] || fail "$what: status $status, not $code"
  expect_in "$what" "$part" "$output"
}
trial=(--certificates "$work/certificates")
new=(--dir "$work/new" --redis-port 0)

start_replica a --sync-interval-ms 200
alive() { expect "PING after $1" PONG "$(cli a PING)"; }

# Options.
code=2
refused "no --dir" "--dir" "${trial[@]}"
refused "an argument that is none" "nonsense" nonsense --help
refused "an unknown option" "--nosuch" "${new[@]}" "${trial[@]}" --nosuch
refused "a port that is none" "--redis-port" --dir "$work/new" --redis-port 99999 "${trial[@]}"
refused "no certificates" "--certificates" "${new[@]}"
refused "half of the certificates" "--private-key" "${new[@]}" --ca ca.pem --certificate c.pem
refused "an address that is none" "nonsense" "${new[@]}" "${trial[@]}" --listen nonsense
refused "a peer that is none" "nonsense" "${new[@]}" "${trial[@]}" --peer nonsense
refused "a peer in another script" "printable ASCII" "${new[@]}" "${trial[@]}" --peer $'\xe2\x82\xac:4'
[[ ! -e $work/new ]] || fail "a wrong address, and yet there is a database of this cluster"
refused "no such host" "nowhere" "${new[@]}" "${trial[@]}" --redis-host nowhere
refused "a directory without a name" "--dir" --dir "" --redis-port 0 "${trial[@]}"
refused "a Redis address that is none" "300.1.1.1" "${new[@]}" "${trial[@]}" --redis-host 300.1.1.1
refused "a peer address that is none" "300.1.1.1" "${new[@]}" "${trial[@]}" --listen 300.1.1.1:0
# Also where there is no page.
for page in "" "--http-port 0"; do
  # shellcheck disable=SC2086
  for wrong in "--http-host=300.1.1.1" "--http-host=" "--http-name=" "--http-name=a b" "--http-name=*" "--http-name=a:80" "--http-name=a..b" \
    "--http-name=1.2.3.256" "--http-peer=nonsense" "--http-peer=[::g]:80" "--http-peer=::1:80" \
    "--http-peer=http://x:80" '--http-peer="><script>:80' "--http-peer=[]:80" \
    $'--http-peer=\xff:1'; do
    refused "$wrong" "${wrong%%=*}" "${new[@]}" "${trial[@]}" $page "$wrong"
  done
done
for alone in "--http-peer=127.0.0.1:1" "--http-name=host" "--http-host=127.0.0.1"; do
  refused "$alone without a page" "--http-port" "${new[@]}" "${trial[@]}" "$alone"
done
code=

# Paths.
echo text > "$work/file"
refused "a file as --dir" "$work/file" --dir "$work/file" --redis-port 0 "${trial[@]}"
refused "a path below a file" "$work/file" --dir "$work/file/x" --redis-port 0 "${trial[@]}"
refused "a CA that is not there" "$work/nosuch.pem" "${new[@]}" --ca "$work/nosuch.pem" \
  --certificate "$work/nosuch.pem" --private-key "$work/nosuch.key" --secret "$work/certificates/trial-secret"
refused "a certificate that is not there" "rocksync certificate" "${new[@]}" --ca "$work/certificates/trial-ca.pem" \
  --certificate "$work/nosuch.pem" --private-key "$work/nosuch.key" --secret "$work/certificates/trial-secret"
refused "a directory for certificates below one that is not there" "mkdir -p" "${new[@]}" \
  --certificates "$work/nosuch/certificates"
refused "a database below a directory that is not there" "mkdir -p" --dir "$work/nosuch/new" --redis-port 0 "${trial[@]}"
refused "a secret that is not there" "$work/nosuch, is not there: give the file that all" "${new[@]}" --ca "$work/certificates/trial-ca.pem" \
  --certificate x --private-key x --secret "$work/nosuch"
refused "a secret of another size" "file has 5 bytes: 32 raw bytes are needed" "${new[@]}" --ca "$work/certificates/trial-ca.pem" \
  --certificate x --private-key x --secret "$work/file"

# A disk that is lost or not mounted: nothing is made, and trying again may help.
id=$(replication a replica_id)
own=(--ca "$work/certificates/trial-ca.pem" --certificate "$work/certificates/replica-$id.pem"
  --private-key "$work/certificates/replica-$id.key" --secret "$work/certificates/trial-secret")
mkdir -p "$work/mount_point/lost+found"
code=1
# Files that are just being replaced.
: > "$work/empty.pem"
openssl genpkey -algorithm ED25519 -out "$work/other.key" 2>/dev/null
replaced=("${own[@]}")
replaced[5]=$work/other.key
refused "a key of another certificate" "other.key" --dir "$work/mount_point" --redis-port 0 "${replaced[@]}"
replaced=("${own[@]}")
replaced[1]=$work/empty.pem
refused "an empty CA" "empty.pem" --dir "$work/mount_point" --redis-port 0 "${replaced[@]}"
for place in "$work/mount_point" "$work/not_there/"; do
  refused "an empty $place" "holds no database, and certificate $work/certificates/replica-$id.pem names replica $id" \
    --dir "$place" --redis-port 0 "${own[@]}"
done
expect "what is made" "lost+found" "$(ls -A "$work/mount_point")"
[[ ! -e $work/not_there ]] || fail "a directory is made on a disk that is not mounted"
code=2
echo 0123456789abcdef >"$work/mount_point/ROCKSYNC.id"
refused "an id of another certificate" "is to be replica 0123456789abcdef" --dir "$work/mount_point" --redis-port 0 "${own[@]}"
[[ ! -e $work/mount_point/CURRENT ]] || fail "a database is made that cannot be used"

# What it would print goes to no file of the database.
"$STORE" --dir "$work/silent" --redis-port 0 "${trial[@]}" <&- >&- 2>&- &
replica_pid[silent]=$!
wait_until "a database of a store without descriptors" test -e "$work/silent/CURRENT"
for descriptor in 0 1 2; do
  expect "descriptor $descriptor" /dev/null "$(readlink "/proc/${replica_pid[silent]}/fd/$descriptor")"
done
kill "${replica_pid[silent]}"
wait "${replica_pid[silent]}" || fail "a store without descriptors ended with $?"
unset "replica_pid[silent]"

# What somebody else has.
code=1
refused "a directory in use" "$work/a is in use by another process, stop that one first" --dir "$work/a" --redis-port 0 \
  "${trial[@]}"
said=$(run_store --dir "$work/a" --redis-port 0 "${trial[@]}" || true)
[[ $said != *"in use"*"in use"* ]] || fail "a directory in use is told twice: $said"
alive "a second process on its directory"
mkdir -p "$work/locked/LOCK"
said=$(run_store --dir "$work/locked" --redis-port 0 "${trial[@]}" || true)
expect_in "a lock that cannot be made" "Is a directory" "$said"
[[ $said != *"in use"* ]] || fail "a lock that cannot be made is called held: $said"
refused "a Redis port that is taken" "127.0.0.1:${redis_port[a]}" \
  --dir "$work/new" --redis-port "${redis_port[a]}" "${trial[@]}"
refused "a peer port that is taken" "${peer_address[a]}" \
  "${new[@]}" "${trial[@]}" --listen "${peer_address[a]}"

refused "a port of the page that is taken" "${peer_address[a]}: Address already in use; choose another --http-port" \
  "${new[@]}" "${trial[@]}" --http-port "${peer_address[a]#*:}"

# logged NAME PART: a line of its log.
logged() { grep -qi -- "$2" "$work/$1.log"; }

# A copy of a replica is recognised, and may become a new one.
stop_replica a
code=2
refused "another cluster" "cluster" --dir "$work/a" --redis-port 0 "${trial[@]}" --cluster another
ldb --db="$work/a" checkpoint --checkpoint_dir="$work/copy" > /dev/null
refused "a copy" "--as-new-replica" --dir "$work/copy" --redis-port 0 "${trial[@]}"
code=
twice=$(run_store --dir "$work/copy" --redis-port 0 "${trial[@]}" || true)
[[ $twice != *aborted*aborted* ]] || fail "an error that names its kind twice: $twice"
cp -a "$work/a" "$work/clone"
start_replica a --listen "${peer_address[a]}" --sync-interval-ms 200
cli a SET key value >/dev/null
start_replica copy --as-new-replica --peer "${peer_address[a]}" --sync-interval-ms 200
sync_pair copy a
expect "GET from the copy" value "$(cli copy GET key)"
! logged copy "has no effect" || fail "a copy that has become a new replica is said to remain itself"

# A disk with less than is to stay free: the remedy is an option of the store.
start_replica full --min-free-mib $((1 << 30))
expect_in "a write to a full disk" "--min-free-mib" "$(cli full SET key value)"
stop_replica full

# One that cannot be told from the original by itself is by those who know both.
start_replica clone --sync-interval-ms 200 --peer "${peer_address[copy]}"
wait_until "the clone being told of its identity" logged clone "identity"
cli clone SET intruder 1 >/dev/null
[[ $(cli clone REPLICATION SYNC "${peer_address[copy]}") != OK ]] || fail "the clone got in"
stop_replica clone
expect "what the clone wrote" 0 "$(cli copy EXISTS intruder)"
stop_replica copy
start_replica copy --as-new-replica
logged copy "--as-new-replica has no effect" || fail "an option without effect is not told"
stop_replica copy
alive "copies"

# Files of RocksDB that are damaged: told as such, and starting again is in vain.
code=2
for damaged in MANIFEST CURRENT; do
  rm -rf "$work/damaged"
  cp -a "$work/clone" "$work/damaged"
  truncate -s 5 "$work/damaged/$damaged"*
  refused "a damaged $damaged" "$damaged of $work/damaged" --dir "$work/damaged" --redis-port 0 "${trial[@]}"
done
code=

# A peer with a certificate of another CA, one of another cluster, one with
# another secret: refused, and both go on.
start_replica stranger --certificates "$work/others" --peer "${peer_address[a]}" --sync-interval-ms 200
wait_until "the stranger being told of its certificate" logged stranger certificate
start_replica foreigner --cluster other --peer "${peer_address[a]}" --sync-interval-ms 200
wait_until "the foreigner being told of its cluster" logged foreigner cluster
for name in stranger foreigner; do
  cli "$name" SET intruder 1 >/dev/null
  [[ $(cli "$name" REPLICATION SYNC "${peer_address[a]}") != OK ]] || fail "$name got in"
  expect "PING of $name" PONG "$(cli "$name" PING)"
  stop_replica "$name"
done
expect "what strangers wrote" 0 "$(cli a EXISTS intruder)"
alive "strangers"

# Nonsense on either port.
host=${peer_address[a]%:*}
for port in "${peer_address[a]##*:}" "${redis_port[a]}"; do
  for bytes in 1 100 1000000; do
    (head -c "$bytes" /dev/urandom > "/dev/tcp/$host/$port") 2>/dev/null || true
  done
  (printf 'GET / HTTP/1.1\r\nHost: x\r\n\r\n' > "/dev/tcp/$host/$port") 2>/dev/null || true
done
alive "nonsense"

# A client that says the wrong things is told so.
exec 3<>"/dev/tcp/127.0.0.1/${redis_port[a]}"
printf '*1\r\n$99999999999\r\n' >&3
expect_in "an oversized claim" "ERR Protocol error" "$(timeout 5 cat <&3)"
exec 3>&-
alive "an oversized claim"

stop_replica a

# A limit of files' size is an error of the write, and not the end.
start_limited() { ulimit -S -f 4096; start_replica limited; ulimit -S -f unlimited; }
start_limited
head -c 1000000 /dev/urandom > "$work/value"
for (( i = 0; i < 8; ++i )); do
  said=$(redis-cli -p "${redis_port[limited]}" -x SET "key$i" < "$work/value" 2>&1)
  [[ $said == OK ]] || break
done
expect_in "a write that passes the limit" "File too large" "$said"
expect "PING after it" PONG "$(cli limited PING)"
expect "a key before it" 1 "$(cli limited EXISTS key0)"
kill_replica limited

# More memory than the disk has room, for what RocksDB's log would take.
start_replica large --memory-mib 131072
cli large SET key value >/dev/null
expect "GET with much memory" value "$(cli large GET key)"
stop_replica large
pass
