#!/usr/bin/env bash
# Every write is overridden: each virtual function of rocksdb::DB and StackableDB,
# in the RocksDB that the build uses, is overridden by ReplicatedDB or is in
# not_overridden.txt with a reason.
# usage: check_overrides.sh SOURCE_DIRECTORY DB_HEADER STACKABLE_DB_HEADER
#    or: check_overrides.sh SOURCE_DIRECTORY COMPILER [COMPILER_OPTION...]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$1
shift

# header NAME: where the compiler finds <rocksdb/NAME>.
header() {
  local name=$1
  shift
  echo "#include <rocksdb/$name>" | "$@" -std=c++20 -x c++ -M - |
    tr -d '\\' | tr ' ' '\n' | grep "rocksdb/$name\$" | sed -n 1p
}

if [[ $1 == *.h ]]; then
  db=$1 stackable=$2
else
  db=$(header db.h "$@") stackable=$(header utilities/stackable_db.h "$@")
fi

# virtuals CLASS HEADER
virtuals() {
  awk -v class="$1" -f "$here/list_virtuals.awk" "$2"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{ virtuals DB "$db"; virtuals StackableDB "$stackable"; } | sort -u >"$work/all"
{
  virtuals ReplicatedDB "$source/include/rocksync/replicated_db.h"
  virtuals VersionSpecificDB "$source/include/rocksync/version_specific_db.h"
} | sort -u >"$work/overridden"
sed -n 's/ | ..*$//p' "$here/not_overridden.txt" | grep -v '^#' | sort >"$work/harmless"

# The list of an unreadable header would be short, and nothing missing.
(($(wc -l <"$work/all") > 100)) || { echo "cannot read $db and $stackable"; exit 1; }
failed=0
if [[ -n $(uniq -d "$work/harmless") ]]; then
  echo "twice in not_overridden.txt:"
  uniq -d "$work/harmless"
  failed=1
fi
sort -u "$work/overridden" "$work/harmless" | comm -23 "$work/all" - >"$work/open"
if [[ -s $work/open ]]; then
  echo "ReplicatedDB does not override, and not_overridden.txt does not explain:"
  cat "$work/open"
  failed=1
fi
# With a handle of another database they would write files that neither finds, or a
# MANIFEST that names no family of this one.
if grep 'ColumnFamilyHandle' "$here/not_overridden.txt" |
  grep -vE ' \| (reads|tells something|calls the one .*|overridden, .*)$' >"$work/unchecked"; then
  echo "in not_overridden.txt, but the family has to be asked for (CheckKnown):"
  cat "$work/unchecked"
  failed=1
fi
comm -12 "$work/overridden" "$work/harmless" >"$work/both"
if [[ -s $work/both ]]; then
  echo "in not_overridden.txt, but overridden:"
  cat "$work/both"
  failed=1
fi
exit $failed
