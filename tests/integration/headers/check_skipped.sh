#!/usr/bin/env bash
# What `./dev headers` does not compile again with other versions' headers, since no
# header of RocksDB reaches it, names nothing of RocksDB either; what includes one
# through two other files is not skipped, nor is a source of no test that is compiled
# alone.
# usage: check_skipped.sh ROOT
set -euo pipefail
root=$1
reached="$root/cmake/rocksdb/includes_rocksdb.py"
fail() { echo "$*"; exit 1; }

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/include/rocksync" "$tree/room"
echo '#include <rocksdb/db.h>' >"$tree/include/rocksync/a.h"
echo '#include "rocksync/a.h"' >"$tree/room/b.h"
printf '#include <vector>\n  #  include "room/b.h"\n' >"$tree/room/c.cc"
printf '#include <vector>\n#include "gone.h"\n' >"$tree/room/d.cc"
list=$tree/list
"$reached" "$tree" include room >"$list"
grep -qx "$tree/room/c.cc" "$list" || fail "c.cc is skipped"
! grep -q d.cc "$list" || fail "d.cc is not skipped"

# Together with others, as CMake compiles them.
export ROCKSYNC_ONLY=$list
mkdir "$tree/Unity" "$tree/tests"
printf '#include "%s"\n' "$tree/room/d.cc" >"$tree/Unity/one.cxx"
printf '#include "%s"\n' "$tree/room/d.cc" "$tree/room/c.cc" >"$tree/Unity/two.cxx"
cp "$tree/room/d.cc" "$tree/tests/d.cc"
compile() { "$root/cmake/rocksdb/syntax_only.sh" false -c "$1" -o "$tree/object"; }
compile "$tree/Unity/one.cxx" || fail "one.cxx is compiled"
! compile "$tree/Unity/two.cxx" || fail "two.cxx is skipped"
compile "$tree/tests/d.cc" || fail "a test's d.cc is compiled"
! compile "$tree/room/d.cc" || fail "a library's d.cc is skipped"
ROCKSYNC_ONLY_IN=$tree/tests/ compile "$tree/room/d.cc" || fail "what is made elsewhere is compiled"
! ROCKSYNC_ONLY_IN=$tree/ compile "$tree/room/d.cc" || fail "what is made there is skipped"

folders=(include sketch plugin replication bindings examples tools tests)
"$reached" "$root" "${folders[@]}" >"$list"
skipped=0
while read -r source; do
  grep -qxF "$source" "$list" && continue
  skipped=$((skipped + 1))
  ! grep -n 'rocksdb::\|rocksdb_[a-z_]*(' "$source" ||
    fail "$source is skipped and names something of RocksDB (above)"
done < <(find "${folders[@]/#/$root/}" -name '*.cc' -o -name '*.c')
echo "$skipped sources without RocksDB"
(( skipped > 0 ))
