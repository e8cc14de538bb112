#!/usr/bin/env bash
# check_precompiled.sh finds what it is there to find.
set -euo pipefail
check=$(dirname "$(realpath "${BASH_SOURCE[0]}")")/check_precompiled.sh
house=$(mktemp -d)
trap 'rm -rf "$house"' EXIT
mkdir -p "$house"/{include/rocksync,sketch,plugin,replication,bindings,examples,tools,tests}
printf '#include <vector>\n#include "rocksdb/db.h"\n' > "$house/sketch/low.h"
echo '#include "sketch/low.h"' > "$house/sketch/middle.h"
echo '#include <string>' > "$house/include/rocksync/front.h"

expect() {  # expect pass|fail LINES
  printf "%b\n" "$2" > "$house/tools/a.cc"
  local result=pass
  "$check" "$house" >/dev/null || result=fail
  [[ $result == "$1" ]] || { echo "$2: expected $1, got $result"; exit 1; }
}
expect pass '#include <vector>\nstd::vector<int> v;'
expect fail '#include <string>\nstd::vector<int> v;'
expect pass '#include "sketch/middle.h"\nstd::vector<int> v;'
expect fail '#include "sketch/middle.h"\nstd::string s;'
expect pass '#include "rocksync/front.h"\nstd::string s;'
expect pass '// Like std::vector.'
expect pass '#include <string_view>\nstd::string_view s;'
expect fail '#include <string>\nstd::string_view s;'
expect pass '#include "rocksdb/status.h"\nrocksdb::Status s;'
expect pass '#include "sketch/middle.h"\nrocksdb::Status s;'
expect fail 'rocksdb::Status s;'
expect fail '#include "absl/status/status.h"\nabsl::StatusOr<int> s;'
echo ok
