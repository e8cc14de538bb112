#!/usr/bin/env bash
# check_includes.sh finds what it is there to find.
set -euo pipefail
check=$(dirname "$(realpath "${BASH_SOURCE[0]}")")/check_includes.sh
house=$(mktemp -d)
trap 'rm -rf "$house"' EXIT
mkdir -p "$house"/{include/rocksync,sketch,plugin,examples/a,replication/{base,session,clone,peering,store,transport}}

expect() {  # expect pass|fail FILE INCLUDE
  echo "#include $3" > "$house/$2"
  local result=pass
  "$check" "$house" >/dev/null || result=fail
  rm "$house/$2"
  [[ $result == "$1" ]] || { echo "$2 including $3: expected $1, got $result"; exit 1; }
}
expect pass include/rocksync/a.h '<string>'
expect pass include/rocksync/a.h '"rocksdb/db.h"'
expect fail include/rocksync/a.h '"sketch/element/digest.h"'
expect fail include/rocksync/a.h '"absl/status/status.h"'
expect fail include/rocksync/a.h '<asio/ip/tcp.hpp>'
expect pass sketch/a.cc '"sketch/element/digest.h"'
expect fail sketch/a.cc '"digest.h"'
expect fail sketch/a.cc '"rocksdb/slice.h"'
expect fail sketch/a.cc '<chrono>'
expect pass plugin/a.cc '"sketch/element/digest.h"'
expect fail plugin/a.cc '"replication/store/index/a.h"'
expect fail replication/session/a.h '"rocksdb/status.h"'
expect fail replication/session/a.h '<mutex>'
expect fail replication/session/a.h '"replication/store/index/a.h"'
expect fail replication/base/a.h '"replication/store/format/marker.h"'
expect fail replication/store/a.h '"plugin/filter.h"'
expect fail replication/store/a.h '"replication/peering/link.h"'
expect fail replication/transport/a.h '"replication/session/session.h"'
expect fail replication/peering/a.cc '"plugin/filter.h"'
expect pass replication/peering/a.cc '"replication/store/index/a.h"'
expect fail replication/peering/a.cc '"examples/a/b.h"'
expect fail replication/peering/a.cc '"replication/transport/frame.h"'
expect pass replication/clone/a.cc '"replication/store/format/a.h"'
expect fail replication/clone/a.cc '"replication/transport/frame.h"'
expect fail examples/a/a.cc '"replication/replicator/dialer.h"'
expect fail examples/a/a.cc '"tests/a.h"'
# Files that are pure in a module that is not.
mkdir "$house/replication/replicator"
touch "$house"/replication/replicator/{schedule.cc,clock_watch.h}
expect pass replication/replicator/schedule.h '"sketch/element/split_mix.h"'
expect fail replication/replicator/schedule.h '<chrono>'
expect fail replication/replicator/schedule.h '"replication/replicator/dialer.h"'
if "$check" "$house" >/dev/null; then echo "a pure file that is missing: expected fail"; exit 1; fi
echo ok
