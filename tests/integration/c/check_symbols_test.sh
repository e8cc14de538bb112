#!/usr/bin/env bash
# check_symbols.sh notices a symbol that came or went.
# usage: check_symbols_test.sh SOURCE_DIRECTORY LIBRARY
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$1 library=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bindings/c" "$work/include/rocksync"

# expect TEXT, with the files as they are now.
expect() {
  if said=$("$here/check_symbols.sh" "$work" "$library" 2>&1); then
    echo "not noticed: $1"
    exit 1
  fi
  grep -qF "$1" <<<"$said" || { echo "not told: $1"; echo "$said"; exit 1; }
}
original() {
  cp "$source/bindings/c/librocksync.map" "$work/bindings/c"
  cp "$source/include/rocksync/c.h" "$work/include/rocksync"
}
original
"$here/check_symbols.sh" "$work" "$library" >/dev/null
sed -i '/rocksync_open;/d' "$work/bindings/c/librocksync.map"
expect '> rocksync_open'
original
sed -i 's/rocksync_open_column_families;/&\n    rocksync_opens;/' "$work/bindings/c/librocksync.map"
expect '< rocksync_opens'
original
sed -i 's/^uint64_t rocksync_incarnation(/uint64_t rocksync_incarnations(/' \
  "$work/include/rocksync/c.h"
expect '> rocksync_incarnations'
echo ok
