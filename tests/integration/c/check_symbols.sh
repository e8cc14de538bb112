#!/usr/bin/env bash
# librocksync.so exports what librocksync.map lists, and rocksync/c.h declares
# the same: no symbol comes, goes or is visible by accident.
# usage: check_symbols.sh SOURCE_DIRECTORY LIBRARY [SONAME]
set -euo pipefail
export LC_ALL=C
source=$1 library=$2 soname=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sed -nE 's/^ *(rocksync_[a-z_]+);$/\1/p' "$source/bindings/c/librocksync.map" >"$work/listed"
sort -cu "$work/listed" || { echo "librocksync.map is not in order"; exit 1; }
(($(wc -l <"$work/listed") > 50)) || { echo "cannot read librocksync.map"; exit 1; }
nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' |
  sort >"$work/exported"
# Declarations end with a semicolon; comments may name functions.
sed -E 's|/\*[^*]*\*/||g' "$source/include/rocksync/c.h" | tr '\n' ' ' |
  sed -E 's|/\*([^*]\|\*[^/])*\*/||g' | grep -oE '\brocksync_[a-z_]+ *\([^;]*;' |
  grep -oE '^rocksync_[a-z_]+' | sort >"$work/declared"
diff "$work/listed" "$work/exported" >"$work/diff" ||
  { echo "exported (>) and in librocksync.map (<) are not the same:"; cat "$work/diff"; exit 1; }
diff "$work/listed" "$work/declared" >"$work/diff" ||
  { echo "in rocksync/c.h (>) and in librocksync.map (<) are not the same:"; cat "$work/diff"; exit 1; }
if [[ -n $soname ]]; then
  [[ $soname == librocksync.so.0 ]] || { echo "the soname is $soname"; exit 1; }
  objdump -p "$library" >"$work/headers"
  grep -qE "SONAME +$soname\$" "$work/headers" || { echo "no soname $soname"; exit 1; }
fi
echo "$(wc -l <"$work/exported") symbols"
