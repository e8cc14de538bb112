#!/usr/bin/env bash
# check_overrides.sh notices a virtual function that nobody has thought of.
# usage: check_overrides_test.sh SOURCE_DIRECTORY COMPILER [COMPILER_OPTION...]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# expect NAME: the check fails and names it.
expect() {
  if said=$("$here/check_overrides.sh" "$source" "$work/db.h" "$work/stackable_db.h"); then
    echo "not noticed: $1"
    exit 1
  fi
  grep -qF "$1" <<<"$said" || { echo "not named: $1"; echo "$said"; exit 1; }
}

for name in db stackable_db; do
  path=$([[ $name == db ]] && echo db.h || echo utilities/stackable_db.h)
  found=$(echo "#include <rocksdb/$path>" | "$@" -std=c++20 -x c++ -M - |
    tr -d '\\' | tr ' ' '\n' | grep "rocksdb/$path\$" | sed -n 1p)
  cp "$found" "$work/$name.h"
  cp "$found" "$work/$name.before"
done
"$here/check_overrides.sh" "$source" "$work/db.h" "$work/stackable_db.h"

awk '{ print } /^class DB \{/ { inside = 1 }
  inside && /^ public:/ { print "  virtual Status Rewrite(const Slice& key,"; \
                          print "                         int times = 1) = 0;"; inside = 0 }' \
  "$work/db.before" >"$work/db.h"
expect 'Rewrite(const Slice&, int)'

# Another overload of one that is known.
awk '{ print } /^class DB \{/ { inside = 1 }
  inside && /^ public:/ { print "  virtual Status Put(const Slice& key) { return Status::OK(); }"; inside = 0 }' \
  "$work/db.before" >"$work/db.h"
expect 'Put(const Slice&)'
cp "$work/db.before" "$work/db.h"

awk '{ print } /^class StackableDB/ { inside = 1 }
  inside && /^ public:/ { print "  virtual Status Restore() { return db_->Restore(); }"; inside = 0 }' \
  "$work/stackable_db.before" >"$work/stackable_db.h"
expect 'Restore()'
